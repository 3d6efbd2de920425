"""Named values of the observation, of `info` or of the environment itself, put into bins.

The bins are the same on all machines: quotients of double precision, rounded down. Whole numbers divided by a
whole size are exact whatever they are.
"""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._function import plain
from goexplore.cells._representation import CellKey, CellRepresentation
from goexplore.errors import ConfigError, EnvironmentContractError, require_positive, require_whole

WHOLE = "observation"
"""The name of an observation that is not a mapping."""

_MOST_NUMBERS = 512
"""Of one name in a cell: more is an image, for which cells are downscaled."""
_UNBOUNDED = 1e30
"""A bound this far away is none: spaces have the largest single-precision number where they mean infinity."""
_TABLE = frozenset(
    (
        *("entry", "cell", "score", "length", "segment", "offset", "level", "room", "end", "snapshot"),
        *("times_chosen", "times_chosen_since_new", "times_seen", "found_at_game_frame"),
    )
)
"""Columns that every archive's table has already (docs/format.md)."""
_MISSING = object()


@dataclass(frozen=True, kw_only=True)
class GridAxis:
    """One name of a grid, and how its values are put into bins."""

    name: str
    """A key of the observation or of `info`; with dots for mappings within mappings."""
    size: float | None = None
    """The width of a bin, in the units of the value."""
    bins: int | None = None
    """How many bins there are between the bounds."""
    low: float | tuple[float, ...] | None = None
    """The lower bound, or one for each number; None means that of the observation space."""
    high: float | tuple[float, ...] | None = None
    """The upper bound."""
    dims: tuple[int, ...] | None = None
    """Which numbers of an array count, in the order of its elements; None means all."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ConfigError(f"expected the names of a grid to be texts, got {self.name!r}")
        if self.size is not None and self.bins is not None:
            raise ConfigError(f"expected either `size` or `bins` for {self.name}, got both: omit one")
        for name in ("low", "high"):
            if getattr(self, name) is not None and self.bins is None:
                raise ConfigError(f"expected `bins` with `{name}` for {self.name}, got none: give a number")
        if self.size is not None:
            _require_number("size", self.size)
            require_positive("size", self.size)
            whole = isinstance(self.size, int | np.integer) or float(self.size).is_integer()
            object.__setattr__(self, "size", int(self.size) if whole else float(self.size))
        if self.bins is not None:
            require_whole("bins", self.bins, 1)
            object.__setattr__(self, "bins", int(self.bins))
        for name in ("low", "high"):
            bound = getattr(self, name)
            if bound is not None:
                object.__setattr__(self, name, _bound(name, bound))
        if self.dims is not None:
            dims = tuple(self.dims) if isinstance(self.dims, Sequence) else (self.dims,)
            for each in dims:
                require_whole("dims", each, 0)
            object.__setattr__(self, "dims", tuple(int(each) for each in dims))


class GridCells(CellRepresentation):
    """Cells of named values: each in bins of a width, in a number of bins between bounds, or as it is.

    A bin of width `size` has the number floor(value / size); one of `bins` between bounds has the number
    floor((value - low) / ((high - low) / bins)), and values outside the bounds are in the outermost bins. A
    name is looked up in an observation that is a mapping, then in `info`, then among the attributes of the
    environment; "observation" is the whole of an observation that has no such key. The key of a cell is the
    text of a tuple with one element per name.
    """

    def __init__(
        self,
        axes: Sequence[GridAxis],
        *,
        info: Callable[[], Mapping[str, Any]] = dict,
        unwrapped: Callable[[], Any] = lambda: None,
        space: Any = None,
    ) -> None:
        """`info` is the environment's method; `unwrapped` returns the environment whose attributes count.

        `space` is its Gymnasium observation space, for bounds.
        """
        self._axes = tuple(axes)
        self._info, self._unwrapped = info, unwrapped
        self._readers = [_reader(axis, space) for axis in self._axes]

    def reset(self, observation: Any) -> CellKey:
        """Return the cell of the first observation."""
        return self.update(observation)

    def update(self, observation: Any) -> CellKey:
        """Return the cell of an observation, and of what `info` says beside it."""
        values = tuple(
            [
                read(_look_up(axis.name, observation, self._info, self._unwrapped))
                for axis, read in zip(self._axes, self._readers, strict=True)
            ]
        )
        return repr(values).encode()

    def columns(self, cells: Sequence[CellKey]) -> Mapping[str, NDArray[np.generic]]:
        """Return the bins, or the values that have none: a column per name, or per number of an array.

        A column that every table has already gets `cell_` in front: `cell_room`.
        """
        found = [ast.literal_eval(cell.decode()) for cell in cells]
        columns: dict[str, NDArray[np.generic]] = {}
        for at, axis in enumerate(self._axes):
            for name, values in _columns(axis, [each[at] for each in found]):
                columns[f"cell_{name}" if name in _TABLE else name] = values
        return columns


def _look_up(
    name: str, observation: Any, info: Callable[[], Mapping[str, Any]], unwrapped: Callable[[], Any]
) -> Any:
    """Return the value of a name in the observation, else in `info`, else of the environment."""
    if type(observation) is dict and name in observation:  # the most frequent case
        return observation[name]
    if isinstance(observation, Mapping):
        found = _descend(observation, name)
        if found is not _MISSING:
            return found
    if name == WHOLE:
        return observation
    said = info()
    if type(said) is dict and name in said:
        return said[name]
    found = _descend(said, name)
    if found is not _MISSING:
        return found
    found = _attribute(unwrapped(), name)
    if found is not _MISSING:
        return found
    names = list(_names(observation)) if isinstance(observation, Mapping) else [WHOLE]
    names += list(_names(said))
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise ConfigError(
        f"expected one of {', '.join(names)} in the observation or info, or an attribute of the environment, "
        f"for a grid, got {name!r}: {hint}name one of these, or use a cell function where a name is missing "
        "now and then"
    )


def _descend(mapping: Any, name: str) -> Any:
    if not isinstance(mapping, Mapping):
        return _MISSING
    if name in mapping:
        return mapping[name]
    head, dot, rest = name.partition(".")
    return _descend(mapping.get(head), rest) if dot else _MISSING


def _attribute(thing: Any, name: str) -> Any:
    """Return an attribute, with dots for attributes of attributes; None has None for all of its own."""
    for part in name.split("."):
        if thing is None:
            return None if part != name.partition(".")[0] else _MISSING
        thing = getattr(thing, part, _MISSING)
        if thing is _MISSING or callable(thing):
            return _MISSING
    return thing


def _names(mapping: Mapping[Any, Any], before: str = "") -> Iterator[str]:
    """Yield the names of all values, those of mappings within mappings with dots."""
    for key, value in mapping.items():
        if isinstance(value, Mapping) and value:
            yield from _names(value, f"{before}{key}.")
        else:
            yield f"{before}{key}"


# From values to bins


def _reader(axis: GridAxis, space: Any) -> Callable[[Any], Any]:
    """Return what turns the values of a name into what stands in the key."""
    if axis.size is not None:
        return _sizes(axis, axis.size)
    if axis.bins is not None:
        return _bins(axis, axis.bins, space)
    return lambda value: _exact(axis, value)


def _sizes(axis: GridAxis, size: float) -> Callable[[Any], Any]:
    is_whole = isinstance(size, int)

    def read(value: Any) -> Any:
        if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
            value = value.item()
        if isinstance(value, float | int) and axis.dims is None:  # the most frequent case
            if is_whole and isinstance(value, int):
                return int(value // size)
            if not math.isfinite(value):
                raise _not_finite(axis, value)
            return math.floor(float(value) / size)
        numbers = _numbers(axis, value)
        if is_whole and numbers.dtype.kind != "f":
            return _as_tuples((numbers.astype(object) // size).tolist())
        if not np.isfinite(numbers).all():
            raise _not_finite(axis, numbers)
        return _as_tuples(np.floor(numbers.astype(np.float64) / size).tolist())

    return read


def _bins(axis: GridAxis, bins: int, space: Any) -> Callable[[Any], Any]:
    low, high = _bounds(axis, space)
    width = (high - low) / bins

    def read(value: Any) -> Any:
        numbers = _numbers(axis, value).astype(np.float64)
        if np.isnan(numbers).any():
            raise _not_finite(axis, numbers)
        if low.ndim and low.shape != (numbers.size,):
            raise ConfigError(
                f"expected as many bounds as numbers for {axis.name}, got {low.size} for {numbers.size}: "
                "give `low` and `high` as one number each, or one per number"
            )
        flat = np.clip(numbers.ravel(), low, high)
        found = np.minimum(np.floor((flat - low) / width), bins - 1)
        return _as_tuples(found.reshape(numbers.shape).tolist())

    return read


def _exact(axis: GridAxis, value: Any) -> Any:
    """Return a value that is its own bin."""
    if value is None:
        return None
    if isinstance(value, np.ndarray) or axis.dims is not None:
        numbers = _numbers(axis, value)
        if numbers.dtype.kind == "f":
            raise ConfigError(
                f"expected `size` or `bins` for the real numbers of {axis.name}, got none: give one, such as "
                "`size` 0.5"
            )
        return _as_tuples(numbers.tolist(), whole=False)
    if isinstance(value, Mapping):
        raise _not_numbers(axis, value)
    return plain(value)


def _numbers(axis: GridAxis, value: Any) -> NDArray[Any]:
    """Return the numbers of a value that count."""
    try:
        numbers = np.asarray(value)
    except ValueError:  # sequences of different lengths
        raise _not_numbers(axis, value) from None
    if numbers.dtype.kind not in "iubf":
        raise _not_numbers(axis, value)
    if axis.dims is not None:
        if max(axis.dims, default=-1) >= numbers.size:
            raise ConfigError(
                f"expected `dims` from 0 to {numbers.size - 1} for {axis.name}, got {max(axis.dims)}"
            )
        numbers = numbers.ravel()[list(axis.dims)]
    if numbers.size > _MOST_NUMBERS:
        raise ConfigError(
            f"expected up to {_MOST_NUMBERS} numbers of {axis.name} in a cell, got {numbers.size:,}: choose "
            "some with `dims`, or use goexplore.Rendering for images"
        )
    return numbers.astype(np.int64) if numbers.dtype.kind == "b" and axis.size is not None else numbers


def _not_numbers(axis: GridAxis, value: Any) -> ConfigError:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{axis.name}.{name}" if axis.name != WHOLE else name for name in _names(value))
        return ConfigError(f"expected numbers for {axis.name}, got a mapping: name what is in it ({inner})")
    what = f"{type(value).__name__} ({str(value)[:40]})"
    return ConfigError(
        f"expected numbers for {axis.name}, got {what}: only numbers have bins; omit `size` and `bins` for "
        "exact values, or use a cell function"
    )


def _not_finite(axis: GridAxis, value: Any) -> EnvironmentContractError:
    return EnvironmentContractError(
        f"expected finite numbers for {axis.name} in a cell, got {str(value)[:60]}: leave that number out "
        "with `dims`, or use a cell function"
    )


def _as_tuples(value: Any, *, whole: bool = True) -> Any:
    """Return nested lists as tuples; numbers become whole ones, however large, and -0.0 becomes 0."""
    if isinstance(value, list):
        return tuple([_as_tuples(each, whole=whole) for each in value])
    return int(value) if whole else value


# Bounds


def _bounds(axis: GridAxis, space: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bounds of a name: as given, else from the observation space."""
    known = _space_bounds(_space_of(space, axis.name))
    found = []
    for given, known_bound in zip((axis.low, axis.high), known, strict=True):
        bound = known_bound if given is None else given
        if bound is None:
            raise ConfigError(
                f"expected bounds of {axis.name} for `bins`, got none from the environment: give `low` and "
                "`high`, or `size` in place of `bins`"
            )
        bounds = np.asarray(bound, np.float64)
        if given is None and axis.dims is not None and bounds.ndim:
            bounds = bounds.ravel()[[each for each in axis.dims if each < bounds.size]]
        found.append(bounds.ravel() if bounds.ndim else bounds)
    low, high = found
    if not (np.abs(low) < _UNBOUNDED).all() or not (np.abs(high) < _UNBOUNDED).all():
        what = f"{low.tolist()} to {high.tolist()}"
        raise ConfigError(
            f"expected finite bounds of {axis.name} for `bins`, got {what[:120]}: give `low` and `high`, "
            "choose numbers with `dims`, or give `size` in place of `bins`"
        )
    try:
        low, high = np.broadcast_arrays(low, high)
    except ValueError:
        raise ConfigError(
            f"expected as many lower as upper bounds of {axis.name}, got {low.size} and {high.size}"
        ) from None
    if not (low < high).all():
        raise ConfigError(
            f"expected `low` to be below `high` for {axis.name}, got {low.tolist()} and {high.tolist()}"
        )
    return low, high


