"""Recorded episodes of the stochastic game as Phase 2 needs them: states to begin from, and their frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.errors import CheckpointError
from goexplore.planning import GuidedGame, Recording, Situation
from goexplore.play import Observation, PreprocessingConfig, Preprocessor
from goexplore.random import SplitMix64

_SMALL_SNAPSHOT = 1024
"""Bytes up to which the state of every training frame is kept."""
_MARK_EVERY = 8
"""Training frames between the states that are kept where they are larger."""


class RecordingBuffer:
    """Recordings of one game, played again on the engine that trains from them."""

    def __init__(self, make_game: Callable[[], GuidedGame], preprocessing: PreprocessingConfig) -> None:
        """`make_game` makes games that know how far along the demonstrations they are."""
        self.make_game, self.preprocessing = make_game, preprocessing
        self._game = make_game()
        game = self._game.game
        game.reset()
        self.goal = self._game.reference.goal
        """The progress with which the guide ends."""
        self.action_count, self.frame_skip = game.action_count, game.frame_skip
        self._preprocessor = Preprocessor(game.env, preprocessing)
        self.shape, self.dtype = self._preprocessor.shape, self._preprocessor.dtype
        self.is_image = self._preprocessor.is_image
        self._mark_every = 1 if len(game.env.snapshot()) <= _SMALL_SNAPSHOT else _MARK_EVERY
        self.recordings: list[Recording] = []
        self.progress: list[NDArray[np.int64]] = []
        """Of each recording, after each number of training frames."""
        self._first: list[int] = []
        """Of each recording, the training frame from which on states and frames are kept."""
        self._marks: list[list[Situation]] = []
        self._frames: list[Observation] = []

    def add(self, recording: Recording) -> None:
        """Play a recording again, and keep what rollouts and cloning need of it."""
        game = self._game
        game.reset(recording.no_ops)
        marks, rewards, progress = [], [], [game.progress]
        # Nobody needs what was before the expert took over.
        first = max(0, recording.taught_from - self.preprocessing.stack)
        shape = self._preprocessor.frame().shape
        frames = np.empty((recording.training_frames + 1 - first, *shape), self.dtype)
        for step in range(recording.training_frames):
            if step >= first:
                if (step - first) % self._mark_every == 0:
                    marks.append(game.situation())
                frames[step - first] = self._preprocessor.frame()
            rewards.append(game.repeat(recording.step(step)).reward)
            progress.append(game.progress)
        frames[-1] = self._preprocessor.frame()
        if rewards != list(recording.rewards):
            raise CheckpointError(
                "expected the rewards that a recorded episode says, got others: it was made with another "
                "version of the environment; start a new run"
            )
        self.recordings.append(recording)
        self.progress.append(np.array(progress))
        self._first.append(first)
        self._marks.append(marks)
        self._frames.append(frames)

    def sort(self) -> None:
        """Put the recordings into the order of their seeds."""
        order = sorted(range(len(self.recordings)), key=lambda number: self.recordings[number].seed)
        lists: list[list[Any]] = [
            self.recordings,
            self.progress,
            self._first,
            self._marks,
            self._frames,
        ]
        for each in lists:
            each[:] = [each[number] for number in order]

    def restore(self, game: GuidedGame, number: int, point: int) -> None:
        """Bring a game to a point of a recording, not the first."""
        first = self._first[number]
        mark = max(0, point - 1 - first) // self._mark_every
        game.restore(self._marks[number][mark])
        for step in range(first + mark * self._mark_every, point):
            game.repeat(self.recordings[number].step(step))

    def observation(self, number: int, point: int) -> Observation:
        """Return what a policy would see there, had it played the recording."""
        first = self._first[number]
        last = np.arange(point - self.preprocessing.stack + 1, point + 1).clip(min=first) - first
        seen: Observation = self._frames[number][last].reshape(self.shape)
        return seen

    def longest_pause(self) -> int:
        """Return the most training frames that a recording takes to get further: the median of all."""
        longest = []
        for recording, progress in zip(self.recordings, self.progress, strict=True):
            if recording.is_correction:
                continue
            best = np.maximum.accumulate(progress[: recording.taught_until + 1])
            moves = np.flatnonzero(np.diff(best, prepend=-1))
            longest.append(int(np.diff(moves).max(initial=1)))
        return int(np.median(longest)) if longest else 1

    def batch(self, frames: Sequence[tuple[int, int]]) -> tuple[Observation, NDArray[np.int64]]:
        """Return observations at training frames of recordings, and what was chosen there."""
        observations = np.empty((len(frames), *self.shape), self.dtype)
        actions = np.empty(len(frames), np.int64)
        for row, (number, point) in enumerate(frames):
            observations[row] = self.observation(number, point)
            actions[row] = self.recordings[number].chosen[point]
        return observations, actions

    def spread(self, numbers: Iterable[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return mean and standard deviation of vector observations over recordings."""
        frames = np.concatenate([self._frames[number] for number in numbers]).astype(np.float64)
        mean, deviation = frames.mean(axis=0), frames.std(axis=0)
        deviation[deviation < 1e-6] = 1.0
        stack = self.preprocessing.stack
        return np.tile(mean, stack).astype(np.float32), np.tile(deviation, stack).astype(np.float32)


class LabelledFrames:
    """Training frames of recordings, and what was chosen there: to draw from."""

    def __init__(self, buffer: RecordingBuffer, numbers: Iterable[int]) -> None:
        """Take up what is taught in the recordings with these numbers."""
        self._buffer = buffer
        self._frames = [
            (number, point) for number in numbers for point in buffer.recordings[number].lessons()
        ]

    def __len__(self) -> int:
        return len(self._frames)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield the number of the recording and of the training frame of each."""
        return iter(self._frames)

    def draw(self, random: SplitMix64, count: int) -> tuple[Observation, NDArray[np.int64]]:
        """Return observations and what was chosen there."""
        return self._buffer.batch([self._frames[each] for each in random.below(len(self), count).tolist()])
