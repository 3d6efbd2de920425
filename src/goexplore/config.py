"""The settings of a search: frozen, documented, turned into a command line and into config.json.

Defaults are the paper's values wherever it gives one; `goexplore.presets` has its tables.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from goexplore.envs import TWO_MAZES, EpisodeEnd, gymnasium_id, rom_name
from goexplore.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class AtariConfig:
    """The game."""

    game: str
    """Gymnasium id (ALE/MontezumaRevenge-v5) or ROM name (montezuma_revenge)."""
    frame_skip: int = 4
    """Game frames per training frame (appendix A.1)."""
    full_action_set: bool = False
    """All 18 actions instead of those that the game uses."""
    episode_end: EpisodeEnd | None = None
    """What ends an episode (appendix A.2). None: life loss for Montezuma's Revenge, else game over."""

    def __post_init__(self) -> None:
        if not isinstance(self.game, str):
            raise ConfigError(f"expected a game's name, got {self.game!r}: change it")
        _at_least("env.frame-skip", self.frame_skip, 1)
        if self.episode_end not in (None, *get_args(EpisodeEnd)):
            raise ConfigError(
                f"expected --env.episode-end to be {' or '.join(get_args(EpisodeEnd))}, got "
                f"{self.episode_end!r}: change it"
            )

    @property
    def name(self) -> str:
        """The ROM's name: the same for all ways to write the game's."""
        return rom_name(self.game)


@dataclass(frozen=True, kw_only=True)
class MazesConfig:
    """Two mazes, for a first try of everything (paper, figure 1)."""

    game: Literal["two-mazes"] = TWO_MAZES
    frame_skip: int = 1
    """Game frames per training frame."""

    def __post_init__(self) -> None:
        if self.game != TWO_MAZES:
            raise ConfigError(f"expected the game {TWO_MAZES}, got {self.game!r}: change it")
        _at_least("env.frame-skip", self.frame_skip, 1)

    @property
    def name(self) -> str:
        """The game's name."""
        return self.game


EnvConfig: TypeAlias = AtariConfig | MazesConfig


def env_from_json(values: dict[str, Any]) -> EnvConfig:
    """Return the settings of a game that were written as JSON values."""
    return MazesConfig(**values) if values["game"] == TWO_MAZES else AtariConfig(**values)


@dataclass(frozen=True, kw_only=True)
class DownscaledConfig:
    """Cells without domain knowledge: the downscaled frame (section 2.1.1, table 1)."""

    kind: Literal["downscaled"] = "downscaled"
    width: int = 11
    """Values per row."""
    height: int = 8
    """Rows."""
    levels: int = 8
    """The highest intensity: values run from 0 to this."""

    def __post_init__(self) -> None:
        _at_least("cells.width", self.width, 1)
        _at_least("cells.height", self.height, 1)
        _between("cells.levels", self.levels, 1, 255)


@dataclass(frozen=True, kw_only=True)
class MontezumaConfig:
    """Cells from pixels of Montezuma's Revenge: x, y, room, level, rooms of the held keys (appendix A.3)."""

    kind: Literal["montezuma"] = "montezuma"
    cell_width: int = 16
    """Pixels of the 320 x 210 frame (table 2)."""
    cell_height: int = 16
    """Pixels of the 320 x 210 frame (table 2)."""

    def __post_init__(self) -> None:
        _between("cells.cell-width", self.cell_width, 2, 320)
        _between("cells.cell-height", self.cell_height, 1, 210)


@dataclass(frozen=True, kw_only=True)
class PitfallConfig:
    """Cells from pixels of Pitfall: x, y, room (appendix A.3)."""

    kind: Literal["pitfall"] = "pitfall"
    cell_width: int = 16
    """Pixels of the 320 x 210 frame (table 2)."""
    cell_height: int = 16
    """Pixels of the 320 x 210 frame (table 2)."""

    def __post_init__(self) -> None:
        _between("cells.cell-width", self.cell_width, 2, 320)
        _between("cells.cell-height", self.cell_height, 1, 210)


CellsConfig: TypeAlias = DownscaledConfig | MontezumaConfig | PitfallConfig