def _space_of(space: Any, name: str) -> Any:
    """Return the part of a Gymnasium space that a name stands for, or None."""
    inner = getattr(space, "spaces", None)
    if not isinstance(inner, Mapping):
        return space if name == WHOLE else None
    if name in inner:
        return inner[name]
    head, dot, rest = name.partition(".")
    below = inner.get(head) if dot else None
    return _space_of(below, rest) if isinstance(getattr(below, "spaces", None), Mapping) else None


def _space_bounds(space: Any) -> tuple[Any, Any]:
    if hasattr(space, "low") and hasattr(space, "high"):  # gymnasium.spaces.Box
        return space.low, space.high
    if hasattr(space, "n") and hasattr(space, "start"):  # gymnasium.spaces.Discrete
        return float(space.start), float(space.start + space.n)
    return None, None


def _bound(name: str, value: Any) -> float | tuple[float, ...]:
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        for each in value:
            _require_number(name, each)
        return tuple(float(each) for each in value)
    _require_number(name, value)
    return float(value)


def _require_number(name: str, value: Any) -> None:
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or math.isnan(value):
        raise ConfigError(f"expected `{name}` to be a number, got {value!r}")


# From keys to columns


def _columns(axis: GridAxis, values: list[Any]) -> Iterator[tuple[str, NDArray[np.generic]]]:
    flat = [list(_flatten(value)) for value in values]
    size = len(flat[0]) if flat else 0
    if not all(
        isinstance(value, tuple) and len(each) == size for value, each in zip(values, flat, strict=True)
    ):
        yield axis.name, _column(values)
        return
    for at in range(size):
        dim = at if axis.dims is None else axis.dims[at]
        yield f"{axis.name}_{dim}", _column([each[at] for each in flat])


def _flatten(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for each in value:
            yield from _flatten(each)
    else:
        yield value


def _column(values: list[Any]) -> NDArray[np.generic]:
    for kind, kept in ((bool, np.bool_), (int, np.int64), (float, np.float64)):
        if all(type(value) is kind for value in values):
            try:
                return np.array(values, kept)
            except OverflowError:
                break
    return np.array([str(value) for value in values], np.str_)
