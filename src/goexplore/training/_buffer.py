"""Demonstrations as Phase 2 needs them: states to begin from, and what they look like."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Actions
from goexplore.cells import End
from goexplore.demos import Demonstration
from goexplore.errors import ConfigError, DemonstrationError
from goexplore.play import GameState, Observation, PreprocessingConfig, Preprocessor, StochasticGame
from goexplore.problems import EnvironmentSpec, differences
from goexplore.replay import TrajectoryDigest

_SMALL_SNAPSHOT = 1024
"""Bytes up to which the state of every training frame is kept."""
_MARK_EVERY = 8
"""Training frames between the states that are kept where they are larger."""


class DemonstrationBuffer:
    """Demonstrations of one environment, played once on the engine that will train from them.

    That play is their verification too: it must show what they were recorded with.
    """

    def __init__(
        self,
        demonstrations: Sequence[Demonstration],
        preprocessing: PreprocessingConfig,
        env: EnvironmentSpec | None = None,
    ) -> None:
        """`env` is the environment on the engine that trains; None means the demonstrations' own."""
        _require_one_kind(demonstrations)
        self.env = env or demonstrations[0].env
        self.target = demonstrations[0].target
        """What finds the environment again."""
        self.preprocessing = preprocessing
        self.actions: list[Actions] = [each.actions for each in demonstrations]
        self.rewards = [np.array(each.rewards) for each in demonstrations]
        self.scores = [np.concatenate([[0.0], np.cumsum(each.rewards)]) for each in demonstrations]
        """After each number of training frames."""
        self.step_costs = [max(0.0, -float(np.median(each.rewards))) for each in demonstrations]
        """What a training frame of each demonstration typically costs: 0 where most rewards are 0."""
        self.ends = [each.end != End.NONE for each in demonstrations]
        """Whether each demonstration ends its episode."""
        self.terminates = [each.end == End.TERMINATED for each in demonstrations]
        """Whether it does so of its own, at a goal or a death: not at a time limit."""
        self.mean_score = float(np.mean([abs(each.score) for each in demonstrations])) or 1.0
        game = StochasticGame(self.env)
        self.action_count, self.frame_skip = game.action_count, game.frame_skip
        self.ends_at_life_loss = game.ends_at_life_loss
        """Whether the search's episodes ended with the first life that was lost."""
        game.reset()
        preprocessor = Preprocessor(game.env, preprocessing)
        self.shape, self.dtype, self.is_image = preprocessor.shape, preprocessor.dtype, preprocessor.is_image
        """Of what a policy observes."""
        self._mark_every = 1 if len(game.env.snapshot()) <= _SMALL_SNAPSHOT else _MARK_EVERY
        self._marks: list[list[GameState]] = []
        self._frames: list[Observation] = []
        self.loses_life: list[bool] = []
        """Whether each demonstration loses one before its end."""
        for number, each in enumerate(demonstrations):
            self._play(game, preprocessor, number, each.digest)

    @property
    def lengths(self) -> list[int]:
        """Training frames of each demonstration."""
        return [len(actions) for actions in self.actions]

    def _play(self, game: StochasticGame, preprocessor: Preprocessor, number: int, expected: str) -> None:
        """Play a demonstration, and keep what rollouts and imitation need of it."""
        digest = TrajectoryDigest(self.action_count)
        marks, frames, rewards, lost = [], [], [], False
        actions = self.actions[number]
        game.reset()
        for position, action in enumerate(actions):
            if action >= self.action_count:
                break
            if position % self._mark_every == 0:
                marks.append(game.snapshot())
            frames.append(preprocessor.frame().copy())
            played = game.step(action)
            rewards.append(played.reward)
            digest.add(action, game.env.observation())
            # The life with which the episode ends is not one that is lost on the way.
            lost = lost or (played.lost_life and not (self.ends[number] and position + 1 == len(actions)))
            if played.ended:
                break
        if len(rewards) < len(actions) or digest.text() != expected:
            raise DemonstrationError(
                f"expected the actions and observations that demonstration {number} was made with, got "
                "others: it does not replay; check it with `goexplore verify`"
            )
        if not np.allclose(rewards, self.rewards[number]):
            raise DemonstrationError(
                f"expected the rewards that demonstration {number} says, got others: it does not replay; "
                "check it with `goexplore verify`"
            )
        self._marks.append(marks)
        self._frames.append(np.stack(frames))
        self.loses_life.append(lost)

    def mark_before(self, number: int, point: int) -> tuple[int, GameState]:
        """Return the last kept state before a point, or at 0, with its training frame.

        Not the point itself: a restored emulator shows its last screen until it is stepped.
        """
        mark = max(0, point - 1) // self._mark_every
        return mark * self._mark_every, self._marks[number][mark]

    def observation(self, number: int, point: int) -> Observation:
        """Return what the policy would see there, had it played the demonstration."""
        last = np.arange(point - self.preprocessing.stack + 1, point + 1).clip(min=0)
        seen: Observation = self._frames[number][last].reshape(self.shape)
        return seen

    def spread(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return mean and standard deviation of vector observations over all demonstrations."""
        frames = np.concatenate(self._frames).astype(np.float64)
        mean, deviation = frames.mean(axis=0), frames.std(axis=0)
        deviation[deviation < 1e-6] = 1.0
        stack = self.preprocessing.stack
        return np.tile(mean, stack).astype(np.float32), np.tile(deviation, stack).astype(np.float32)


def _require_one_kind(demonstrations: Sequence[Demonstration]) -> None:
    if not demonstrations:
        raise ConfigError("expected at least one demonstration, got none: name one, or a folder of them")
    first = demonstrations[0]
    for each in demonstrations:
        differ = differences(first.env.played(), each.env.played())
        if differ:
            raise ConfigError(
                "expected demonstrations of one environment with equal settings, got some whose "
                f"{'; '.join(differ)}: leave one kind out"
            )
        if not each.actions or (each.score <= 0 and each.end == End.NONE):
            raise ConfigError(
                f"expected demonstrations that win something or end their episode, got one of "
                f"{len(each.actions)} training frames with a score of {each.score:g}: leave it out"
            )
