"""The memory that a search takes."""

from __future__ import annotations

import contextlib

import psutil

from goexplore.exploration import Executor, ProcessExecutor


class ResidentMemory:
    """Returns the resident memory of all processes of a search on this machine, in bytes."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._own = psutil.Process()
        self._workers: dict[int, psutil.Process] = {}

    def __call__(self) -> int:
        """Look: it takes tens of microseconds for each process."""
        total: int = self._own.memory_info().rss
        if isinstance(self._executor, ProcessExecutor):
            for process_id in self._executor.process_ids:
                with contextlib.suppress(psutil.Error):
                    if process_id not in self._workers:  # to make one takes longer than to look
                        self._workers[process_id] = psutil.Process(process_id)
                    total += self._workers[process_id].memory_info().rss
        return total
