"""Where a demonstration ends: at a level, a length, a score, or after the last reward (paper 3.1, 3.2)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from goexplore.errors import ConfigError, require_at_least


@dataclass(frozen=True, kw_only=True)
class Truncation:
    """Rules, applied in this order, that decide how much of a trajectory becomes a demonstration."""

    until_level: int | None = None
    """End where this level is first reached: 3 is where the paper's "level 3" is solved (section 3.1)."""
    max_training_frames: int | None = None
    """Keep at most this many; for Pitfall, the paper truncated to 9,000 before it chose (section 3.2)."""
    until_score: float | None = None
    """End where this score is first reached."""
    after_last_reward: bool = False
    """End right after the last positive reward, where the Backward Algorithm begins (section 3.2). Which
    trajectory is the best is decided before this cut, as in the paper."""

    def __post_init__(self) -> None:
        if self.until_score is not None and not math.isfinite(self.until_score):
            raise ConfigError(f"expected `until_score` to be a finite number, got {self.until_score}")
        for name in ("until_level", "max_training_frames"):
            value = getattr(self, name)
            if value is not None:
                require_at_least(name, value, 1)

    @property
    def change_the_order(self) -> bool:
        """Whether a trajectory that is the best uncut need not be the best when cut."""
        return not (
            self.until_level is None and self.max_training_frames is None and self.until_score is None
        )

    @property
    def frames_to_survey(self) -> int | None:
        """How many training frames of a trajectory have to be known to cut it; None means all.

        A level that is reached later than `max_training_frames` still counts as reached.
        """
        return None if self.until_level is not None else self.max_training_frames

    def rank_length(self, rewards: Sequence[float], levels: Sequence[int]) -> int | None:
        """Return the training frames by whose score trajectories compete; None where one does not qualify.

        `levels` are the highest so far, as in a survey.
        """
        length = len(rewards)
        if self.until_level is not None:
            first = bisect_left(levels, self.until_level)
            if first == length:
                return None
            length = first + 1
        if self.max_training_frames is not None:
            length = min(length, self.max_training_frames)
        if self.until_score is not None:
            score = 0.0
            for index, reward in enumerate(rewards[:length]):
                score += reward
                if score >= self.until_score:
                    return index + 1
            return None
        return length

    def final_length(self, rewards: Sequence[float], length: int) -> int | None:
        """Return what is left of `length` in the end; None where a reward is asked for and there is none."""
        if not self.after_last_reward:
            return length
        return next((end for end in range(length, 0, -1) if rewards[end - 1] > 0), None)

    def describe(self) -> tuple[str, ...]:
        """Return the rules in words."""
        return tuple(
            text
            for text, used in (
                (f"where level {self.until_level} is first reached", self.until_level is not None),
                (
                    f"to {self.max_training_frames} training frames at most",
                    self.max_training_frames is not None,
                ),
                (f"where a score of {self.until_score} is first reached", self.until_score is not None),
                ("right after the last reward", self.after_last_reward),
            )
            if used
        )