@dataclass(frozen=True, kw_only=True)
class SelectionConfig:
    """How likely each cell is to be chosen (appendix A.5, tables 1 and 2)."""

    rule: Literal["weighted", "uniform", "start"] = "weighted"
    """Uniform ignores all weights, start always begins at the initial state: the baselines."""
    chosen_weight: float = 0.0
    """w_a of the times a cell was chosen."""
    chosen_since_new_weight: float = 0.0
    """w_a of the times a cell was chosen since it last led to a new or better cell."""
    seen_weight: float = 0.0
    """w_a of the explorations that passed through a cell."""
    power: float = 0.5
    """p_a of all three."""
    epsilon1: float = 0.001
    """Added to the counts."""
    epsilon2: float = 0.00001
    """Added to each count subscore."""
    horizontal_weight: float = 0.0
    """w_n of a missing left or right neighbour."""
    vertical_weight: float = 0.0
    """w_n of a missing neighbour above or below."""
    more_keys_weight: float = 0.0
    """w_n where no cell at the same spot holds more keys (Montezuma's Revenge)."""
    constant: float = 1.0
    """The 1 in CellScore."""
    level_factor: float = 0.1
    """Base of LevelWeight, for cells that know their level."""
    reset_seen: bool = False
    """Whether an improved cell's times seen start again, as its other counters do (section 2.1.5)."""

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):
            value = getattr(self, each.name)
            if each.type in ("float", float):
                _between(f"selection.{each.name.replace('_', '-')}", value, 0, 1e9)
        _between("selection.epsilon1", self.epsilon1, 1e-9, 1e9)
        _between("selection.level-factor", self.level_factor, 0, 1)
        counted = self.chosen_weight + self.chosen_since_new_weight + self.seen_weight
        if self.rule == "weighted" and self.constant + self.epsilon2 + counted <= 0:
            raise ConfigError(
                "expected every cell to have a chance, got a selection with constant, epsilon2 and all count "
                "weights 0: set one of them"
            )


@dataclass(frozen=True, kw_only=True)
class ExplorationConfig:
    """What happens from a chosen cell (section 2.1.4)."""

    batch_size: int = 100
    """Cells chosen at once, with replacement (tables 1 and 2)."""
    training_frames: int = 100
    """k: training frames of one exploration."""
    repeat_probability: float = 0.95
    """Probability of repeating the last action at each training frame."""

    def __post_init__(self) -> None:
        _at_least("exploration.batch-size", self.batch_size, 1)
        _between("exploration.training-frames", self.training_frames, 1, 65_535)
        _between("exploration.repeat-probability", self.repeat_probability, 0, 1)


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """Everything that decides what a search finds: equal configs give equal archives."""

    env: EnvConfig
    cells: CellsConfig = field(default_factory=DownscaledConfig)
    selection: SelectionConfig = field(default_factory=SelectionConfig)
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)
    seed: int = 0
    """Seed of all draws."""

    def __post_init__(self) -> None:
        _at_least("seed", self.seed, 0)
        game = _GAME_OF_CELLS.get(self.cells.kind)
        if game is not None and self.env.name != game:
            raise ConfigError(
                f"expected the game {gymnasium_id(game)} for {self.cells.kind} cells, got {self.env.game}: "
                "explore the game by its own name, with downscaled cells"
            )
        weights = self.selection
        if self.cells.kind == "downscaled" and (weights.horizontal_weight or weights.vertical_weight):
            raise ConfigError(
                "expected no neighbour weights for downscaled cells, which have no neighbours, got "
                f"{weights.horizontal_weight:g} and {weights.vertical_weight:g}: set them to 0"
            )
        if self.cells.kind != "montezuma" and weights.more_keys_weight:
            raise ConfigError(
                f"expected no more-keys weight for {self.cells.kind} cells, which hold no keys, got "
                f"{weights.more_keys_weight:g}: set it to 0"
            )


_GAME_OF_CELLS = {"montezuma": "montezuma_revenge", "pitfall": "pitfall"}


def to_json(config: SearchConfig) -> dict[str, Any]:
    """Return a config as plain JSON values."""
    return dataclasses.asdict(config)


_CELLS: dict[str, type[CellsConfig]] = {
    "downscaled": DownscaledConfig,
    "montezuma": MontezumaConfig,
    "pitfall": PitfallConfig,
}


def from_json(values: dict[str, Any]) -> SearchConfig:
    """Return the config that `to_json` was given."""
    try:
        return SearchConfig(
            env=env_from_json(values["env"]),
            cells=_CELLS[values["cells"]["kind"]](**values["cells"]),
            selection=SelectionConfig(**values["selection"]),
            exploration=ExplorationConfig(**values["exploration"]),
            seed=values["seed"],
        )
    except (KeyError, TypeError) as error:
        raise ConfigError(
            f"expected the settings of a search, got something that lacks or adds {error}: "
            "use the version of goexplore that wrote it"
        ) from error


def differences(one: dict[str, Any], other: dict[str, Any], prefix: str = "") -> list[str]:
    """Return lines that say where two configs, as JSON values, differ."""
    lines = []
    for key in sorted(one.keys() | other.keys()):
        mine, theirs = one.get(key), other.get(key)
        if isinstance(mine, dict) and isinstance(theirs, dict):
            lines += differences(mine, theirs, f"{prefix}{key}.")
        elif mine != theirs:
            lines.append(f"{prefix}{key} is {mine!r}, not {theirs!r}")
    return lines


def _at_least(name: str, value: float, least: float) -> None:
    if not value >= least:
        raise ConfigError(f"expected --{name} to be {least} or more, got {value}: change it")


def _between(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ConfigError(f"expected --{name} to be between {least} and {most}, got {value}: change it")
