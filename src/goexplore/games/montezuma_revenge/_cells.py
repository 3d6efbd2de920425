"""Montezuma's Revenge: cells from domain knowledge that is read from the pixels (paper appendix A.3)."""

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import CellKey, CellRepresentation
from goexplore.envs import Environment, Location
from goexplore.errors import SnapshotError
from goexplore.games._character import (
    PLAYFIELD_TOP,
    CharacterCellsConfig,
    Screen,
    areas,
    check_cell_size,
    find_character,
    key_table,
    neighbours,
    require_game,
)
from goexplore.games.montezuma_revenge._facts import MAP

FIRST_ROOM = 1
TREASURE_ROOM = 15
ROOM_ROWS = MAP.rows
"""The rooms of a level form a pyramid: each row is centred below the one above it."""
ROOM_COUNT = 24

JUMP = 50
"""A move of this many pixels (x doubled) in one training frame is a change of room."""

BLACK, BLUE = 0, 144
"""The palette indices of RGB(0, 0, 0) and RGB(0, 28, 136): all that a transition screen shows."""

KEY_PIXELS = 40
"""The area of a key in the inventory, which tells it from a sword (37), a torch (42) and a hammer (50)."""
KEY_SLOTS = 4
"""The game has room for this many keys."""
NO_KEY = 255

NO_POSITION = 0xFFFF

_STATE = struct.Struct(f">HBHB{KEY_SLOTS}s")  # level, room, x, y, slots
_SPOT = struct.Struct(">HBBB")  # level, room, x // cell_width, y // cell_height


def _map() -> dict[tuple[int, int, int], int]:
    """Return the room that lies (right, down) of a room, for all that have one."""
    locations = {}
    for row, rooms in enumerate(ROOM_ROWS):
        for offset, room in enumerate(rooms):
            locations[len(ROOM_ROWS) - row + offset, row] = room
    return {
        (room, right, down): locations[column + right, row + down]
        for (column, row), room in locations.items()
        for right, down in ((-1, 0), (1, 0), (0, -1), (0, 1))
        if (column + right, row + down) in locations
    }


ROOM_BESIDE = _map()


