"""The settings of the exploration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from goexplore.cells import Ends
from goexplore.errors import ConfigError, require_between, require_whole


@dataclass(frozen=True, kw_only=True)
class ExplorationConfig:
    """What happens from a chosen cell (section 2.1.4)."""

    batch_size: int = 100
    """Cells chosen at once, with replacement (tables 1 and 2)."""
    training_frames: int = 100
    """k: training frames of one exploration."""
    repeat_probability: float = 0.95
    """Probability of repeating the last action at each training frame."""
    ends: Ends = "keep"
    """Whether the state in which an episode ends is kept as an end entry, which counts for the best score and
    is never explored from, or dropped with its reward, as the paper does with deaths (section 2.1.4)."""

    def __post_init__(self) -> None:
        require_whole("batch_size", self.batch_size, 1, 10**7)
        require_whole("training_frames", self.training_frames, 1)
        require_between("training_frames", self.training_frames, 1, 65_535)
        require_between("repeat_probability", self.repeat_probability, 0, 1)
        if self.ends not in get_args(Ends):
            raise ConfigError(f"expected `ends` to be {' or '.join(get_args(Ends))}, got {self.ends!r}")
