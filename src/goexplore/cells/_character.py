"""Finding the character on the screen: what Montezuma's Revenge and Pitfall share (paper appendix A.3)."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._representation import CellKey
from goexplore.errors import ConfigError

Screen: TypeAlias = NDArray[np.uint8]
"""Palette indices of one raw frame, 210 rows of 160, in C order: what `ALEInterface.getScreen` returns."""

WIDTH = 160
"""Pixels per row. Positions count columns twice: Atari pixels are wide, the paper's frame is 320 x 210."""

PLAYFIELD_TOP = 50
"""The first row of the playfield; above it are score, lives and inventory."""

CHARACTER = 74
"""The only palette index whose red channel is 228. In both games only the character's face has it."""


def character_pixels(screen: Screen) -> list[int]:
    """Return where the character's pixels are: ascending indices into the rows from `PLAYFIELD_TOP` down."""
    # A byte search is several times faster here than a NumPy mask: there are about ten such pixels.
    playfield = screen[PLAYFIELD_TOP:].tobytes()
    pixels = []
    index = playfield.find(CHARACTER)
    while index >= 0:
        pixels.append(index)
        index = playfield.find(CHARACTER, index + 1)
    return pixels


def position(pixels: list[int]) -> tuple[int, int]:
    """Return the mean position of at least one pixel: x doubled, y counted from `PLAYFIELD_TOP`.

    Integers throughout, so that any implementation gives the same cells:
    x = floor(2 * sum of columns / n), y = floor(sum of rows / n).
    """
    count = len(pixels)
    columns = sum([index % WIDTH for index in pixels])
    return 2 * columns // count, (sum(pixels) - columns) // (WIDTH * count)


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
    value = key[field]
    head, tail = key[:field], key[field + 1 :]
    return tuple([head + bytes((near,)) + tail for near in (value - 1, value + 1) if 0 <= near <= 255])
