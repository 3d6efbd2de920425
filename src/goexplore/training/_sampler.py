"""Steps of demonstrations to imitate (self-imitation: Oh et al., 2018; the follow-up uses it, 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goexplore.play import Observation
from goexplore.random import SplitMix64
from goexplore.training._buffer import DemonstrationBuffer
from goexplore.training._rollout import RolloutConfig


@dataclass(frozen=True, kw_only=True)
class DemonstrationBatch:
    """Stretches of demonstrations: time first, then stretches."""

    observations: Observation
    actions: NDArray[np.int64]
    returns: NDArray[np.float32]
    """What the demonstration wins from each step on, discounted."""
    episode_start: NDArray[np.bool_]
    """Steps before which a recurrent policy's memory is empty."""
    mask: NDArray[np.bool_]
    """Steps to learn from: not those that only fill a recurrent policy's memory, or a stretch's end."""


class DemonstrationSampler:
    """Draws stretches of demonstrations from where the curriculum has got to."""

    def __init__(self, buffer: DemonstrationBuffer, rollout: RolloutConfig, discount: float) -> None:
        self._buffer = buffer
        self._returns = []
        for rewards in buffer.rewards:
            shaped = rollout.shape(rewards, buffer.mean_score)
            returns, following = np.zeros(len(shaped), np.float32), 0.0
            for step in reversed(range(len(shaped))):
                returns[step] = following = shaped[step] + discount * following
            self._returns.append(returns)

    def draw(
        self, random: SplitMix64, earliest: Sequence[int], *, count: int, length: int = 1, burn_in: int = 0
    ) -> DemonstrationBatch:
        """Draw this many stretches that begin at or after the earliest points, one per demonstration."""
        numbers = random.below(len(earliest), count)
        shape = (burn_in + length, count)
        demonstration_batch = DemonstrationBatch(
            observations=np.zeros((*shape, *self._buffer.shape), self._buffer.dtype),
            actions=np.zeros(shape, np.int64),
            returns=np.zeros(shape, np.float32),
            episode_start=np.zeros(shape, np.bool_),
            mask=np.zeros(shape, np.bool_),
        )
        for column, number in enumerate(numbers.tolist()):
            last = len(self._returns[number]) - 1
            point = earliest[number] + random.index(last + 1 - earliest[number])
            for row in range(burn_in + length):
                position = point - burn_in + row
                if 0 <= position <= last:
                    demonstration_batch.observations[row, column] = self._buffer.observation(number, position)
                    demonstration_batch.actions[row, column] = self._buffer.actions[number][position]
                    demonstration_batch.returns[row, column] = self._returns[number][position]
                    demonstration_batch.episode_start[row, column] = position == 0
                    demonstration_batch.mask[row, column] = row >= burn_in
        return demonstration_batch
