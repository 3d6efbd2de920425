"""Finding the character on the screen: what Montezuma's Revenge and Pitfall share (paper appendix A.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goexplore import _native as native
from goexplore.cells import CellKey
from goexplore.envs import AtariEnvironment, Environment, gymnasium_id
from goexplore.errors import ConfigError, require_between
from goexplore.problems import CellsSpec

Screen: TypeAlias = NDArray[np.uint8]
"""Palette indices of one raw frame, 210 rows of 160, in C order: what `ALEInterface.getScreen` returns."""

WIDTH = 160
"""Pixels per row. Positions count columns twice: Atari pixels are wide, the paper's frame is 320 x 210."""

PLAYFIELD_TOP = 50
"""The first row of the playfield; above it are score, lives and inventory."""

CHARACTER = 74
"""The only palette index whose red channel is 228. In both games only the character's face has it."""


def find_character(screen: Screen) -> tuple[int, int, bool] | None:
    """Return the character's x, y and whether its pixels are scattered, or None where it is not visible.

    The position is the mean of its pixels, x doubled, y counted from `PLAYFIELD_TOP`. Integers throughout, so
    that any implementation gives the same cells: x = floor(2 * columns / n), y = floor(rows / n). Scattered
    means that no two pixels are adjacent, that is 1 or `WIDTH` apart in the frame's order.
    """
    if native.cells is not None:
        return native.cells.find_character(screen, PLAYFIELD_TOP, CHARACTER)
    pixels = np.flatnonzero(screen[PLAYFIELD_TOP:] == CHARACTER).tolist()
    if not pixels:
        return None
    columns = sum([index % WIDTH for index in pixels])
    rows = sum([index // WIDTH for index in pixels])
    scattered = not any(index + 1 in pixels or index + WIDTH in pixels for index in pixels)
    return 2 * columns // len(pixels), rows // len(pixels), scattered


def check_cell_size(cell_width: int, cell_height: int) -> None:
    """Raise ConfigError unless every position fits into one byte of the cell's key."""
    # x reaches 318, y reaches 159.
    if cell_width < 2 or cell_height < 1:
        raise ConfigError(
            "expected cell_width >= 2 and cell_height >= 1 (pixels of the 320 x 210 frame), "
            f"got {cell_width} and {cell_height}: use larger cells, the paper's are 16 x 16"
        )


def neighbours(key: CellKey, field: int) -> tuple[CellKey, ...]:
    """Return the keys that differ from `key` by one, down and up, in its byte at index `field`."""
    if field >= len(key):  # of a damaged archive: `goexplore verify` names it
        return ()
    value = key[field]
    head, tail = key[:field], key[field + 1 :]
    return tuple([head + bytes((near,)) + tail for near in (value - 1, value + 1) if 0 <= near <= 255])


def key_table(keys: Sequence[CellKey], size: int, missing: int = 0) -> NDArray[np.uint8]:
    """Return the first `size` bytes of each key as a row; what a shorter one lacks is `missing`.

    Keys come from files too, which may be damaged.
    """
    rows = b"".join([key[:size].ljust(size, bytes((missing,))) for key in keys])
    return np.frombuffer(rows, np.uint8).reshape(-1, size)


def areas(
    x: NDArray[np.generic], y: NDArray[np.generic], cell_width: int, cell_height: int
) -> NDArray[np.int64]:
    """Return top, bottom, left and right of cells at these positions, in pixels of the playfield."""
    left, top = x.astype(np.int64) * cell_width, y.astype(np.int64) * cell_height
    edges = [top, top + cell_height, left // 2, (left + cell_width) // 2]  # positions count columns twice
    return np.stack(edges, axis=1)


@dataclass(frozen=True, kw_only=True)
class CharacterCellsConfig(CellsSpec):
    """The settings of cells that follow the character (paper appendix A.3)."""

    cell_width: int = 16
    """Pixels of the 320 x 210 frame (table 2)."""
    cell_height: int = 16
    """Pixels of the 320 x 210 frame (table 2)."""

    def __post_init__(self) -> None:
        require_between("cell_width", self.cell_width, 2, 320)
        require_between("cell_height", self.cell_height, 1, 210)

    def native_settings(self) -> dict[str, Any]:
        """Return the native kernel's terms."""
        return {
            "cells": self.kind,
            "cell_width": self.cell_width,
            "cell_height": self.cell_height,
            "levels": 0,
        }


def require_game(env: Environment, rom: str, cells: str) -> None:
    """Refuse another environment than the game whose pixels the cells read."""
    if not isinstance(env, AtariEnvironment) or env.rom != rom:
        found = gymnasium_id(env.rom) if isinstance(env, AtariEnvironment) else type(env).__name__
        raise ConfigError(
            f"expected the game {gymnasium_id(rom)} for {cells} cells, got {found}: explore that one by its "
            "own name, with downscaled cells or a cell function"
        )
