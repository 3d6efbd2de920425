"""Ctrl-C, SIGTERM and a terminal that closes: the first one asks politely, the second one stops at once.

Worker processes leave such signals to the process that started them, and end when it does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from time import sleep
from types import FrameType


@contextlib.contextmanager
def on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first signal; raise KeyboardInterrupt at the second."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals go to the main thread; the caller has them
        return
    asked = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked and number == signal.SIGHUP:
            return  # a terminal that closes says so twice: the shell does, and the kernel
        if asked:
            raise KeyboardInterrupt
        asked = True
        stop()

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup means to go on
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def obey_parent(parent: int) -> None:
    """In a worker process: let the parent decide what Ctrl-C means, and end within a second of its end.

    A parent that is killed cannot end its workers, which may be in the middle of minutes of work.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        sleep(0.5)
    os._exit(1)
