"""Atari games on the native engine: the same states, frames and rewards as `AtariEnv`, many times faster."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goexplore import _native as native
from goexplore.envs._atari import AtariEnvironment, AtariFacts, EpisodeEnd
from goexplore.envs._environment import Step
from goexplore.envs._palette import NTSC_GREY, NTSC_RGB
from goexplore.envs._roms import read_rom, rom_name
from goexplore.errors import ConfigError, EngineError, SnapshotError

if TYPE_CHECKING:
    from goexplore._native._atari import Cartridge


def load_cartridge(rom: str) -> Cartridge:
    """Return the game's cartridge, translated to this machine's code where that is possible."""
    return _load(rom)[0]


def why_interpreted(rom: str) -> str | None:
    """Return why a game's cartridge is not translated, if it is not."""
    return _load(rom)[1]


@cache
def _load(rom: str) -> tuple[Cartridge, str | None]:
    from goexplore._native.translation import TranslationError, use_translation

    atari = native.require_atari()
    data = read_rom(rom)
    try:
        cartridge = atari.Cartridge(data, rom)
    except ValueError as error:
        raise ConfigError(f"the native engine cannot play {rom!r}: set `engine` to ale") from error
    try:
        use_translation(cartridge, data, atari.VERSION)
    except TranslationError as error:
        return cartridge, str(error)
    return cartridge, None


def explain_fault(error: RuntimeError) -> str:
    """Return what to tell the user when a machine refuses to go on."""
    return (
        f"expected code that the native engine emulates, got something else ({error}): start a new run with "
        "`engine` ale"
    )


@cache
def action_numbers(rom: str, *, full: bool) -> bytes:
    """Return the emulator's numbers of a game's actions."""
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.loadROM(str(ale_py.roms.get_rom_path(rom)))
    return bytes(action.value for action in (ale.getLegalActionSet() if full else ale.getMinimalActionSet()))


class NativeAtariEnv(AtariEnvironment):
    """One machine of the native engine: the same states, frames and rewards as `AtariEnv`."""

    grey: NDArray[np.int16] = NTSC_GREY
    """The grey level of each palette index: this environment is its own palette."""

    def __init__(
        self,
        *,
        game: str,
        frame_skip: int = 4,
        full_action_set: bool = False,
        episode_end: EpisodeEnd | None = None,
        facts: AtariFacts | None = None,
    ) -> None:
        """Load `game`, an id or a ROM's name."""
        rom = rom_name(game)
        super().__init__(rom=rom, frame_skip=frame_skip, episode_end=episode_end, facts=facts or AtariFacts())
        self._settings: dict[str, Any] = {
            "game": rom,
            "full_action_set": full_action_set,
            "facts": self.facts,
        }
        self._machine = native.require_atari().Machine(load_cartridge(rom))
        numbers = action_numbers(rom, full=full_action_set)
        self.action_count = len(numbers)
        self.palette = self
        self.action_numbers = numbers
        """The emulator's number of each action."""
        self._numbers = numbers.ljust(256, b"\xff")
        self._screen: NDArray[np.uint8] = np.asarray(self._machine)

    def reset(self) -> None:
        """Go to the initial state."""
        self._machine.reset()

    def step(self, action: int) -> Step:
        """Play one training frame."""
        self.require_action(action)
        lives = self._machine.lives
        reward, over, _ = self._play(bytes((action,)))
        return Step(reward, terminated=over or (self.ends_at_life_loss and self._machine.lives < lives))

    def play(self, actions: Sequence[int]) -> Step:
        """Play training frames in one go; only the last one is drawn, or the one in which the game ends."""
        return super().play(actions) if self.ends_at_life_loss else self._play(bytes(actions))

    def frame_by_frame(self) -> NativeAtariEnv:
        """Return the same game without frame skip, until it is over."""
        return NativeAtariEnv(**self._settings, frame_skip=1, episode_end="game-over")

    def _play(self, actions: bytes) -> Step:
        """Play training frames until the game is over."""
        try:
            reward = self._machine.play(actions.translate(self._numbers), self.frame_skip)
        except RuntimeError as error:
            raise EngineError(explain_fault(error)) from error
        return Step(self.facts.reward(reward), terminated=self._machine.over)

    @staticmethod
    def play_each(envs: Sequence[NativeAtariEnv], actions: Sequence[bytes]) -> list[Step | None]:
        """Let each play training frames until its game is over; None where one cannot go on.

        The interpreter's lock is released once for all: threads can do this side by side.
        """
        bursts = tuple(burst.translate(env._numbers) for env, burst in zip(envs, actions, strict=True))
        machines = tuple(env._machine for env in envs)
        rewards = native.require_atari().play_each(machines, bursts, envs[0].frame_skip)
        return [
            None if reward is None else Step(env.facts.reward(reward), terminated=env._machine.over)
            for env, reward in zip(envs, rewards, strict=True)
        ]

    def observation(self) -> NDArray[np.uint8]:
        """Return the screen as palette indices: a view that the next step overwrites."""
        return self._screen

    def learn_colours(self) -> None:
        """All colours are known."""

    def lives(self) -> int:
        """Return the lives that are left."""
        return self._machine.lives

    def picture(self) -> NDArray[np.uint8]:
        """Return the screen as red, green and blue."""
        return NTSC_RGB.take(self._screen, axis=0)

    def memory(self) -> bytes:
        """Return the game's 128 bytes of memory."""
        return self._machine.ram

    def snapshot(self) -> bytes:
        """Return the machine's state, as it is in memory."""
        return self._machine.snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Go back to a state. The screen is stale until the next step."""
        try:
            self._machine.restore(snapshot)
        except ValueError as error:
            raise SnapshotError(
                f"expected a state of the native engine, got {len(snapshot)} other bytes: "
                "resume with the versions in the run's config.json"
            ) from error
