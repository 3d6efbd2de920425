"""Who plays: a policy, a demonstration's actions whatever happens, or chance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goexplore.build import build_env
from goexplore.config import EnvConfig
from goexplore.demos import Demonstration
from goexplore.errors import ConfigError
from goexplore.random import SplitMix64
from goexplore.robustify._stochastic import EyesConfig

Numbers: TypeAlias = NDArray[np.int64]
Screens: TypeAlias = Sequence[NDArray[np.uint8]]
Streams: TypeAlias = Sequence[SplitMix64]


class Player(ABC):
    """Chooses actions in several episodes at once."""

    env: EnvConfig
    """The game that it plays."""
    eyes: EyesConfig | None = None
    """What it needs to see, if anything."""
    actions: int | None = None
    """How many actions it believes the game to have, if it does not know the game otherwise."""
    longest: int | None = None
    """Training frames after which it has nothing more to do."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return what makes it play as it does, as JSON values."""

    def begin(self, episodes: int) -> None:
        """Begin new episodes."""
        return

    @abstractmethod
    def act(self, episodes: Numbers, seen: Screens, random: Streams) -> list[int]:
        """Return an action for each of the episodes that go on; each has its own stream to draw from."""


class PolicyPlayer(Player):
    """A policy that draws from its probabilities."""

    def __init__(self, file: Path, *, sharpness: float = 1.0) -> None:
        """`sharpness` above 1 makes likely actions likelier: logits are multiplied by it."""
        from goexplore.robustify._policy_file import checksum, load_policy

        if not 0 < sharpness < inf:
            raise ConfigError(f"expected --sharpness to be a number above 0, got {sharpness}: change it")
        self._policy, self.about = load_policy(file)
        self._checksum = checksum(self._policy)
        self.env, self.eyes, self.actions = self.about.env, self.about.eyes, self.about.actions
        self._sharpness = sharpness

    def identity(self) -> dict[str, Any]:
        """Return the weights' checksum, how long they were trained, and the sharpness."""
        trained = {name: self.about.training.get(name, 0) for name in ("training_frames", "game_frames")}
        return {"policy": self._checksum, **trained, "sharpness": self._sharpness}

    def begin(self, episodes: int) -> None:
        """Begin with empty memories."""
        self._memory = self._policy.empty_memory(episodes)

    def act(self, episodes: Numbers, seen: Screens, random: Streams) -> list[int]:
        """Look, remember, and draw actions."""
        import torch

        with torch.no_grad():
            chosen = torch.from_numpy(episodes)
            logits, _, memory = self._policy(torch.from_numpy(np.stack(seen)), self._memory[chosen])
            self._memory[chosen] = memory
            shares = (logits * self._sharpness).double().softmax(-1).cumsum(-1).numpy()
        return [
            min(int(np.searchsorted(share, (each.word() >> 11) * 2.0**-53, "right")), len(share) - 1)
            for share, each in zip(shares, random, strict=True)
        ]


class OpenLoopPlayer(Player):
    """A demonstration's actions, whatever happens: what Phase 2 is there to improve upon."""

    def __init__(self, demonstration: Demonstration) -> None:
        self.env, self._actions = demonstration.env, demonstration.actions
        self.longest = len(self._actions)
        self._trace = demonstration.trace

    def identity(self) -> dict[str, Any]:
        """Return the demonstration's trace."""
        return {"demonstration": self._trace}

    def begin(self, episodes: int) -> None:
        """Begin with the first action."""
        self._step = -1

    def act(self, episodes: Numbers, seen: Screens, random: Streams) -> list[int]:
        """Return the next action for all."""
        self._step += 1
        return [self._actions[self._step]] * len(episodes)


class RandomPlayer(Player):
    """Any action, each as likely as the others."""

    def __init__(self, env: EnvConfig) -> None:
        self.env = env
        self._actions = build_env(env).action_count

    def identity(self) -> dict[str, Any]:
        """Return the game."""
        return {"random": asdict(self.env)}

    def act(self, episodes: Numbers, seen: Screens, random: Streams) -> list[int]:
        """Draw actions."""
        return [each.index(self._actions) for each in random]
