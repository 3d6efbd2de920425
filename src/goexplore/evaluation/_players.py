"""Players: a policy, a demonstration played open loop, or uniformly random actions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goexplore.demos import Demonstration
from goexplore.errors import require_positive
from goexplore.play import Observation, PreprocessingConfig
from goexplore.problems import EnvironmentSpec, Problem
from goexplore.random import SplitMix64

Numbers: TypeAlias = NDArray[np.int64]
Observations: TypeAlias = Sequence[Observation]
Streams: TypeAlias = Sequence[SplitMix64]


class Player(ABC):
    """Chooses actions in several episodes at once."""

    env: EnvironmentSpec
    """What it plays."""
    preprocessing: PreprocessingConfig | None = None
    """What it needs to observe, if anything."""
    actions: int | None = None
    """How many actions it expects the environment to have, if that is part of it."""
    longest: int | None = None
    """Training frames after which it has nothing more to do."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return what makes it play as it does, as JSON values."""

    def begin(self, episodes: int) -> None:
        """Begin new episodes."""
        return

    @abstractmethod
    def act(self, episodes: Numbers, seen: Observations, random: Streams) -> list[int]:
        """Return an action for each of the episodes that go on; each has its own stream to draw from."""


class PolicyPlayer(Player):
    """A policy that draws from its probabilities."""

    def __init__(self, file: Path, *, temperature: float = 1.0, problem: Problem | None = None) -> None:
        """`temperature` below 1 makes likely actions likelier: logits are divided by it.

        The `problem` has to be given where it comes from an import path.
        """
        from goexplore.training import checksum, load_policy

        require_positive("temperature", temperature)
        self._policy, self.about = load_policy(file, problem)
        self._checksum = checksum(self._policy)
        self.env, self.preprocessing, self.actions = (
            self.about.env,
            self.about.preprocessing,
            self.about.actions,
        )
        self._temperature = temperature

    def identity(self) -> dict[str, Any]:
        """Return the weights' checksum, how long they were trained, and the temperature."""
        trained = {name: self.about.training.get(name, 0) for name in ("training_frames", "game_frames")}
        return {"policy": self._checksum, **trained, "temperature": self._temperature}

    def begin(self, episodes: int) -> None:
        """Begin with empty memories."""
        self._memory = self._policy.empty_memory(episodes)

    def act(self, episodes: Numbers, seen: Observations, random: Streams) -> list[int]:
        """Look, remember, and draw actions."""
        import torch

        with torch.no_grad():
            chosen = torch.from_numpy(episodes)
            logits, _, memory = self._policy(torch.from_numpy(np.stack(seen)), self._memory[chosen])
            self._memory[chosen] = memory
            shares = (logits / self._temperature).double().softmax(-1).cumsum(-1).numpy()
        return [
            min(int(np.searchsorted(share, (each.word() >> 11) * 2.0**-53, "right")), len(share) - 1)
            for share, each in zip(shares, random, strict=True)
        ]


class OpenLoopPlayer(Player):
    """A demonstration's actions, open loop, whatever happens: what Phase 2 has to improve on."""

    def __init__(self, demonstration: Demonstration) -> None:
        self.env, self._actions = demonstration.env, demonstration.actions
        self.longest = len(self._actions)
        self._digest = demonstration.digest

    def identity(self) -> dict[str, Any]:
        """Return the demonstration's digest."""
        return {"demonstration": self._digest}

    def begin(self, episodes: int) -> None:
        """Begin with the first action."""
        self._step = -1

    def act(self, episodes: Numbers, seen: Observations, random: Streams) -> list[int]:
        """Return the next action for all."""
        self._step += 1
        return [self._actions[self._step]] * len(episodes)


class RandomPlayer(Player):
    """Uniformly random actions."""

    def __init__(self, env: EnvironmentSpec) -> None:
        self.env = env
        self._actions = env().action_count

    def identity(self) -> dict[str, Any]:
        """Return what is played."""
        return {"random": self.env.settings()}

    def act(self, episodes: Numbers, seen: Observations, random: Streams) -> list[int]:
        """Draw actions."""
        return [each.index(self._actions) for each in random]