class MontezumaCells(CellRepresentation):
    """Cells of level, room, position, and the rooms in which the held keys were found.

    A key is level (2 bytes, big-endian), room, x, y (1 byte each), then one byte per held key: the room
    it was found in, ascending. x and y are the character's mean position divided by the size of a cell,
    rounded down; where no pixel of the character is visible, the last position holds.
    """

    def __init__(self, *, cell_width: int = 16, cell_height: int = 16) -> None:
        """Set the size of a cell in pixels of the 320 x 210 frame (paper appendix A.6)."""
        check_cell_size(cell_width, cell_height)
        self.cell_width = cell_width
        self.cell_height = cell_height
        self.anomalies = 0
        """How many jumps led off the map. The room was kept each time."""
        # The inventory hardly ever changes: its last strip and the number of keys in it, a mere cache.
        self._strip = b""
        self._strip_keys = 0
        self._forget()

    def reset(self, observation: Screen) -> CellKey:
        """Return the cell of the first observation of an episode."""
        self._forget()
        self._track_keys(observation)
        found = find_character(observation)
        if found:
            self._x, self._y, _ = found
        return self._key()

    def update(self, observation: Screen) -> CellKey | None:
        """Return the cell after one more training frame, or None where the pixels show a death.

        A death shows in the character's pixels being scattered, or gone from a screen that is not a
        transition between rooms or levels.
        """
        found = find_character(observation)
        if found is None:
            return self._key() if _is_transition(observation) else None
        x, y, scattered = found
        if scattered:
            return None
        if self._x != NO_POSITION:
            right, down = x - self._x, y - self._y
            if not (-JUMP < right < JUMP and -JUMP < down < JUMP):
                self._change_room(right, down)
        self._x, self._y = x, y
        self._track_keys(observation)
        return self._key()

    def state(self) -> bytes:
        """Return level, room, last position and the key slots."""
        return _STATE.pack(self._level, self._room, self._x, self._y, self._slots)

    def restore(self, state: bytes) -> None:
        """Go back to the tracked state that `state` returned."""
        if len(state) != _STATE.size:
            raise SnapshotError(
                f"expected a tracked state of {_STATE.size} bytes, got {len(state)}: "
                "restore only what MontezumaCells.state() of this version returned"
            )
        level, room, x, y, slots = _STATE.unpack(state)
        if room >= ROOM_COUNT:
            raise SnapshotError(
                f"expected a room below {ROOM_COUNT}, got {room}: "
                "restore only what MontezumaCells.state() of this version returned"
            )
        self._level, self._room, self._x, self._y = level, room, x, y
        self._set_slots(slots)

    def location(self) -> Location:
        """Return the tracked level (from 0) and room."""
        return Location(self._level, self._room)

    def areas(self, cells: Sequence[CellKey]) -> NDArray[np.int64]:
        """Return the part of the room's picture that each cell stands for."""
        columns = self.columns(cells)
        return areas(columns["x"], columns["y"], self.cell_width, self.cell_height)

    def columns(self, cells: Sequence[CellKey]) -> dict[str, NDArray[np.generic]]:
        """Return level, room, x, y, and keys: the rooms of the held keys as text, such as "1,7"."""
        table = key_table(cells, _SPOT.size + KEY_SLOTS, missing=NO_KEY)
        # There are few sets of keys: write each one once.
        packed = np.ascontiguousarray(table[:, _SPOT.size :]).view(np.uint32).ravel()
        sets, which = np.unique(packed, return_inverse=True)
        texts = [",".join(str(room) for room in rooms.tobytes() if room != NO_KEY) for rooms in sets]
        fields = table.astype(np.int64)
        return {
            "level": fields[:, 0] * 256 + fields[:, 1],
            "room": fields[:, 2],
            "x": fields[:, 3],
            "y": fields[:, 4],
            "keys": np.array(texts, dtype=np.str_)[which],
        }

    @staticmethod
    def horizontal_neighbours(key: CellKey) -> tuple[CellKey, ...]:
        """Return the cells to the left and right: same level, room, y and keys."""
        return neighbours(key, 3)

    @staticmethod
    def vertical_neighbours(key: CellKey) -> tuple[CellKey, ...]:
        """Return the cells above and below: same level, room, x and keys."""
        return neighbours(key, 4)

    @staticmethod
    def spot(key: CellKey) -> bytes:
        """Return level, room, x and y: the key of a cell without its held keys."""
        return key[: _SPOT.size]

    @staticmethod
    def level_of(key: CellKey) -> int:
        """Return the level of a cell."""
        return int.from_bytes(key[:2], "big")

    @staticmethod
    def rank(key: CellKey) -> int:
        """Return how many keys are held in a cell."""
        return min(max(0, len(key) - _SPOT.size), KEY_SLOTS)

    def _forget(self) -> None:
        self._level = 0
        self._room = FIRST_ROOM
        self._x = NO_POSITION
        self._y = 0
        self._set_slots(bytes((NO_KEY,)) * KEY_SLOTS)

    def _key(self) -> CellKey:
        x = 0 if self._x == NO_POSITION else self._x // self.cell_width
        return _SPOT.pack(self._level, self._room, x, self._y // self.cell_height) + self._held

    def _change_room(self, right: int, down: int) -> None:
        """Follow a jump: leaving a room on the right puts the character on the left of the next one."""
        if self._room == TREASURE_ROOM:
            # The only way out is through its floor, from any x to the middle of the next level's first room.
            self._level = min(self._level + 1, 0xFFFF)
            self._room = FIRST_ROOM
            return
        # A way sideways jumps by about 290 along x and hardly along y, a ladder by about 115 along y.
        sideways = abs(right) >= abs(down)
        step = (-1 if right > 0 else 1, 0) if sideways else (0, -1 if down > 0 else 1)
        room = ROOM_BESIDE.get((self._room, *step))
        if room is None:
            self.anomalies += 1
        else:
            self._room = room

    def _track_keys(self, screen: Screen) -> None:
        """Note the current room for every key that has appeared, and forget those that have gone."""
        strip = screen[25:45].tobytes()
        if strip != self._strip:
            self._strip = strip
            self._strip_keys = _count_keys(screen)
        more = self._strip_keys - len(self._held)
        if more == 0:
            return
        # All keys look alike. The game puts a new one into its first free slot, and a door takes that of
        # its first slot that holds one.
        slots = bytearray(self._slots)
        for slot in range(KEY_SLOTS):
            free = slots[slot] == NO_KEY
            if more > 0 and free:
                slots[slot] = self._room
                more -= 1
            elif more < 0 and not free:
                slots[slot] = NO_KEY
                more += 1
        self._set_slots(bytes(slots))

    def _set_slots(self, slots: bytes) -> None:
        self._slots = slots
        self._held = bytes(sorted(slots)).rstrip(bytes((NO_KEY,)))


def _is_transition(screen: Screen) -> bool:
    """Return whether the playfield is one of the screens between two rooms or levels."""
    playfield = screen[PLAYFIELD_TOP:]
    return bool(((playfield == BLACK) | (playfield == BLUE)).all())


def _count_keys(screen: Screen) -> int:
    """Return how many keys the inventory shows: it has six fields of eight columns, one item in each."""
    fields = screen[25:45, 56:104].reshape(20, 6, 8)
    return min(int(((fields != BLACK).sum(axis=(0, 2)) == KEY_PIXELS).sum()), KEY_SLOTS)


class MontezumaCellsConfig(CharacterCellsConfig):
    """Cells from pixels of Montezuma's Revenge: x, y, room, level, rooms of the held keys (appendix A.3)."""

    kind = "montezuma"

    def __call__(self, env: Environment) -> MontezumaCells:
        """Return the cells of this game; refuse another one."""
        require_game(env, "montezuma_revenge", self.kind)
        return MontezumaCells(cell_width=self.cell_width, cell_height=self.cell_height)
