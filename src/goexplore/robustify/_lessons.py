"""Steps of demonstrations to imitate (self-imitation: Oh et al., 2018; the follow-up uses it, 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goexplore.random import SplitMix64
from goexplore.robustify._library import Library
from goexplore.robustify._rollout import RolloutConfig


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """Stretches of demonstrations: time first, then stretches."""

    observations: NDArray[np.uint8]
    actions: NDArray[np.int64]
    returns: NDArray[np.float32]
    """What the demonstration wins from each step on, discounted."""
    fresh: NDArray[np.bool_]
    """Steps before which a recurrent policy's memory is empty."""
    counts: NDArray[np.bool_]
    """Steps to learn from: not those that only fill a recurrent policy's memory, or a stretch's end."""


class Lessons:
    """Draws stretches of demonstrations from where the curriculum has got to."""

    def __init__(self, library: Library, rollout: RolloutConfig, discount: float) -> None:
        self._library = library
        self._returns = []
        for rewards in library.rewards:
            shaped = rollout.shape(rewards, library.mean_score)
            returns, following = np.zeros(len(shaped), np.float32), 0.0
            for step in reversed(range(len(shaped))):
                returns[step] = following = shaped[step] + discount * following
            self._returns.append(returns)

    def draw(
        self, random: SplitMix64, earliest: Sequence[int], *, count: int, length: int = 1, lead_in: int = 0
    ) -> Lesson:
        """Draw so many stretches that begin at or after the earliest points, one per demonstration."""
        numbers = random.below(len(earliest), count)
        shape = (lead_in + length, count)
        lesson = Lesson(
            observations=np.zeros((*shape, *self._library.eyes.shape), np.uint8),
            actions=np.zeros(shape, np.int64),
            returns=np.zeros(shape, np.float32),
            fresh=np.zeros(shape, np.bool_),
            counts=np.zeros(shape, np.bool_),
        )
        for column, number in enumerate(numbers.tolist()):
            last = len(self._returns[number]) - 1
            point = earliest[number] + random.index(last + 1 - earliest[number])
            for row in range(lead_in + length):
                position = point - lead_in + row
                if 0 <= position <= last:
                    lesson.observations[row, column] = self._library.observation(number, position)
                    lesson.actions[row, column] = self._library.actions[number][position]
                    lesson.returns[row, column] = self._returns[number][position]
                    lesson.fresh[row, column] = position == 0
                    lesson.counts[row, column] = row >= lead_in
        return lesson
