"""Cells without domain knowledge: the frame, downscaled (paper section 2.1.1)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._representation import CellKey, CellRepresentation
from goexplore.errors import ConfigError

GreyLevels = Callable[[NDArray[np.uint8]], NDArray[np.float32]]


def area_weights(pixels: int, bins: int) -> NDArray[np.float32]:
    """Return how much of each pixel lies in each bin, in units of 1/bins of a pixel: whole numbers.

    Each row (a bin) sums to `pixels`.
    """
    starts = np.arange(pixels) * bins
    edges = np.arange(bins)[:, None] * pixels
    overlap = np.minimum(starts + bins, edges + pixels) - np.maximum(starts, edges)
    weights: NDArray[np.float32] = np.maximum(overlap, 0).astype(np.float32)
    return weights


class DownscaledCells(CellRepresentation):
    """Grey, area-averaged to width x height, intensities rescaled to whole numbers 0 to `levels`.

    A cell's value is `floor(levels * S / (255 * H * W))`, with S the sum of grey levels over the cell's area,
    counted in whole units of 1/(height * width) of a pixel. S is a whole number that the floating-point type
    holds exactly, whatever the order of the additions: all machines get the same bytes.

    The key has one byte per value, row by row.
    """

    def __init__(
        self, *, width: int = 11, height: int = 8, levels: int = 8, grey: GreyLevels | None = None
    ) -> None:
        """`grey` turns rows of the observation into grey levels, if it is not a grey image already."""
        if not (1 <= levels <= 255 and width >= 1 and height >= 1):
            raise ConfigError(
                f"expected a width and height of at least 1 and 1 to 255 levels, "
                f"got {width} x {height} x {levels}: change the cells' settings"
            )
        self._width, self._height = width, height
        self._levels = np.float64(levels)
        self._grey = grey or _as_float
        self._frame: NDArray[np.uint8] = np.empty((0, 0), np.uint8)

    def reset(self, observation: NDArray[np.uint8]) -> CellKey:
        """Return the cell of the first frame."""
        return self.update(observation)

    def update(self, observation: NDArray[np.uint8]) -> CellKey:
        """Return the cell of a frame: only rows that differ from the last frame are averaged again."""
        if observation.shape != self._frame.shape:
            self._prepare(observation)
        words = observation.view(self._word)
        # A product with ones is the fastest way to ask which rows have a difference.
        rows = ((words != self._words).astype(np.float32) @ self._ones).nonzero()[0]
        if len(rows):
            changed = observation.take(rows, axis=0)
            self._frame[rows] = changed
            self._row_sums[rows] = self._grey(changed) @ self._column_weights
        sums = self._row_weights @ self._row_sums
        # In double precision a quotient of whole numbers never rounds up to the next whole number.
        values: NDArray[np.uint8] = (sums * self._levels / self._scale).astype(np.uint8)
        return values.tobytes()

    def _prepare(self, observation: NDArray[np.uint8]) -> None:
        if observation.ndim != 2 or observation.dtype != np.uint8:
            raise ConfigError(
                f"expected frames of shape (height, width) and type uint8, got {observation.shape} "
                f"{observation.dtype}: convert them in the environment's `observation`"
            )
        rows, columns = observation.shape
        if rows < self._height or columns < self._width:
            raise ConfigError(
                f"expected frames of at least {self._width} x {self._height} pixels, got {columns} x {rows}: "
                "lower the cells' width and height"
            )
        self._word: Any = np.uint64 if columns % 8 == 0 else np.uint8
        # Begin with a frame that differs from this one in every row.
        self._frame = ~np.ascontiguousarray(observation)
        self._words = self._frame.view(self._word)
        self._ones = np.ones(self._words.shape[1], np.float32)
        exact: Any = np.float32 if 255 * rows * columns < 2**24 else np.float64
        self._row_weights: NDArray[Any] = area_weights(rows, self._height).astype(exact)
        self._column_weights: NDArray[Any] = np.ascontiguousarray(
            area_weights(columns, self._width).T
        ).astype(exact)
        self._row_sums: NDArray[Any] = np.zeros((rows, self._width), exact)
        self._scale = np.float64(255 * rows * columns)


def _as_float(image: NDArray[Any]) -> NDArray[np.float32]:
    return image.astype(np.float32)
