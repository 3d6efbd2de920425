"""Where cells lie on the page: on the map of their rooms, or on the tree of trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.envs import Location

_BETWEEN_ROOMS, _BETWEEN_LEVELS = 2.0, 40.0
"""Game pixels."""

_PACKED = 0.6
"""How much of its square a cell takes that has no position of its own: the room is seen in between."""

_LEVEL = 2**20
"""Levels and rooms as one number: rooms are smaller than this."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RoomPlan:
    """How a game's rooms lie beside each other: known without its archive."""

    rows: tuple[tuple[int, ...], ...]
    top: int
    """Rows of the picture above the room: score and lives."""
    height: int
    width: int
    """Of a room, in pixels of the picture."""
    pixel_aspect: float

    @property
    def shown_width(self) -> float:
        """The width of a room as a screen shows it, where a pixel may be wider than high."""
        return self.width * self.pixel_aspect

    def corners(self, levels: Sequence[int]) -> dict[Location, tuple[float, float]]:
        """Return left and top of every room of these levels; one level lies below the other."""
        wide, high = self.shown_width + _BETWEEN_ROOMS, self.height + _BETWEEN_ROOMS
        columns = max(len(row) for row in self.rows)
        below = len(self.rows) * high + _BETWEEN_LEVELS
        return {
            Location(level, room): (
                (columns - len(row)) / 2 * wide + right * wide,
                number * below + down * high,
            )
            for number, level in enumerate(sorted(levels))
            for down, row in enumerate(self.rows)
            for right, room in enumerate(row)
        }


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A place for each cell."""

    x: Floats
    """The middle, to the right; not a number for cells that have no place."""
    y: Floats
    """The middle, downwards."""
    width: Floats
    """Of each cell, in the same unit; 0 for points of a fixed size on the screen."""
    aspect: float = 1.0
    """Height of a cell, as a multiple of its width."""

    def pack(self) -> bytes:
        """Return x, y and width of each, as numbers of four bytes."""
        return np.stack([self.x, self.y, self.width], axis=1).astype("<f4").tobytes()

    def about(self) -> dict[str, Any]:
        """Return what a page has to know beside the places."""
        there = np.isfinite(self.x) & np.isfinite(self.y)
        half = self.width[there] / 2
        if not there.any():
            return {"aspect": self.aspect, "box": [0.0, 0.0, 1.0, 1.0]}
        return {
            "aspect": self.aspect,
            "box": [
                float((self.x[there] - half).min()),
                float((self.y[there] - half * self.aspect).min()),
                float((self.x[there] + half).max()),
                float((self.y[there] + half * self.aspect).max()),
            ],
        }


def different_locations(
    levels: NDArray[np.generic], rooms: NDArray[np.generic]
) -> tuple[list[Location], NDArray[np.int64]]:
    """Return the different locations of cells, and for each cell which of them is its own."""
    keys = levels.astype(np.int64) * _LEVEL + (rooms.astype(np.int64) + 1)  # a room may be -1
    different, which = np.unique(keys, return_inverse=True)
    return [Location(key // _LEVEL, key % _LEVEL - 1) for key in different.tolist()], which.reshape(-1)


def rooms_layout(
    plan: RoomPlan, levels: NDArray[np.generic], rooms: NDArray[np.generic], areas: NDArray[np.int64] | None
) -> Layout:
    """Place cells in their rooms: where they are in it, or in rows, the first ones first."""
    different, which = different_locations(levels, rooms)
    corners = plan.corners(sorted({location.level for location in different}))
    nowhere = (np.nan, np.nan)
    corner = np.array([corners.get(location, nowhere) for location in different])[which]
    if areas is not None:
        top, bottom, left, right = (areas[:, each].astype(np.float64) for each in range(4))
        width = (right - left) * plan.pixel_aspect
        ratio = float(np.median((bottom - top) / np.maximum(width, 1e-9))) if len(width) else 1.0
        return Layout(
            x=corner[:, 0] + (left + right) / 2 * plan.pixel_aspect,
            y=corner[:, 1] + (top + bottom) / 2,
            width=width,
            aspect=ratio,
        )
    counts = np.bincount(which, minlength=len(different))
    order = np.argsort(which, kind="stable")
    place = np.empty(len(which), np.int64)
    place[order] = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    # So many columns that squares fill the room; a power of two, so that they stay where they are for long.
    need = np.sqrt(np.maximum(counts, 1) * plan.shown_width / plan.height)
    columns = np.exp2(np.ceil(np.log2(np.maximum(need, 8)))).astype(np.int64)[which]
    side = plan.shown_width / columns
    return Layout(
        x=corner[:, 0] + (place % columns + 0.5) * side,
        y=corner[:, 1] + (place // columns + 0.5) * side,
        width=side * _PACKED,
    )


def tree_layout(lengths: Floats, branches: Floats) -> Layout:
    """Place cells by the length of their trajectories, to the right, and by their branch."""
    longest = max(float(lengths.max(initial=1.0)), 1.0)
    return Layout(x=lengths / longest * 1.6, y=branches, width=np.zeros(len(lengths)))
