"""Pitfall: cells from domain knowledge that is read from the pixels (paper appendix A.3)."""

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import CellKey, CellRepresentation
from goexplore.envs import Environment, Location
from goexplore.errors import SnapshotError
from goexplore.games._character import (
    CharacterCellsConfig,
    Screen,
    areas,
    check_cell_size,
    find_character,
    key_table,
    neighbours,
    require_game,
)

ROOM_COUNT = 255
"""The map is a ring: the last room lies to the left of the first."""
UNDERGROUND_ROOMS = 3
"""How many rooms an underground passage skips along."""

JUMP = 270
"""A move of more pixels than this (x doubled) in one training frame is a change of room."""
GROUND = 70
"""From this y down (from the top of the playfield) the character is underground."""

NO_POSITION = 0xFFFF

_STATE = struct.Struct(">BHB")  # room, x, y
_KEY = struct.Struct(">BBB")  # room, x // cell_width, y // cell_height


class PitfallCells(CellRepresentation):
    """Cells of room and position.

    A key is room, x, y, one byte each. x and y are the character's mean position divided by the size of a
    cell, rounded down; where no pixel of the character is visible, the last position holds.
    """

    anomalies = 0
    """No move on this map is impossible: the ring has no end."""

    _room: int
    _x: int
    _y: int

    def __init__(self, *, cell_width: int = 16, cell_height: int = 16) -> None:
        """Set the size of a cell in pixels of the 320 x 210 frame (paper appendix A.6)."""
        check_cell_size(cell_width, cell_height)
        self.cell_width = cell_width
        self.cell_height = cell_height
        self._forget()

    def reset(self, observation: Screen) -> CellKey:
        """Return the cell of the first observation of an episode."""
        self._forget()
        return self.update(observation)

    def update(self, observation: Screen) -> CellKey:
        """Return the cell after one more training frame: losing a life ends nothing here (appendix A.2)."""
        found = find_character(observation)
        if found:
            x, y, _ = found
            right = x - self._x
            # A lost life also moves the character to the left, but never as far as a new room does.
            if self._x != NO_POSITION and not -JUMP <= right <= JUMP:
                rooms = 1 if y < GROUND else UNDERGROUND_ROOMS
                self._room = (self._room + (rooms if right < 0 else -rooms)) % ROOM_COUNT
            self._x, self._y = x, y
        return self._key()

    def state(self) -> bytes:
        """Return room and last position."""
        return _STATE.pack(self._room, self._x, self._y)

    def restore(self, state: bytes) -> None:
        """Go back to the tracked state that `state` returned."""
        if len(state) != _STATE.size:
            raise SnapshotError(
                f"expected a tracked state of {_STATE.size} bytes, got {len(state)}: "
                "restore only what PitfallCells.state() of this version returned"
            )
        room, x, y = _STATE.unpack(state)
        if room >= ROOM_COUNT:
            raise SnapshotError(
                f"expected a room below {ROOM_COUNT}, got {room}: "
                "restore only what PitfallCells.state() of this version returned"
            )
        self._room, self._x, self._y = room, x, y

    def location(self) -> Location:
        """Return the tracked room, counted to the right from the first one; there are no levels."""
        return Location(0, self._room)

    def areas(self, cells: Sequence[CellKey]) -> NDArray[np.int64]:
        """Return the part of the room's picture that each cell stands for."""
        columns = self.columns(cells)
        return areas(columns["x"], columns["y"], self.cell_width, self.cell_height)

    def columns(self, cells: Sequence[CellKey]) -> dict[str, NDArray[np.generic]]:
        """Return room, x and y."""
        table = key_table(cells, _KEY.size).astype(np.int64)
        return {"room": table[:, 0], "x": table[:, 1], "y": table[:, 2]}

    @staticmethod
    def horizontal_neighbours(key: CellKey) -> tuple[CellKey, ...]:
        """Return the cells to the left and right: same room and y."""
        return neighbours(key, 1)

    @staticmethod
    def vertical_neighbours(key: CellKey) -> tuple[CellKey, ...]:
        """Return the cells above and below: same room and x."""
        return neighbours(key, 2)

    def _forget(self) -> None:
        self._room = 0
        self._x = NO_POSITION
        self._y = 0

    def _key(self) -> CellKey:
        x = 0 if self._x == NO_POSITION else self._x // self.cell_width
        return _KEY.pack(self._room, x, self._y // self.cell_height)


class PitfallCellsConfig(CharacterCellsConfig):
    """Cells from pixels of Pitfall: x, y, room (appendix A.3)."""

    kind = "pitfall"

    def __call__(self, env: Environment) -> PitfallCells:
        """Return the cells of this game; refuse another one."""
        require_game(env, "pitfall", self.kind)
        return PitfallCells(cell_width=self.cell_width, cell_height=self.cell_height)
