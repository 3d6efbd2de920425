"""From settings to parts."""

from __future__ import annotations

from dataclasses import dataclass

from goexplore import _native as native
from goexplore.cells import CellRepresentation, DownscaledCells, MontezumaCells, Palette, PitfallCells
from goexplore.config import (
    AtariConfig,
    DownscaledConfig,
    EnvConfig,
    MazesConfig,
    MontezumaConfig,
    PitfallConfig,
    SearchConfig,
)
from goexplore.engines import Engine
from goexplore.envs import (
    AtariEnv,
    Environment,
    NativeAtariEnv,
    TwoMazes,
    action_numbers,
    facts,
    load_cartridge,
)
from goexplore.exploration import (
    Executor,
    NativeKernel,
    ProcessExecutor,
    PythonKernel,
    RandomRepeat,
    SerialExecutor,
    ThreadExecutor,
    World,
)
from goexplore.selection import (
    CountedAttribute,
    CountScore,
    NeighbourScore,
    RankScore,
    Selection,
    StartSelection,
    Subscore,
    UniformSelection,
    WeightedSelection,
)


def build_env(config: EnvConfig, engine: Engine = "ale") -> AtariEnv | NativeAtariEnv | TwoMazes:
    """Return a fresh environment."""
    if isinstance(config, MazesConfig):
        return TwoMazes(frame_skip=config.frame_skip)
    return (NativeAtariEnv if engine == "native" else AtariEnv)(
        game=config.game,
        frame_skip=config.frame_skip,
        full_action_set=config.full_action_set,
        episode_end=config.episode_end,
    )


def build_world(config: SearchConfig, engine: Engine = "ale") -> World:
    """Return a fresh world."""
    env = build_env(config.env, engine)
    return World(env, _build_cells(config, env))


def _build_cells(config: SearchConfig, env: Environment) -> CellRepresentation:
    cells = config.cells
    if isinstance(cells, MontezumaConfig):
        return MontezumaCells(cell_width=cells.cell_width, cell_height=cells.cell_height)
    if isinstance(cells, PitfallConfig):
        return PitfallCells(cell_width=cells.cell_width, cell_height=cells.cell_height)
    palette = palette_of(env)
    return DownscaledCells(width=cells.width, height=cells.height, levels=cells.levels, palette=palette)


def palette_of(env: Environment) -> Palette | None:
    """Return what the environment's pixels mean; None where they are grey levels already."""
    return env if isinstance(env, AtariEnv | NativeAtariEnv) else None


@dataclass(frozen=True)
class MakeKernel:
    """Makes kernels for a config; a class, so that it can be sent to any process."""

    config: SearchConfig

    def __call__(self) -> PythonKernel:
        """Return a kernel with a world of its own."""
        exploration = self.config.exploration
        return PythonKernel(
            build_world(self.config),
            RandomRepeat(exploration.repeat_probability),
            training_frames=exploration.training_frames,
        )


@dataclass(frozen=True)
class MakeNativeKernel:
    """Makes kernels for a config that run on the native engine."""

    config: SearchConfig

    def __call__(self) -> NativeKernel:
        """Return a kernel with a machine of its own."""
        env, cells, exploration = self.config.env, self.config.cells, self.config.exploration
        assert isinstance(env, AtariConfig)
        rom = env.name
        game = facts(rom)
        if isinstance(cells, DownscaledConfig):
            size = {"cell_width": cells.width, "cell_height": cells.height, "levels": cells.levels}
        else:
            size = {"cell_width": cells.cell_width, "cell_height": cells.cell_height, "levels": 0}
        return NativeKernel(
            native.atari.Explorer(
                cartridge=load_cartridge(rom),
                cells=cells.kind,
                **size,
                grey=NativeAtariEnv.grey,
                actions=action_numbers(rom, full=env.full_action_set),
                frame_skip=env.frame_skip,
                training_frames=exploration.training_frames,
                repeat=int(exploration.repeat_probability * 2**32),
                ends_at_life_loss=(env.episode_end or game.episode_end) == "life-loss",
                score_limit=game.score_limit or 0,
                room_address=-1 if game.room_address is None else game.room_address,
                level_address=-1 if game.level_address is None else game.level_address,
            ),
            room_numbers=game.room_numbers if cells.kind == "downscaled" and game.has_map else None,
        )


def build_executor(config: SearchConfig, workers: int | None, engine: Engine = "ale") -> Executor:
    """Return the executor with that many worker processes, or threads; None explores in this process."""
    if engine == "native":
        make = MakeNativeKernel(config)
        return SerialExecutor(make) if workers is None else ThreadExecutor(make, workers=workers)
    if workers is None:
        return SerialExecutor(MakeKernel(config))
    return ProcessExecutor(MakeKernel(config), workers=workers)


def build_selection(config: SearchConfig) -> Selection:
    """Return the selection of appendix A.5 with the config's weights."""
    weights = config.selection
    if weights.rule != "weighted":
        return UniformSelection() if weights.rule == "uniform" else StartSelection()
    counted: dict[CountedAttribute, float] = {
        "times_chosen": weights.chosen_weight,
        "times_chosen_since_new": weights.chosen_since_new_weight,
        "times_seen": weights.seen_weight,
    }
    subscores: list[Subscore] = [
        CountScore(
            attribute,
            weight=weight,
            power=weights.power,
            epsilon1=weights.epsilon1,
            epsilon2=weights.epsilon2,
        )
        for attribute, weight in counted.items()
    ]
    level = None
    if isinstance(config.cells, MontezumaConfig | PitfallConfig):
        game = MontezumaCells if isinstance(config.cells, MontezumaConfig) else PitfallCells
        subscores += [
            NeighbourScore(game.horizontal_neighbours, weight=weights.horizontal_weight),
            NeighbourScore(game.vertical_neighbours, weight=weights.vertical_weight),
        ]
    if isinstance(config.cells, MontezumaConfig):
        keys = RankScore(
            spot=MontezumaCells.spot, rank=MontezumaCells.held_keys, weight=weights.more_keys_weight
        )
        subscores.append(keys)
        level = MontezumaCells.level_of
    return WeightedSelection(
        subscores, constant=weights.constant, level=level, level_factor=weights.level_factor
    )
