"""The settings of the exploration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from goexplore.cells import Ends
from goexplore.errors import ConfigError, require_between, require_whole

BatchSize: TypeAlias = int | Literal["auto"]

TASKS_PER_WORKER = 25
"""Explorations of a batch for each worker with which workers wait little for the last ones of a batch
(docs/scaling.md)."""
FEW_TASKS_PER_WORKER = 10
"""Explorations of a batch for each worker below which much of the workers' time is lost."""
_LEAST_BATCH = 100


def few_for(batch_size: int, workers: int) -> bool:
    """Return whether a batch is too small to keep this many workers busy; one worker is always busy."""
    return workers > 1 and batch_size < FEW_TASKS_PER_WORKER * workers


@dataclass(frozen=True, kw_only=True)
class ExplorationConfig:
    """What happens from a chosen cell (section 2.1.4)."""

    batch_size: BatchSize = 100
    """Cells chosen at once, with replacement (tables 1 and 2). auto: 25 for each worker, and 100 at least.
    It is settled when a run begins, because it decides what is found; a resumed run keeps it."""
    training_frames: int = 100
    """k: training frames of one exploration."""
    repeat_probability: float = 0.95
    """Probability of repeating the last action at each training frame."""
    ends: Ends = "keep"
    """Whether the state in which an episode ends is kept as an end entry, which counts for the best score and
    is never explored from, or dropped with its reward, as the paper does with deaths (section 2.1.4)."""

    def __post_init__(self) -> None:
        if self.batch_size != "auto":
            require_whole("batch_size", self.batch_size, 1, 10**7)
        require_whole("training_frames", self.training_frames, 1)
        require_between("training_frames", self.training_frames, 1, 65_535)
        require_between("repeat_probability", self.repeat_probability, 0, 1)
        if self.ends not in get_args(Ends):
            raise ConfigError(f"expected `ends` to be {' or '.join(get_args(Ends))}, got {self.ends!r}")

    def settled(self, workers: int | None) -> ExplorationConfig:
        """Return the same settings with a number for `batch_size`, given how many workers explore."""
        return replace(self, batch_size=self.batch_for(workers))

    def batch_for(self, workers: int | None) -> int:
        """Return the number of cells chosen at once, given how many workers explore."""
        if self.batch_size == "auto":
            return max(_LEAST_BATCH, TASKS_PER_WORKER * (workers or 1))
        return self.batch_size
