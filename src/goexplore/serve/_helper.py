"""A process that runs environments for the page: they may be slow, hang or crash, and the page goes on."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from threading import Lock
from typing import TypeVar

from goexplore.errors import EngineError, EnvironmentContractError, GoExploreError
from goexplore.processes import obey_parent

Answer = TypeVar("Answer")

_NICENESS = 5
"""Beside a search on all cores, a helper gets about a quarter of one core, and the search the rest."""


class Helper:
    """One process, which does one thing after the other."""

    def __init__(self, *, timeout_seconds: float) -> None:
        """What takes longer than that is given up."""
        self._timeout = timeout_seconds
        self._lock = Lock()
        self._pool: ProcessPoolExecutor | None = None

    def call(self, job: Callable[..., Answer], *arguments: object) -> Answer:
        """Return what a job returns; raise GoExploreError where it fails."""
        try:
            return self._running().submit(job, *arguments).result(self._timeout)
        except GoExploreError:
            raise
        except TimeoutError as error:
            self.close()
            raise EngineError(
                f"expected the environment to answer within {self._timeout:g} seconds, got nothing: try it "
                "with `goexplore video`"
            ) from error
        except BrokenProcessPool as error:
            self.close()
            raise EngineError(
                "expected the environment to go on, got the end of its process: it crashed, or ran out of "
                "memory; try it with `goexplore video`"
            ) from error
        except Exception as error:  # whatever a user's environment raises
            raise EnvironmentContractError(
                f"expected the environment to go on, got {type(error).__name__}: {error}"
            ) from error

    def _running(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None:
                # Not forked: this process has threads.
                self._pool = ProcessPoolExecutor(
                    1, get_context("spawn"), initializer=_begin, initargs=(os.getpid(),)
                )
            return self._pool

    def close(self) -> None:
        """End the process at once. The next call starts another one."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is None:
            return
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        for process in processes:
            process.join()


def _begin(parent: int) -> None:
    obey_parent(parent)
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
