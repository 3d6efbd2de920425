"""The explorations of one batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

from goexplore.archive import Chosen
from goexplore.exploration._kernel import Task
from goexplore.random import stream_state


class TaskBatch(Sequence[Task]):
    """The tasks of a batch. Objects are made only if an executor asks for them: the native one does not."""

    def __init__(self, chosen: Chosen, *, seed: int, batch: int) -> None:
        """Exploration i of batch n, from the i-th of the entries, draws from the stream (seed, n, i + 1)."""
        self.chosen = chosen
        self._numbers = seed, batch

    @property
    def stream(self) -> int:
        """The state of the stream (seed, n), which the orders of the tasks continue."""
        return stream_state(*self._numbers)

    def __len__(self) -> int:
        return len(self.chosen)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> list[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | list[Task]:
        return self._tasks[index]

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks)

    @cached_property
    def _tasks(self) -> list[Task]:
        return [
            Task(order=order, start=entry, random_state=stream_state(*self._numbers, order))
            for order, entry in enumerate(self.chosen, start=1)
        ]
