"""Two mazes on both sides of the start (paper, figure 1): solved and learnt in two minutes."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from goexplore.envs import Environment, Step
from goexplore.errors import SnapshotError

_FIELDS = (
    "####################",
    "#...#...####...#...#",
    "#.#.#.#.####.#.#.#.#",
    "#G#...#.####.#...#G#",
    "#######.####.#######",
    "#.....#.####.#.....#",
    "#.###.#.####.#.###.#",
    "#.#...#...S..#...#.#",
    "#.#.####.##.####.#.#",
    "#.#......##......#.#",
    "#.######.##.######.#",
    "#......#.##.#......#",
    "######.#.##.#.######",
    "#........##........#",
    "####################",
)
_MOVES = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))
_GOLD = tuple((x, y) for y, row in enumerate(_FIELDS) for x, field in enumerate(row) if field == "G")
_START = next((x, y) for y, row in enumerate(_FIELDS) for x, field in enumerate(row) if field == "S")
_OPEN = np.array([[field != "#" for field in row] for row in _FIELDS])

_SHADE = {"floor": 0, "wall": 80, "gold": 160, "player": 255}
_COLOUR = np.zeros((256, 3), np.uint8)
_COLOUR[[80, 160, 255]] = (72, 88, 120), (240, 196, 48), (236, 96, 72)
_FIELD_ROWS, _FIELD_COLUMNS = 14, 8
"""Of the picture: with these its size and the shape of its pixels are those of an Atari screen."""


class TwoMazes(Environment):
    """Nothing, right, left, down, up. Each of the two pieces of gold gives 100 points.

    Observations are grey, one pixel per field.
    """

    action_count = len(_MOVES)
    no_op = 0
    pixel_aspect = 1.75
    points = 100.0
    time_limit = 400
    """Game frames of an episode."""

    def __init__(self, *, frame_skip: int = 1) -> None:
        """Build the mazes."""
        self.frame_skip = frame_skip
        self._walls = np.where(_OPEN, _SHADE["floor"], _SHADE["wall"]).astype(np.uint8)
        self.reset()

    def reset(self) -> None:
        """Stand between the mazes."""
        self._x, self._y = _START
        self._taken = self._time = 0

    def step(self, action: int) -> Step:
        """Walk as many fields as a training frame has game frames, unless there is a wall."""
        right, down = _MOVES[action]
        reward, over = 0.0, False
        for _ in range(self.frame_skip):
            self._time += 1
            if _OPEN[self._y + down, self._x + right]:
                self._x, self._y = self._x + right, self._y + down
            for bit, gold in enumerate(_GOLD):
                if gold == (self._x, self._y) and not self._taken >> bit & 1:
                    self._taken |= 1 << bit
                    reward += self.points
            over = self._time >= self.time_limit
            if over:
                break
        return Step(reward, truncated=over)

    def frame_by_frame(self) -> TwoMazes:
        """Return the mazes, one field per step."""
        return TwoMazes()

    def observation(self) -> NDArray[np.uint8]:
        """Return the mazes, the gold that is left and the player."""
        seen = self._walls.copy()
        for bit, (x, y) in enumerate(_GOLD):
            if not self._taken >> bit & 1:
                seen[y, x] = _SHADE["gold"]
        seen[self._y, self._x] = _SHADE["player"]
        return seen

    def picture(self) -> NDArray[np.uint8]:
        """Return the same in colours, 210 rows x 160 columns."""
        fields = _COLOUR[self.observation()]
        picture: NDArray[np.uint8] = fields.repeat(_FIELD_ROWS, axis=0).repeat(_FIELD_COLUMNS, axis=1)
        return picture

    def snapshot(self) -> bytes:
        """Return where the player is, what is taken, and the time."""
        return struct.pack("<3BH", self._x, self._y, self._taken, self._time)

    def restore(self, snapshot: bytes) -> None:
        """Go back to a state."""
        try:
            self._x, self._y, self._taken, self._time = struct.unpack("<3BH", snapshot)
        except struct.error as error:
            raise SnapshotError(
                f"expected a state of the two mazes, got {len(snapshot)} other bytes: "
                "resume with the versions in the run's config.json"
            ) from error
