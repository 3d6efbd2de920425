"""Cells that people put together from names and sizes: settings that need no code of their own."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goexplore.cells import WHOLE, GridAxis, GridCells, RenderedCells
from goexplore.envs import Environment
from goexplore.errors import ConfigError, require_at_least, require_between
from goexplore.problems._specs import NAMED_CELLS, CellsSpec, Combination


@dataclass(frozen=True, init=False)
class Grid(CellsSpec):
    """Cells from named values of the observation, of `info` or of the environment, put into bins.

        Grid("x", "y", size=16)                     # bins of 16 units
        Grid("observation", bins=20)                # 20 bins between the bounds of the observation space
        Grid("observation", dims=(0, 1), size=0.5)  # the first two numbers of a vector
        Grid("room")                                # the value itself
        Grid({"x": 16, "y": 16, "room": None})      # names with their sizes; None is the value itself

    A name is a key of an observation that is a mapping, else a key of `info`, else an attribute of the
    environment without its wrappers; "inventory.key" looks into mappings within mappings. "observation" is
    the whole of an observation that has no such key.
    """

    axes: tuple[GridAxis, ...]
    kind = "grid"

    def __init__(
        self,
        *names: str | Mapping[str, float | None],
        size: float | None = None,
        bins: int | None = None,
        low: float | Sequence[float] | None = None,
        high: float | Sequence[float] | None = None,
        dims: Sequence[int] | None = None,
    ) -> None:
        """Name what tells cells apart.

        Args:
            names: Names, or mappings of names to sizes. Without `size` and `bins`, values are not put into
                bins: states with different values are in different cells.
            size: The width of a bin, in the units of the value: the bin of a value is floor(value / size).
            bins: How many bins there are between the bounds. Values outside are in the outermost bins.
            low: The lower bound, or one for each number. None means that of the environment's
                `observation_space`.
            high: The upper bound, in the same way.
            dims: Which numbers of an array count. None means all.

        """
        made = [axis for each in names for axis in _axes(each, size, bins, low, high, dims)]
        object.__setattr__(self, "axes", _require_axes(made))

    @classmethod
    def of(cls, axes: Sequence[GridAxis]) -> Grid:
        """Return the grid with these axes."""
        grid = cls.__new__(cls)
        object.__setattr__(grid, "axes", _require_axes(axes))
        return grid

    def text(self) -> str:
        """Return the grid as people write it; a sum of grids where names have different settings."""
        grids: dict[str, list[str]] = {}
        for axis in self.axes:
            given = dataclasses.asdict(axis)
            name = given.pop("name")
            settings = ", ".join(f"{key}={value}" for key, value in given.items() if value is not None)
            plain = re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", name)
            grids.setdefault(settings, []).append(name if plain else repr(name))
        return " + ".join(
            f"grid({', '.join([*names, *filter(None, [given])])})" for given, names in grids.items()
        )

    def __call__(self, env: Environment) -> GridCells:
        """Return the cells, with the bounds that the environment knows."""
        return GridCells(
            self.axes,
            info=env.info,
            unwrapped=lambda: env.unwrapped,
            space=getattr(env, "observation_space", None),
        )

    def settings(self) -> dict[str, Any]:
        """Return the axes, each with what was given for it."""
        axes = []
        for axis in self.axes:
            given = {name: value for name, value in dataclasses.asdict(axis).items() if value is not None}
            axes.append({n: list(v) if isinstance(v, tuple) else v for n, v in given.items()})
        return {"kind": self.kind, "axes": axes}

    def with_settings(self, settings: dict[str, Any]) -> Grid:
        """Return the grid that settings stand for."""
        try:
            return Grid.of([GridAxis(**axis) for axis in settings["axes"]])
        except (KeyError, TypeError) as error:
            raise ConfigError(
                f"expected the settings of a grid, got something else ({error}): use the version of "
                "goexplore that wrote them"
            ) from error


def _axes(names: Any, size: Any, bins: Any, low: Any, high: Any, dims: Any) -> list[GridAxis]:
    if not isinstance(names, Mapping):
        return [GridAxis(name=names, size=size, bins=bins, low=low, high=high, dims=dims)]
    if not all(each is None for each in (size, bins, low, high, dims)):
        raise ConfigError(
            "expected sizes in the mapping of names alone, got `size`, `bins`, `low`, `high` or `dims` "
            "beside it: add two grids, such as Grid('x', size=16) + Grid('room')"
        )
    return [GridAxis(name=name, size=each) for name, each in names.items()]


def _require_axes(axes: Sequence[GridAxis]) -> tuple[GridAxis, ...]:
    if not axes:
        raise ConfigError(
            "expected at least one name for a grid, got none: name a key of the observation or of info, or "
            '"observation"'
        )
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"expected each name of a grid once, got {name!r} several times")
    return tuple(axes)


@dataclass(frozen=True, kw_only=True)
class Rendering(CellsSpec):
    """Cells from the environment's picture, downscaled: what people see, whatever the observation is."""

    kind = "rendering"
    width: int = 11
    """Values per row."""
    height: int = 8
    """Rows."""
    levels: int = 8
    """The highest intensity: values run from 0 to this."""

    def __post_init__(self) -> None:
        require_at_least("width", self.width, 1, 10_000)
        require_at_least("height", self.height, 1, 10_000)
        require_between("levels", self.levels, 1, 255)

    def __call__(self, env: Environment) -> RenderedCells:
        """Return the cells of the environment's pictures."""
        return RenderedCells(env.picture, width=self.width, height=self.height, levels=self.levels)

    def settings(self) -> dict[str, Any]:
        """Return the sizes."""
        return {"kind": self.kind, **super().settings()}

    def with_settings(self, settings: dict[str, Any]) -> Rendering:
        """Return the rendering that settings stand for."""
        return super().with_settings({name: value for name, value in settings.items() if name != "kind"})


def cells_with_settings(cells: CellsSpec, settings: dict[str, Any]) -> CellsSpec:
    """Return the cells with the settings that a file has.

    A grid, a rendering and what is combined of them are known by their settings alone, whatever `cells` are;
    everything else must be among `cells`.
    """
    kind = settings.get("kind")
    if kind == Combination.kind:
        found = settings.get("parts", [])
        known = cells.parts if isinstance(cells, Combination) else (cells,)
        own = known if len(known) == len(found) else known[:1] * len(found)
        return Combination(tuple(map(cells_with_settings, own, found)))
    made: CellsSpec | None = {Grid.kind: Grid(WHOLE), Rendering.kind: Rendering()}.get(str(kind))
    if made is None:
        named = (cells, *NAMED_CELLS.values())
        made = next((each for each in named if each.settings().keys() == settings.keys()), cells)
    return made.with_settings(settings)
