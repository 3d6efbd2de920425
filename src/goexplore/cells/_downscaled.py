"""Cells without domain knowledge: the frame, downscaled (paper section 2.1.1)."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._representation import CellKey, CellRepresentation
from goexplore.errors import ConfigError


class Palette(Protocol):
    """Turns palette indices into grey levels."""

    grey: NDArray[np.float32]
    """The grey level of each of 256 indices; below 0 where it is not known yet."""

    def learn(self) -> None:
        """Find out the grey levels of all indices on the current screen."""
        ...


class GreyImage:
    """The palette of observations that are grey levels already."""

    grey = np.arange(256, dtype=np.float32)

    def learn(self) -> None:
        """Everything is known."""


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
        self, *, width: int = 11, height: int = 8, levels: int = 8, palette: Palette | None = None
    ) -> None:
        """`palette` is needed where observations are palette indices, not grey levels."""
        if not (1 <= levels <= 255 and width >= 1 and height >= 1):
            raise ConfigError(
                f"expected a width and height of at least 1 and 1 to 255 levels, "
                f"got {width} x {height} x {levels}: change the cells' settings"
            )
        self._width, self._height, self._levels = width, height, levels
        self._palette: Palette = palette or GreyImage()
        self._frame: NDArray[np.uint8] = np.empty((0, 0), np.uint8)

    def reset(self, observation: NDArray[np.uint8]) -> CellKey:
        """Return the cell of the first frame."""
        return self.update(observation)

    def update(self, observation: NDArray[np.uint8]) -> CellKey:
        """Return the cell of a frame: only rows that differ from the last frame are averaged again."""
        if observation.shape != self._frame.shape:
            self._prepare(observation)
        # A product with ones is the fastest way to ask which rows have a difference.
        np.not_equal(observation.view(self._word), self._words, out=self._differs, casting="unsafe")
        rows = (self._differs @ self._ones).nonzero()[0]
        if len(rows):
            changed = observation.take(rows, axis=0)
            self._frame[rows] = changed
            self._row_sums[rows] = self._palette.grey.take(changed) @ self._column_weights
        sums = self._row_weights @ self._row_sums
        if sums.min() < 0:  # a colour that was never seen before
            self._palette.learn()
            self._frame = np.empty((0, 0), np.uint8)
            return self.update(observation)
        # In double precision a quotient of whole numbers never rounds up to the next whole number.
        values: NDArray[np.uint8] = (sums / self._scale).astype(np.uint8)
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
        self._differs = np.empty(self._words.shape, np.float32)
        # Doubles hold all these whole numbers; single precision, where it does too, is faster.
        exact: Any = np.float32 if 255 * rows * columns < 2**24 else np.float64
        self._column_weights: NDArray[Any] = area_weights(columns, self._width).T.astype(exact, order="C")
        self._row_weights = area_weights(rows, self._height).astype(np.float64) * self._levels
        self._row_sums = np.zeros((rows, self._width), np.float64)
        self._scale = np.float64(255 * rows * columns)
