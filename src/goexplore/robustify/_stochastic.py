"""The unmodified, stochastic game: sticky actions and random no-ops (paper sections 2.1.3 and 2.3)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goexplore.build import build_env, palette_of
from goexplore.cells import DownscaledCells
from goexplore.config import AtariConfig, EnvConfig
from goexplore.engines import Engine
from goexplore.envs import Environment, Place, Step
from goexplore.errors import ConfigError
from goexplore.random import SplitMix64

STICKINESS = 0.25
"""Probability, at each game frame, that the last action is repeated instead of the one that was chosen."""
MAX_NO_OPS = 30
NO_OP = 0


class Played(NamedTuple):
    """What one training frame brought."""

    reward: float
    over: bool
    """The game is over."""
    lost_life: bool


class GameState(NamedTuple):
    """Everything needed to come back."""

    emulator: bytes
    last_action: int
    """What a sticky frame would repeat: no part of the emulator's own state."""


class StochasticGame:
    """One emulator, played a training frame at a time. Without `random`, it is the deterministic game."""

    def __init__(self, config: EnvConfig, engine: Engine, *, stickiness: float = STICKINESS) -> None:
        single = dataclasses.replace(config, frame_skip=1)
        if isinstance(single, AtariConfig):
            single = dataclasses.replace(single, episode_end="game-over")
        self.env: Environment = build_env(single, engine)
        self.frame_skip = config.frame_skip
        self.action_count = self.env.action_count
        self.lives = self.env.lives()
        self._last_action = NO_OP
        self._stickiness = stickiness
        self.watch: Callable[[float], None] | None = None
        """Called after every game frame with its reward, by who wants to see them all."""

    def reset(self, no_ops: int = 0) -> None:
        """Go to the real start, and do nothing for so many game frames."""
        self.env.reset()
        self.env.play(bytes((NO_OP,)) * no_ops)
        self._last_action = NO_OP
        self.lives = self.env.lives()

    def step(self, action: int, random: SplitMix64 | None = None) -> Played:
        """Play one training frame; game frames stick if there is a stream to draw from."""
        actions = self.draw(action, random)
        # Who watches sees every game frame; else the emulator plays them in one go and draws the last.
        bursts = [actions] if self.watch is None else [bytes((each,)) for each in actions]
        reward = 0.0
        for burst in bursts:
            step = self.env.play(burst)
            reward += step.reward
            if self.watch is not None:
                self.watch(step.reward)
            if step.ended:
                break
        return self.hear(Step(reward, step.ended))

    def draw(self, action: int, random: SplitMix64 | None = None) -> bytes:
        """Return what the game frames of the next training frame play: the action, or the last once more."""
        played = bytearray()
        for _ in range(self.frame_skip):
            if random is None or not random.happens(self._stickiness):
                self._last_action = action
            played.append(self._last_action)
        return bytes(played)

    def hear(self, step: Step) -> Played:
        """Take note of a training frame that was played, here or elsewhere, as `draw` said."""
        lives, self.lives = self.lives, self.env.lives()
        lost = lives is not None and self.lives is not None and self.lives < lives
        return Played(step.reward, step.ended, lost)

    def follow(self, actions: bytes) -> None:
        """Play training frames of the deterministic game, of which only the last needs to be seen."""
        self.env.play(b"".join(bytes((action,)) * self.frame_skip for action in actions))
        if actions:
            self._last_action = actions[-1]
        self.lives = self.env.lives()

    def place(self) -> Place:
        """Return level and room, where they are known."""
        return self.env.place()

    def snapshot(self) -> GameState:
        """Return the emulator's state and the action that would stick."""
        return GameState(self.env.snapshot(), self._last_action)

    def restore(self, state: GameState) -> None:
        """Go back to a state. The screen is stale until the next step."""
        self.env.restore(state.emulator)
        self._last_action = state.last_action
        self.lives = self.env.lives()


@dataclass(frozen=True, kw_only=True)
class EyesConfig:
    """What a policy sees."""

    width: int = 84
    """Pixels per row."""
    height: int = 84
    """Rows of pixels."""
    stack: int = 2
    """Screens that are seen at once, the newest last."""
    colour: bool = False
    """Red, green and blue instead of grey."""

    def __post_init__(self) -> None:
        for name in ("width", "height", "stack"):
            if getattr(self, name) < 1:
                raise ConfigError(
                    f"expected --eyes.{name} to be 1 or more, got {getattr(self, name)}: change it"
                )

    @property
    def channels(self) -> int:
        """Values of one pixel of one screen."""
        return 3 if self.colour else 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of an observation: all channels of all screens, rows, columns."""
        return self.stack * self.channels, self.height, self.width


class Eyes:
    """Looks at a game: the last few screens, shrunken by averaging over areas."""

    def __init__(self, env: Environment, config: EyesConfig) -> None:
        self._env, self._config = env, config
        self._fits = False
        self._shrink = DownscaledCells(
            width=config.width,
            height=config.height,
            levels=255,
            palette=None if config.colour else palette_of(env),
        )
        self.observation: NDArray[np.uint8] = np.zeros(config.shape, np.uint8)

    def blink(self) -> None:
        """Forget everything and look: all screens are the present one."""
        self.observation.reshape(self._config.stack, -1)[:] = self.screen().reshape(-1)

    def look(self) -> None:
        """Look at the present screen; the oldest one, with all its channels, is forgotten."""
        channels = self._config.channels
        self.observation[:-channels] = self.observation[channels:]
        self.observation[-channels:] = self.screen()

    def screen(self) -> NDArray[np.uint8]:
        """Return the present screen alone: channels x rows x columns."""
        shape = self._config.channels, self._config.height, self._config.width
        if not self._fits:
            self._require_fit()
        if not self._config.colour:
            return np.frombuffer(self._shrink.update(self._env.observation()), np.uint8).reshape(shape)
        picture = self._env.picture()
        if picture is None:
            raise ConfigError("expected an environment with pictures, got one without: omit --eyes.colour")
        planes = [self._shrink.update(np.ascontiguousarray(picture[:, :, each])) for each in range(3)]
        return np.frombuffer(b"".join(planes), np.uint8).reshape(shape)

    def _require_fit(self) -> None:
        rows, columns = np.shape(self._env.observation())[:2]
        if rows < self._config.height or columns < self._config.width:
            raise ConfigError(
                f"expected eyes of at most {columns} x {rows} pixels, the size of the screen, got "
                f"{self._config.width} x {self._config.height}: lower --eyes.width and --eyes.height"
            )
        self._fits = True
