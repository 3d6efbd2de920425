"""Cells without domain knowledge: the frame, downscaled (paper section 2.1.1)."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goexplore import _native as native
from goexplore.cells._representation import CellKey, CellRepresentation
from goexplore.envs import Palette
from goexplore.errors import ConfigError, EnvironmentContractError


class GreyImage:
    """The palette of observations that are grey levels already."""

    grey = np.arange(256, dtype=np.int16)

    def learn_colours(self) -> None:
        """Everything is known."""


class Downscaler(Protocol):
    """Turns frames into cells."""

    def update(self, frame: NDArray[np.uint8], grey: NDArray[np.int16], /) -> CellKey | None:
        """Return the cell of a frame, or None if a colour's grey level is below 0."""
        ...


def area_weights(pixels: int, bins: int) -> NDArray[np.float64]:
    """Return how much of each pixel lies in each bin, in units of 1/bins of a pixel: whole numbers.

    Each row (a bin) sums to `pixels`.
    """
    starts = np.arange(pixels) * bins
    edges = np.arange(bins)[:, None] * pixels
    overlap = np.minimum(starts + bins, edges + pixels) - np.maximum(starts, edges)
    weights: NDArray[np.float64] = np.maximum(overlap, 0).astype(np.float64)
    return weights


class ReferenceDownscaler:
    """The definition, in NumPy: what the compiled one must equal, and what runs where that is missing."""

    def __init__(self, rows: int, columns: int, width: int, height: int, levels: int) -> None:
        # Double precision holds all these whole numbers exactly, whatever the order of the additions.
        self._row_weights = levels * area_weights(rows, height)
        self._column_weights = area_weights(columns, width).T
        self._whole = np.float64(255 * rows * columns)

    def update(self, frame: NDArray[np.uint8], grey: NDArray[np.int16]) -> CellKey | None:
        """Return the cell of a frame, or None if a colour's grey level is below 0."""
        image = grey.astype(np.float64).take(frame)
        if image.min() < 0:
            return None
        # A correctly rounded quotient of whole numbers never reaches the next whole number.
        values = self._row_weights @ image @ self._column_weights / self._whole
        return bytes(values.astype(np.uint8).tobytes())


_GREY_WEIGHTS = np.array([299, 587, 114], np.uint32)
"""Thousandths of red, green and blue in grey (ITU-R BT.601)."""


def grey_frame(frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a frame with one byte per pixel: as it is, or the grey levels of red, green and blue."""
    if isinstance(frame, np.ndarray) and frame.dtype == np.uint8:
        if frame.ndim == 2:
            return frame
        if frame.ndim == 3 and frame.shape[2] == 3:
            grey: NDArray[np.uint8] = (frame @ _GREY_WEIGHTS // 1000).astype(np.uint8)
            return grey
    what = f"{frame.shape} {frame.dtype}" if isinstance(frame, np.ndarray) else type(frame).__name__
    raise EnvironmentContractError(
        "expected observations that are images, of shape (height, width) or (height, width, 3) and type "
        f"uint8, for downscaled cells, got {what}: name a cell function, or return images"
    )


class DownscaledCells(CellRepresentation):
    """Grey, area-averaged to width x height, intensities rescaled to whole numbers 0 to `levels`.

    A cell's value is `floor(levels * S / (255 * H * W))`, with S the sum of grey levels over the cell's area,
    counted in whole units of 1/(height * width) of a pixel: whole numbers all the way, so that all machines
    get the same bytes. The key has one byte per value, row by row.
    """

    def __init__(
        self, *, width: int = 11, height: int = 8, levels: int = 8, palette: Palette | None = None
    ) -> None:
        """`palette` is needed where observations are palette indices, not grey levels or colours."""
        if not (1 <= levels <= 255 and width >= 1 and height >= 1):
            raise ConfigError(
                f"expected a width and height of at least 1 and 1 to 255 levels, "
                f"got {width} x {height} x {levels}: use the paper's 11 x 8 x 8, or values in these ranges"
            )
        self._width, self._height, self._levels = width, height, levels
        self._palette: Palette = palette or GreyImage()
        self._shape: tuple[int, ...] = ()

    def reset(self, observation: NDArray[np.uint8]) -> CellKey:
        """Return the cell of the first frame."""
        return self.update(observation)

    def update(self, observation: NDArray[np.uint8]) -> CellKey:
        """Return the cell of a frame: it depends on that frame alone."""
        observation = grey_frame(observation)
        if observation.shape != self._shape:
            self._prepare(observation)
        try:
            key = self._downscaler.update(observation, self._palette.grey)
        except ValueError:  # rows that do not follow one another in memory
            key = self._downscaler.update(np.ascontiguousarray(observation), self._palette.grey)
        if key is None:  # there is a colour that was never seen before
            self._palette.learn_colours()
            return self.update(observation)
        return key

    def _prepare(self, observation: NDArray[np.uint8]) -> None:
        rows, columns = self._shape = observation.shape
        if rows < self._height or columns < self._width:
            raise ConfigError(
                f"expected frames of at least {self._width} x {self._height} pixels, got {columns} x {rows}: "
                "lower the cells' width and height"
            )
        downscaler = ReferenceDownscaler if native.cells is None else native.cells.Downscaler
        self._downscaler: Downscaler = downscaler(rows, columns, self._width, self._height, self._levels)


class RenderedCells(CellRepresentation):
    """Downscaled cells of what the environment shows to people, whatever its observation is."""

    def __init__(
        self,
        picture: Callable[[], NDArray[np.uint8] | None],
        *,
        width: int = 11,
        height: int = 8,
        levels: int = 8,
    ) -> None:
        """`picture` is the environment's method of that name."""
        self._picture = picture
        self._downscaled = DownscaledCells(width=width, height=height, levels=levels)

    def reset(self, observation: Any) -> CellKey:
        """Return the cell of the first picture."""
        return self.update(observation)

    def update(self, observation: Any) -> CellKey:
        """Return the cell of the picture of the current state."""
        picture = self._picture()
        if picture is None:
            raise ConfigError(
                "expected an environment with a picture for cells of its rendering, got None from `picture`: "
                "return rows x columns x RGB there, or choose other cells"
            )
        return self._downscaled.update(picture)
