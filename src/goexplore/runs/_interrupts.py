"""Ctrl-C, SIGTERM and a terminal that closes: the first one asks politely, the second one stops at once."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
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
