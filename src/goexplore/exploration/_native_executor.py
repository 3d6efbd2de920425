"""Explorations in threads of C, which need the interpreter only between batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from goexplore import _native as native
from goexplore.archive import Changes, ExplorationResult, PackedResults, ScoreIndex
from goexplore.errors import SnapshotError, require_at_least
from goexplore.exploration._batch import TaskBatch
from goexplore.exploration._executor import KernelFactory, OnResult
from goexplore.exploration._kernel import Task
from goexplore.exploration._native_kernel import NativeKernel
from goexplore.exploration._threads import ThreadExecutor

_TICK_SECONDS = 0.1
"""How long an interrupt and a sign of life may have to wait."""


class NativeExecutor:
    """Threads of C with a native kernel each; they take tasks from a shared counter (_native/explore/pool.h).

    `run_batch` explores from entries where the archive has them, and returns the results packed. So nothing
    is done for a single exploration in Python. `run` takes tasks as every executor does, with Python threads.
    """

    def __init__(self, make_kernel: KernelFactory, *, workers: int) -> None:
        """`make_kernel` makes native kernels."""
        require_at_least("workers", workers, 1, 4096)
        self._workers = workers
        self._score_index = ScoreIndex()
        self._begin(make_kernel)

    def _begin(self, make_kernel: KernelFactory) -> None:
        kernels = [make_kernel() for _ in range(self._workers)]
        self._make_kernel = make_kernel
        self._room_numbers = cast(NativeKernel, kernels[0]).room_numbers
        explorers = tuple(cast(NativeKernel, kernel).explorer for kernel in kernels)
        self._pool = native.require_atari().Pool(explorers)
        self._threads: ThreadExecutor | None = None

    @property
    def workers(self) -> int:
        """Number of threads."""
        return self._workers

    @property
    def kernel_seconds(self) -> float:
        """Processor time that the threads have spent in batches, for benchmarks: none of it needs Python."""
        return self._pool.seconds

    def start(self, score_index: ScoreIndex) -> None:
        """Use the archive's own index."""
        self._score_index = score_index

    def restart(self, make_kernel: KernelFactory, initial_digest: bytes) -> None:
        """Give each thread another kernel."""
        self.close()
        self._begin(make_kernel)

    def run(self, tasks: Sequence[Task], on_result: OnResult) -> list[ExplorationResult]:
        """Run explorations on all threads and return their results in the order of the tasks."""
        if self._threads is None:
            self._threads = ThreadExecutor(self._make_kernel, workers=self._workers)
        self._threads.start(self._score_index)
        return self._threads.run(tasks, on_result)

    def run_batch(self, batch: TaskBatch, on_progress: Callable[[int], None]) -> PackedResults:
        """Run a batch from entries of an archive.

        `on_progress` is called a few times per second, and at the end, with the training frames so far.
        """
        archive, pool = batch.chosen.archive, self._pool
        index = archive.score_index
        try:
            pool.begin(
                batch.chosen.numbers, batch.stream, archive.memory(), index.memory(), self._room_numbers
            )
            while not pool.wait(_TICK_SECONDS):
                on_progress(pool.played)
            on_progress(pool.played)
            try:
                records, offsets = pool.finish()
            except ValueError as error:
                raise SnapshotError(
                    "expected snapshots of the native engine, got other bytes: resume with the versions in "
                    "the run's config.json"
                ) from error
        finally:
            pool.stop()
        return PackedResults(
            records, np.frombuffer(offsets, np.int64), stop_reasons=native.require_atari().STOP_REASONS
        )

    def sync(self, changes: Changes) -> None:
        """The archive's own index has changed already."""

    def close(self) -> None:
        """Stop the threads."""
        self._pool.close()
        if self._threads is not None:
            self._threads.close()
