"""Several cell representations as one: states share a cell where they share it in each of them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._representation import CellKey, CellRepresentation, Neighbours
from goexplore.envs import Location


class CombinedCells(CellRepresentation):
    """Cells with the keys of all parts, each with its length in front (4 bytes, little-endian).

    The first part that has neighbours, ranks, levels, areas or a location gives them to the whole.
    """

    def __init__(self, parts: Sequence[CellRepresentation]) -> None:
        """The parts are used by this object alone from now on."""
        self._parts = tuple(parts)
        for at, part in reversed(list(enumerate(self._parts))):
            if part.horizontal_neighbours is not None:
                self.horizontal_neighbours = _neighbours(at, part.horizontal_neighbours)
            if part.vertical_neighbours is not None:
                self.vertical_neighbours = _neighbours(at, part.vertical_neighbours)
            if part.spot is not None and part.rank is not None:
                self.spot, self.rank = _spot(at, part.spot), _number(at, part.rank)
            if part.level_of is not None:
                self.level_of = _number(at, part.level_of)

    def reset(self, observation: Any) -> CellKey:
        """Return the cell of the first observation."""
        return _join([part.reset(observation) for part in self._parts])

    def update(self, observation: Any) -> CellKey | None:
        """Return the cell of an observation, or None where the episode is lost in one of the parts."""
        keys = [part.update(observation) for part in self._parts]
        found = [key for key in keys if key is not None]
        return _join(found) if len(found) == len(keys) else None

    def state(self) -> bytes:
        """Return what the parts track; nothing where no part tracks anything."""
        states = [part.state() for part in self._parts]
        return _join(states) if any(states) else b""

    def restore(self, state: bytes) -> None:
        """Go back to what the parts tracked."""
        states = _split(state) if state else [b""] * len(self._parts)
        for part, each in zip(self._parts, states, strict=True):
            part.restore(each)

    def location(self) -> Location | None:
        """Return the location of the first part that tracks one."""
        return next((found for part in self._parts if (found := part.location()) is not None), None)

    def areas(self, cells: Sequence[CellKey]) -> NDArray[np.int64] | None:
        """Return the areas of the first part that has some."""
        found = (part.areas(keys) for part, keys in self._keys(cells))
        return next((areas for areas in found if areas is not None), None)

    def columns(self, cells: Sequence[CellKey]) -> Mapping[str, NDArray[np.generic]]:
        """Return the columns of all parts; a name that comes again gets a number."""
        columns: dict[str, NDArray[np.generic]] = {}
        for part, keys in self._keys(cells):
            for name, values in part.columns(keys).items():
                number, free = 1, name
                while free in columns:
                    number += 1
                    free = f"{name}_{number}"
                columns[free] = values
        return columns

    def _keys(self, cells: Sequence[CellKey]) -> list[tuple[CellRepresentation, list[CellKey]]]:
        split = [_split(cell) for cell in cells]
        return [(part, [keys[at] for keys in split]) for at, part in enumerate(self._parts)]


def _join(keys: Sequence[bytes]) -> bytes:
    return b"".join(struct.pack("<I", len(key)) + key for key in keys)


def _split(joined: bytes) -> list[bytes]:
    keys, at = [], 0
    while at < len(joined):
        (size,) = struct.unpack_from("<I", joined, at)
        keys.append(joined[at + 4 : at + 4 + size])
        at += 4 + size
    return keys


def _put(cell: CellKey, at: int, key: CellKey) -> CellKey:
    keys = _split(cell)
    keys[at] = key
    return _join(keys)


def _neighbours(at: int, neighbours: Neighbours) -> Neighbours:
    return lambda cell: [_put(cell, at, each) for each in neighbours(_split(cell)[at])]


def _spot(at: int, spot: Callable[[CellKey], bytes]) -> Callable[[CellKey], bytes]:
    return lambda cell: _put(cell, at, spot(_split(cell)[at]))


def _number(at: int, of: Callable[[CellKey], int]) -> Callable[[CellKey], int]:
    return lambda cell: of(_split(cell)[at])
