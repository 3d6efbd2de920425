"""Atari games on the native engine: the same states, frames and rewards as `AtariEnv`, many times faster."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore import _native as native
from goexplore.envs._environment import Environment, Place, Step
from goexplore.envs._games import EpisodeEnd, facts, read_rom, rom_name
from goexplore.envs._palette import NTSC_GREY, NTSC_RGB
from goexplore.errors import ConfigError, EngineError, SnapshotError


def load_cartridge(rom: str) -> Any:
    """Return the game's cartridge, translated to this machine's code where that is possible."""
    return _load(rom)[0]


def why_interpreted(rom: str) -> str | None:
    """Return why a game's cartridge is not translated, if it is not."""
    return _load(rom)[1]


@cache
def _load(rom: str) -> tuple[Any, str | None]:
    from goexplore._native.translation import TranslationError, use_translation

    if native.atari is None:
        raise ConfigError(
            f"expected the native engine, whose states these are, got none ({native.missing_because}): "
            "install a C compiler and reinstall goexplore, or use --engine ale"
        )
    data = read_rom(rom)
    try:
        cartridge = native.atari.Cartridge(data, rom)
    except ValueError as error:
        raise ConfigError(f"the native engine cannot play {rom!r}: use --engine ale") from error
    try:
        use_translation(cartridge, data, native.atari.VERSION)
    except TranslationError as error:
        return cartridge, str(error)
    return cartridge, None


def explain_fault(error: RuntimeError) -> str:
    """Return what to tell the user when a machine refuses to go on."""
    return (
        f"expected code that the native engine emulates, got something else ({error}): start a new run with "
        "--engine ale"
    )


@cache
def action_numbers(rom: str, *, full: bool) -> bytes:
    """Return the emulator's numbers of a game's actions."""
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.loadROM(str(ale_py.roms.get_rom_path(rom)))
    return bytes(action.value for action in (ale.getLegalActionSet() if full else ale.getMinimalActionSet()))


class NativeAtariEnv(Environment):
    """One machine. Observations are the screen as palette indices, 210 x 160 bytes, as in `AtariEnv`."""

    grey: NDArray[np.int16] = NTSC_GREY
    """The grey level of each palette index: this environment is its own palette."""

    def __init__(
        self,
        *,
        game: str,
        frame_skip: int = 4,
        full_action_set: bool = False,
        episode_end: EpisodeEnd | None = None,
    ) -> None:
        """Load `game`. `episode_end` None means what the paper used for that game, else game over."""
        rom = rom_name(game)
        self.frame_skip = frame_skip
        cartridge = load_cartridge(rom)
        self._machine = native.atari.Machine(cartridge)
        numbers = action_numbers(rom, full=full_action_set)
        self.action_count = len(numbers)
        self._numbers = numbers.ljust(256, b"\xff")
        self._facts = facts(rom)
        self._ends_at_life_loss = (episode_end or self._facts.episode_end) == "life-loss"
        self._screen: NDArray[np.uint8] = np.asarray(self._machine)

    def reset(self) -> None:
        """Go to the initial state."""
        self._machine.reset()

    def step(self, action: int) -> Step:
        """Play one training frame."""
        lives = self._machine.lives
        reward, over = self._play(bytes((action,)))
        return Step(reward, over or (self._ends_at_life_loss and self._machine.lives < lives))

    def play(self, actions: bytes) -> Step:
        """Play training frames in one go; only the last one is drawn, or the one in which the game ends."""
        return super().play(actions) if self._ends_at_life_loss else self._play(actions)

    def _play(self, actions: bytes) -> Step:
        """Play training frames until the game is over."""
        try:
            reward = self._machine.play(actions.translate(self._numbers), self.frame_skip)
        except RuntimeError as error:
            raise EngineError(explain_fault(error)) from error
        return self._step(reward)

    def _step(self, reward: int) -> Step:
        """Return what has just been played."""
        limit = self._facts.score_limit
        if limit is not None and reward < -limit // 2:
            reward += limit  # the score counter rolled over; the points were still won
        return Step(float(reward), self._machine.over)

    @staticmethod
    def play_each(envs: Sequence["NativeAtariEnv"], actions: Sequence[bytes]) -> list[Step | None]:
        """Let each play training frames until its game is over; None where one cannot go on.

        The interpreter's lock is released once for all: threads can do this side by side.
        """
        bursts = tuple(burst.translate(env._numbers) for env, burst in zip(envs, actions, strict=True))
        machines = tuple(env._machine for env in envs)
        rewards = native.atari.play_each(machines, bursts, envs[0].frame_skip)
        return [
            None if reward is None else env._step(reward) for env, reward in zip(envs, rewards, strict=True)
        ]

    def observation(self) -> NDArray[np.uint8]:
        """Return the screen as palette indices: a view that the next step overwrites."""
        return self._screen

    def learn(self) -> None:
        """All colours are known."""

    def place(self) -> Place:
        """Return level and room as the game's memory has them, where they are known."""
        return self._facts.place(self._machine.ram)

    def place_after(self, before: Place) -> Place:
        """Return level and room, with all levels counted."""
        return self._facts.place_after(before, self.place())

    def lives(self) -> int:
        """Return the lives that are left."""
        lives: int = self._machine.lives
        return lives

    def picture(self) -> NDArray[np.uint8]:
        """Return the screen as red, green and blue."""
        return NTSC_RGB.take(self._screen, axis=0)

    def snapshot(self) -> bytes:
        """Return the machine's state, as it is in memory."""
        state: bytes = self._machine.snapshot()
        return state

    def restore(self, snapshot: bytes) -> None:
        """Go back to a state. The screen is stale until the next step."""
        try:
            self._machine.restore(snapshot)
        except ValueError as error:
            raise SnapshotError(
                f"expected a state of the native engine, got {len(snapshot)} bytes that are none: "
                "resume with the versions in the run's config.json"
            ) from error

    @staticmethod
    def memory_of(snapshot: bytes) -> bytes:
        """Return the game's 128 bytes of memory in a state."""
        return snapshot[:128]
