"""Recorded episodes of the stochastic game as Phase 2 needs them: states to begin from, and their frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.errors import CheckpointError
from goexplore.planning import Recording
from goexplore.play import GameState, Observation, PreprocessingConfig, Preprocessor, StochasticGame
from goexplore.problems import EnvironmentSpec

_SMALL_SNAPSHOT = 1024
"""Bytes up to which the state of every training frame is kept."""
_MARK_EVERY = 8
"""Training frames between the states that are kept where they are larger."""


class RecordingBuffer:
    """Recordings of one environment, played again on the engine that trains from them."""

    def __init__(
        self, env: EnvironmentSpec, preprocessing: PreprocessingConfig, *, goal_is_a_gain: bool = False
    ) -> None:
        """`goal_is_a_gain` is for demonstrations that win nothing but end their episode."""
        self.goal_is_a_gain = goal_is_a_gain
        self.env, self.preprocessing = env, preprocessing
        self._game = StochasticGame(env)
        self._game.reset()
        self.action_count, self.frame_skip = self._game.action_count, self._game.frame_skip
        self._preprocessor = Preprocessor(self._game.env, preprocessing)
        self.shape, self.dtype = self._preprocessor.shape, self._preprocessor.dtype
        self.is_image = self._preprocessor.is_image
        self._mark_every = 1 if len(self._game.env.snapshot()) <= _SMALL_SNAPSHOT else _MARK_EVERY
        self.recordings: list[Recording] = []
        self.won: list[NDArray[np.float64]] = []
        """Of each recording, the points won after each number of training frames, without those lost."""
        self.ahead: list[NDArray[np.int64]] = []
        """Of each recording, how many training frames the next gain is away; -1 where there is none."""
        self._marks: list[list[GameState]] = []
        self._frames: list[Observation] = []

    @property
    def steps(self) -> int:
        """Steps of the environment in a training frame."""
        return self.frame_skip // self._game.env.frame_skip

    def add(self, recording: Recording) -> None:
        """Play a recording again, and keep what rollouts and cloning need of it."""
        game, steps = self._game, self.steps
        game.reset(recording.no_ops)
        marks, rewards = [], []
        frames = np.empty((recording.training_frames + 1, *self._preprocessor.frame().shape), self.dtype)
        for step in range(recording.training_frames):
            if step % self._mark_every == 0:
                marks.append(game.snapshot())
            frames[step] = self._preprocessor.frame()
            rewards.append(game.repeat(recording.played[step * steps : (step + 1) * steps]).reward)
        frames[-1] = self._preprocessor.frame()
        if rewards != list(recording.rewards):
            raise CheckpointError(
                "expected the rewards that a recorded episode says, got others: it was made with another "
                "version of the environment; start a new run"
            )
        self.recordings.append(recording)
        gains = np.maximum(rewards, 0.0)
        if self.goal_is_a_gain and recording.ending == "goal":
            gains[-1] = 1.0
        self.won.append(np.concatenate([[0.0], np.cumsum(gains)]))
        self.ahead.append(gains_ahead(self.won[-1]))
        self._marks.append(marks)
        self._frames.append(frames)

    def sort(self) -> None:
        """Put the recordings into the order of their seeds."""
        order = sorted(range(len(self.recordings)), key=lambda number: self.recordings[number].seed)
        lists: list[list[Any]] = [self.recordings, self.won, self.ahead, self._marks, self._frames]
        for each in lists:
            each[:] = [each[number] for number in order]

    def restore(self, game: StochasticGame, number: int, point: int) -> None:
        """Bring a game to a point of a recording, not the first."""
        mark = max(0, point - 1) // self._mark_every
        game.restore(self._marks[number][mark])
        steps = self.steps
        for step in range(mark * self._mark_every, point):
            game.repeat(self.recordings[number].played[step * steps : (step + 1) * steps])

    def observation(self, number: int, point: int) -> Observation:
        """Return what a policy would see there, had it played the recording."""
        last = np.arange(point - self.preprocessing.stack + 1, point + 1).clip(min=0)
        seen: Observation = self._frames[number][last].reshape(self.shape)
        return seen

    def taught(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return recording and training frame of everything that is to be learnt."""
        numbers, points = [], []
        for number, each in enumerate(self.recordings):
            span = np.arange(each.taught_from, each.taught_until)
            numbers.append(np.full(len(span), number))
            points.append(span)
        return np.concatenate(numbers), np.concatenate(points)

    def batch(
        self, numbers: Sequence[int] | NDArray[np.int64], points: Sequence[int] | NDArray[np.int64]
    ) -> tuple[Observation, NDArray[np.int64]]:
        """Return observations and what was chosen there."""
        observations = np.empty((len(numbers), *self.shape), self.dtype)
        actions = np.empty(len(numbers), np.int64)
        for row, (number, point) in enumerate(zip(numbers, points, strict=True)):
            observations[row] = self.observation(number, point)
            actions[row] = self.recordings[number].chosen[point]
        return observations, actions

    def spread(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return mean and standard deviation of vector observations over all recordings."""
        frames = np.concatenate(self._frames).astype(np.float64)
        mean, deviation = frames.mean(axis=0), frames.std(axis=0)
        deviation[deviation < 1e-6] = 1.0
        stack = self.preprocessing.stack
        return np.tile(mean, stack).astype(np.float32), np.tile(deviation, stack).astype(np.float32)


def gains_ahead(won: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each point how many training frames the next gain is away; -1 where there is none."""
    ahead = np.full(len(won), -1, np.int64)
    for point in reversed(range(len(won) - 1)):
        if won[point + 1] > won[point]:
            ahead[point] = 1
        elif ahead[point + 1] >= 0:
            ahead[point] = ahead[point + 1] + 1
    return ahead
