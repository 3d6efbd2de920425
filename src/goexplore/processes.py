"""Worker processes: they end with the process that started them, and leave signals to it."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import sleep
from typing import Any, Literal


def obey_parent(parent: int) -> None:
    """In a worker process: let the parent decide what Ctrl-C means, and end within a second of its end.

    A parent that is killed cannot end its workers. They may be in the middle of minutes of work, or wait for
    it for ever: a forked worker holds the parent's end of its own pipe, too.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        sleep(0.5)
    os._exit(1)


@contextlib.contextmanager
def interrupts_wait() -> Iterator[None]:
    """Let Ctrl-C wait while a process is started: what the hooks of a fork raise is lost."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals go to the main thread
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def worker_pool(
    workers: int,
    *,
    start_method: Literal["fork", "spawn"],
    begin: Callable[..., None] = lambda: None,
    arguments: tuple[Any, ...] = (),
) -> Iterator[ProcessPoolExecutor]:
    """Yield worker processes, which end at once where something goes wrong here or the user interrupts.

    Each calls `begin` with the arguments first.
    """
    pool = ProcessPoolExecutor(
        workers,
        get_context(start_method),
        initializer=_begin,
        initargs=(os.getpid(), begin if arguments else None, arguments),
    )
    try:
        yield pool
    except BaseException:
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        raise
    pool.shutdown()


def _begin(parent: int, begin: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    obey_parent(parent)
    if begin is not None:
        begin(*arguments)
