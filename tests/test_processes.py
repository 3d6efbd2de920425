"""Worker processes: what happens to Ctrl-C while one is started."""

import signal
import threading

import pytest

from goexplore.processes import interrupts_wait


def test_an_interrupt_comes_after_the_process_was_started():
    """Raised in a hook of the fork, it would be lost."""
    started = []

    def start():
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            started.append(True)

    with pytest.raises(KeyboardInterrupt):
        start()
    assert started


def test_it_comes_to_whoever_listens():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            assert not heard
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_without_one_nothing_changes():
    before = signal.getsignal(signal.SIGINT)
    with interrupts_wait():
        pass
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_may_start_processes():
    thread = threading.Thread(target=lambda: interrupts_wait().__enter__())
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
