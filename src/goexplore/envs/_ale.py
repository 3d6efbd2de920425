"""Atari games on ale-py, without stochasticity (paper section 2.1.3)."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from goexplore.envs._atari import AtariEnvironment, AtariFacts, EpisodeEnd
from goexplore.envs._environment import Step
from goexplore.envs._roms import rom_name
from goexplore.errors import ConfigError, SnapshotError


def _emulator(path: str, *, frame_skip: int) -> Any:
    """Return an emulator in the initial state of a game."""
    import ale_py

    ale = ale_py.ALEInterface()
    # Set whatever has a default: defaults differ between ALE, Gymnasium ids and versions.
    ale.setInt("frame_skip", frame_skip)
    ale.setInt("random_seed", 0)
    ale.setInt("max_num_frames_per_episode", 0)
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setBool("color_averaging", False)
    ale.loadROM(path)
    ale.reset_game()
    return ale


class AtariEnv(AtariEnvironment):
    """One emulator of ale-py. `grey` has the grey levels of its colours, for cells that need these."""

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
        import ale_py

        rom = rom_name(game)
        super().__init__(rom=rom, frame_skip=frame_skip, episode_end=episode_end, facts=facts or AtariFacts())
        self._settings: dict[str, Any] = {
            "game": rom,
            "full_action_set": full_action_set,
            "facts": self.facts,
        }
        path = ale_py.roms.get_rom_path(rom)
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        if path is None or ale_py.ALEInterface.isSupportedROM(path) is None:
            raise ConfigError(f"the emulator cannot play {rom!r} with one player: choose another game")
        # The emulator's own frame skip also changes how a game begins (Berzerk). Gymnasium skips frames by
        # itself, so its games begin as they do here, without one.
        first = _emulator(path, frame_skip=1)
        self._initial = first.cloneState()
        self._ale = ale = first if frame_skip == 1 else _emulator(path, frame_skip=frame_skip)
        ale.restoreState(self._initial)
        self._state_type = ale_py.ALEState
        self._actions = ale.getLegalActionSet() if full_action_set else ale.getMinimalActionSet()
        self.action_count = len(self._actions)
        self._lives = ale.lives()
        self.grey: NDArray[np.int16] = np.full(256, -1, np.int16)
        """The grey level of each palette index, -1 until it was seen: this environment is its own palette."""
        self.palette = self
        self._initial_screen: NDArray[np.uint8] = first.getScreen().copy()
        self._initial_picture: NDArray[np.uint8] = first.getScreenRGB()
        self._initial_memory = first.getRAM().tobytes()
        self.grey[self._initial_screen] = first.getScreenGrayscale()
        self._at_start = True

    def reset(self) -> None:
        """Go to the initial state. The emulator's own reset leaves counters running, so restore it."""
        self._ale.restoreState(self._initial)
        self._lives = self._ale.lives()
        self._at_start = True

    def step(self, action: int) -> Step:
        """Play one training frame."""
        self.require_action(action)
        ale = self._ale
        self._at_start = False
        reward = self.facts.reward(ale.act(self._actions[action]))
        lives, self._lives = self._lives, ale.lives()
        lost_life = self.ends_at_life_loss and self._lives < lives
        return Step(reward, terminated=lost_life or ale.game_over())

    def frame_by_frame(self) -> AtariEnv:
        """Return the same game without frame skip, until it is over."""
        return AtariEnv(**self._settings, frame_skip=1, episode_end="game-over")

    def observation(self) -> NDArray[np.uint8]:
        """Return the screen as palette indices: a view that the next step overwrites."""
        screen: NDArray[np.uint8] = self._initial_screen if self._at_start else self._ale.getScreen()
        return screen

    def learn_colours(self) -> None:
        """Note the grey levels of all colours on the screen, as the emulator gives them.

        The palette depends on the ROM's television standard, so it is learnt when a new colour shows up.
        """
        self.grey[self._ale.getScreen()] = self._ale.getScreenGrayscale()

    def lives(self) -> int:
        """Return the lives that are left."""
        return int(self._ale.lives())

    def picture(self) -> NDArray[np.uint8]:
        """Return the screen as red, green and blue."""
        picture: NDArray[np.uint8] = self._initial_picture if self._at_start else self._ale.getScreenRGB()
        return picture

    def memory(self) -> bytes:
        """Return the game's 128 bytes of memory. Stale right after `restore`."""
        return self._initial_memory if self._at_start else self._ale.getRAM().tobytes()

    def snapshot(self) -> bytes:
        """Return the emulator's state; its unused random generator is left out by the emulator."""
        return cast(bytes, self._ale.cloneState().__getstate__())

    def restore(self, snapshot: bytes) -> None:
        """Go back to a state. Screen and memory are stale until the next step."""
        state = self._state_type.__new__(self._state_type)
        try:
            state.__setstate__(cast(Any, snapshot))
            self._ale.restoreState(state)
        except SystemError as error:  # how the binding passes on the emulator's own exceptions
            raise SnapshotError(
                f"expected a state of this game and emulator version, got {len(snapshot)} bytes "
                f"that the emulator refuses: resume with the versions in the run's config.json"
            ) from error
        self._lives = self._ale.lives()
        self._at_start = False
