"""Demonstrations as Phase 2 needs them: states to begin from, and what they look like."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from goexplore.config import differences
from goexplore.demos import Demonstration
from goexplore.engines import Engine
from goexplore.errors import ConfigError, DemonstrationError
from goexplore.robustify._stochastic import Eyes, EyesConfig, GameState, StochasticGame

_MARK_EVERY: dict[Engine, int] = {"native": 1, "ale": 8}
"""Training frames of a demonstration between the states that are kept: the native engine's are small."""


class Library:
    """Demonstrations of one game, played once on the engine that will train from them."""

    def __init__(self, demonstrations: Sequence[Demonstration], eyes: EyesConfig, engine: Engine) -> None:
        _require_one_kind(demonstrations)
        self.env = demonstrations[0].env
        self.engine: Engine = engine
        self.eyes = eyes
        self.actions = [each.actions for each in demonstrations]
        self.rewards = [np.array(each.rewards) for each in demonstrations]
        self.scores = [np.concatenate([[0.0], np.cumsum(each.rewards)]) for each in demonstrations]
        """After each number of training frames."""
        self.mean_score = float(np.mean([abs(each.score) for each in demonstrations])) or 1.0
        game = StochasticGame(self.env, engine)
        self.action_count = game.action_count
        self._marks: list[list[GameState]] = []
        self._screens: list[NDArray[np.uint8]] = []
        self.loses_life: list[bool] = []
        """Whether each demonstration loses one."""
        for number, each in enumerate(demonstrations):
            self._play(game, number, each.trace)

    @property
    def lengths(self) -> list[int]:
        """Training frames of each demonstration."""
        return [len(actions) for actions in self.actions]

    def _play(self, game: StochasticGame, number: int, trace: str) -> None:
        """Play a demonstration, and keep what rollouts and lessons need of it."""
        eyes, digest = Eyes(game.env, self.eyes), hashlib.sha256()
        marks, screens, lost = [], [], False
        game.reset()
        for position, action in enumerate(self.actions[number]):
            if position % _MARK_EVERY[self.engine] == 0:
                marks.append(game.snapshot())
            screens.append(eyes.screen())
            played = game.step(action)
            lost = lost or played.lost_life
            digest.update(bytes([action]) + np.ascontiguousarray(game.env.observation()).tobytes())
        if digest.hexdigest() != trace:
            raise DemonstrationError(
                f"expected the actions and screens that demonstration {number} was made with, got others: it "
                "does not replay; check it with `goexplore verify`"
            )
        self._marks.append(marks)
        self._screens.append(np.stack(screens))
        self.loses_life.append(lost)

    def mark_before(self, number: int, point: int) -> tuple[int, GameState]:
        """Return a training frame before a point, or 0, and the state there.

        Not the point itself: a restored emulator shows its last screen until it is stepped.
        """
        every = _MARK_EVERY[self.engine]
        mark = max(0, point - 1) // every
        return mark * every, self._marks[number][mark]

    def observation(self, number: int, point: int) -> NDArray[np.uint8]:
        """Return what the policy would see there, had it played the demonstration."""
        last = np.arange(point - self.eyes.stack + 1, point + 1).clip(min=0)
        seen: NDArray[np.uint8] = self._screens[number][last].reshape(self.eyes.shape)
        return seen


def _require_one_kind(demonstrations: Sequence[Demonstration]) -> None:
    if not demonstrations:
        raise ConfigError("expected at least one demonstration, got none: name one, or a folder of them")
    first = demonstrations[0].env
    for each in demonstrations:
        mine, other = ({**asdict(env), "game": env.name, "episode_end": None} for env in (first, each.env))
        differ = differences(mine, other)
        if differ:
            raise ConfigError(
                f"expected demonstrations of one game with equal settings, got some whose {'; '.join(differ)}"
                ": leave one kind out"
            )
        if not each.actions or each.score <= 0:
            raise ConfigError(
                f"expected demonstrations that win something, got one of {len(each.actions)} training frames "
                f"with a score of {each.score:g}: leave it out"
            )
