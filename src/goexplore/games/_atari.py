"""Any Atari game: how it is made on either engine, and as a problem of its own."""

from __future__ import annotations

import copy
import importlib
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, ClassVar, get_args

from goexplore import _native as native
from goexplore.engines import Certificate, Engine, EngineWish, choose_engine, distrust, version_for
from goexplore.envs import (
    AtariEnv,
    AtariEnvironment,
    AtariFacts,
    EpisodeEnd,
    NativeAtariEnv,
    action_numbers,
    gymnasium_id,
    load_cartridge,
    rom_name,
    why_interpreted,
)
from goexplore.errors import ConfigError, require_at_least
from goexplore.exploration import ExplorationConfig, KernelFactory, NativeKernel
from goexplore.problems import (
    NAMED_CELLS,
    CellsSpec,
    DynamicConfig,
    EngineBinding,
    EnvironmentSpec,
    Family,
    Problem,
)


def _known(rom: str, name: str) -> Any:
    """Return what a game's folder says of it, if it has a folder that says so."""
    if find_spec(f"goexplore.games.{rom}") is None:
        return None
    return getattr(importlib.import_module(f"goexplore.games.{rom}"), name, None)


def facts(rom: str) -> AtariFacts:
    """Return what is known of a game, given by its ROM's name."""
    found: AtariFacts | None = _known(rom, "FACTS")
    return found or AtariFacts()


def certificate(rom: str) -> Certificate | None:
    """Return the proof that the native engine plays a game as ale-py does, if there is one."""
    found: Certificate | None = _known(rom, "CERTIFICATE")
    return found


@dataclass(frozen=True, kw_only=True)
class AtariGame(EnvironmentSpec):
    """The game."""

    game: str
    """Gymnasium id (ALE/MontezumaRevenge-v5) or ROM name (montezuma_revenge)."""
    frame_skip: int = 4
    """Game frames per training frame (appendix A.1)."""
    full_action_set: bool = False
    """All 18 actions instead of those that the game uses."""
    episode_end: EpisodeEnd | None = None
    """What ends an episode (appendix A.2). None: life loss for Montezuma's Revenge, else game over."""
    bound_engine: ClassVar[Engine] = "ale"
    """The engine that plays, which `with_engine` sets: no setting, for it decides the speed alone."""

    def __post_init__(self) -> None:
        if not isinstance(self.game, str):
            raise ConfigError(f"expected `game` to be a game's name, got {self.game!r}")
        require_at_least("frame_skip", self.frame_skip, 1, 1000)
        if self.episode_end not in (None, *get_args(EpisodeEnd)):
            raise ConfigError(
                f"expected `episode_end` to be {' or '.join(get_args(EpisodeEnd))}, got {self.episode_end!r}"
            )

    @property
    def name(self) -> str:
        """The ROM's name: the same for all ways to write the game's."""
        return rom_name(self.game)

    @property
    def target(self) -> str:
        """The game's id."""
        return gymnasium_id(self.name)

    @property
    def engine(self) -> Engine:
        """The engine that plays."""
        return self.bound_engine

    @property
    def engine_version(self) -> str | None:
        """The native engine's version, as far as it plays this game."""
        return version_for(self.name) if self.engine == "native" and native.atari is not None else None

    def __call__(self) -> AtariEnvironment:
        """Return a fresh environment."""
        return (NativeAtariEnv if self.engine == "native" else AtariEnv)(
            game=self.game,
            frame_skip=self.frame_skip,
            full_action_set=self.full_action_set,
            episode_end=self.episode_end,
            facts=facts(self.name),
        )

    def with_engine(self, wish: EngineWish) -> EngineBinding:
        """Return the game on the native engine where it is certified, or as asked for."""
        choice = choose_engine(self.name, wish, certificate(self.name))
        return EngineBinding(self._on(choice.engine), choice.reason)

    def as_explored(self, engine: Engine) -> AtariGame:
        """Return the game on the engine of a run, whose snapshots are its own: trusted or not."""
        return self._on(engine)

    def reference(self) -> AtariGame:
        """Return the game on ale-py."""
        return self._on("ale")

    def _on(self, engine: Engine) -> AtariGame:
        bound = copy.copy(self)
        object.__setattr__(bound, "bound_engine", engine)
        return bound

    def distrust(self, reason: str) -> str | None:
        """Stop the use of the native engine for this game on this machine, if it is the one that played."""
        if self.engine != "native":
            return None
        file = distrust(self.name, reason)
        return f"the native engine is not used for {self.name} on this machine any more: {file} says why"

    def make_gymnasium(self) -> Any:
        """Return the game as Gymnasium knows it, without sticky actions."""
        import ale_py
        import gymnasium

        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        gymnasium.register_envs(ale_py)
        return gymnasium.make(
            self.target,
            frameskip=self.frame_skip,
            repeat_action_probability=0.0,
            full_action_space=self.full_action_set,
        )

    def warnings(self) -> list[str]:
        """Say where the native engine is slower than it could be."""
        reason = why_interpreted(self.name) if self.engine == "native" else None
        if reason is None:
            return []
        return [f"the ROM is interpreted, which takes about twice the time: {reason}"]

    def make_kernel(self, cells: CellsSpec, exploration: ExplorationConfig) -> KernelFactory | None:
        """Return what makes native kernels: they run for cells that they know, without end entries."""
        settings = cells.native_settings()
        if self.engine != "native" or settings is None or exploration.ends == "keep":
            return None
        return partial(AtariGame._native_kernel, self, settings, exploration)

    def _native_kernel(self, cells: dict[str, Any], exploration: ExplorationConfig) -> NativeKernel:
        game = facts(self.name)
        explorer = native.require_atari().Explorer(
            cartridge=load_cartridge(self.name),
            **cells,
            grey=NativeAtariEnv.grey,
            actions=action_numbers(self.name, full=self.full_action_set),
            frame_skip=self.frame_skip,
            training_frames=exploration.training_frames,
            repeat=int(exploration.repeat_probability * 2**32),
            ends_at_life_loss=(self.episode_end or game.episode_end) == "life-loss",
            score_limit=game.score_limit or 0,
            room_address=-1 if game.room_address is None else game.room_address,
            level_address=-1 if game.level_address is None else game.level_address,
        )
        # Cells with domain knowledge track their room; for those of whole frames it is read from memory.
        from_memory = cells["cells"] in NAMED_CELLS and game.room_address is not None
        return NativeKernel(
            explorer,
            training_frames=exploration.training_frames,
            room_numbers=game.room_numbers if from_memory else None,
        )


def _any_game(target: str) -> Problem:
    """Return the problem of a game given by its id: dynamic cells, the follow-up's weights for those."""
    game = gymnasium_id(rom_name(target))
    return Problem(
        env=AtariGame(game=game),
        cells=DynamicConfig(),
        exploration=ExplorationConfig(ends="drop"),
        name=game,
    )


ATARI = Family(
    prefix="ALE/",
    make=_any_game,
    description="any Atari game, such as ALE/PrivateEye-v5, with dynamic cells",
)
