"""Dynamic cells: downscaled frames whose resolution is found from the frames of the search itself.

This is the follow-up's answer to the question which resolution to use ("First return, then explore", Nature
2021, Methods). Every state keeps its frame as tracked state, so that an archive can get other cells without
playing anything again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from decimal import Context
from functools import cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._downscaled import DownscaledCells, grey_frame
from goexplore.cells._frames import MOST_PIXELS, pack_frame, unpack_frame
from goexplore.cells._representation import CellKey, CellRepresentation
from goexplore.envs import Palette
from goexplore.errors import SnapshotError
from goexplore.random import SplitMix64

_MOST_LEVELS = 255
_COMPARED_PIXELS = 10_000
"""Pixels up to which frames are compared as they are: half of an Atari screen's rows and columns are less."""
_LEAST_MEANS = (16, 21, 24)
"""Twice the follow-up's least means of the distributions that parameters are drawn from: 8, 10.5 and 12."""
_DECIMALS = Context(prec=30)


class Downscaling(NamedTuple):
    """The parameters of downscaled cells."""

    width: int = 11
    height: int = 8
    levels: int = 8

    def fit(self, frame: NDArray[np.uint8]) -> Downscaling:
        """Return the same, or less where a frame has fewer pixels."""
        rows, columns = frame.shape
        return Downscaling(min(self.width, columns), min(self.height, rows), self.levels)


PAPER_DOWNSCALING = Downscaling()
"""The paper's 11 x 8 x 8 (section 2.1.1): where the search for parameters begins."""


class DynamicCells(CellRepresentation):
    """Downscaled cells that can be revised: the tracked state is the frame itself, in grey levels.

    A frame of more than 60,000 pixels is averaged over squares of whole pixels first, until it is smaller.
    """

    def __init__(
        self, *, downscaling: Downscaling = PAPER_DOWNSCALING, palette: Palette | None = None
    ) -> None:
        """`palette` is needed where observations are palette indices, not grey levels or colours."""
        self.downscaling = downscaling
        self._palette = palette
        self._shape: tuple[int, ...] = ()
        self._packed: bytes | None = b""
        self._kept_cells: DownscaledCells | None = None

    def revise(self, downscaling: Downscaling) -> None:
        """Use other parameters from now on."""
        self.downscaling = downscaling
        self._shape, self._kept_cells = (), None

    def reset(self, observation: NDArray[np.uint8]) -> CellKey:
        """Return the cell of the first frame."""
        return self.update(observation)

    def update(self, observation: NDArray[np.uint8]) -> CellKey:
        """Return the cell of a frame: it depends on that frame alone."""
        frame = grey_frame(observation)
        if frame.shape != self._shape:
            self._prepare(frame)
        if self._shrinking is not None:
            frame = np.frombuffer(self._shrinking.update(frame), np.uint8).reshape(self._frame.shape)
        cell = self._cells.update(frame)
        np.copyto(self._frame, frame)  # the environment may draw the next frame into the same memory
        self._packed = None
        return cell

    def _prepare(self, frame: NDArray[np.uint8]) -> None:
        rows, columns = self._shape = frame.shape
        factor = _shrink_factor(rows, columns, MOST_PIXELS)
        palette = self._palette
        self._shrinking: DownscaledCells | None = None
        if factor > 1:
            self._shrinking = DownscaledCells(
                width=columns // factor, height=rows // factor, levels=_MOST_LEVELS, palette=palette
            )
            palette = None  # what is averaged is grey
        self._frame_palette = palette
        self._frame = np.empty((rows // factor, columns // factor), np.uint8)
        self._cells = DownscaledCells(**self.downscaling.fit(self._frame)._asdict(), palette=palette)

    def state(self) -> bytes:
        """Return the frame, packed."""
        if self._packed is None:
            palette = self._frame_palette
            frame = self._frame if palette is None else palette.grey.astype(np.uint8).take(self._frame)
            self._packed = pack_frame(frame)
        return self._packed

    def restore(self, state: bytes) -> None:
        """Go back to a frame."""
        self._packed = state

    def cell_of(self, state: bytes) -> CellKey:
        """Return the cell, with the parameters of now, of a state that `state` returned."""
        frame = self.kept_frame(state)
        if self._kept_cells is None:
            self._kept_cells = DownscaledCells(**self.downscaling.fit(frame)._asdict())
        return self._kept_cells.update(frame)

    @staticmethod
    def kept_frame(state: bytes) -> NDArray[np.uint8]:
        """Return the frame of a state that `state` returned, in grey levels."""
        try:
            return unpack_frame(state)
        except ValueError as error:
            raise SnapshotError(
                f"expected the frame of a state, for dynamic cells, got {len(state)} other bytes: resume "
                "with the version of goexplore that wrote them"
            ) from error


def _shrink_factor(rows: int, columns: int, most: int) -> int:
    """Return the side of the squares of pixels over which a frame is averaged to have at most so many."""
    factor = 1
    while (rows // factor) * (columns // factor) > most:
        factor += 1
    return factor


@cache
def _log(number: int) -> float:
    """Return a natural logarithm, correctly rounded: `math.log` may differ from machine to machine."""
    return float(_DECIMALS.create_decimal(number).ln(_DECIMALS))


def objective(counts: Iterable[int], target: float) -> float:
    """Return how good parameters are that let so many sampled frames fall into each cell.

    It is H / L: the entropy of how frames fall into n cells, as a share of the highest possible (log n), over
    the penalty `sqrt(|n / target - 1| + 1)` for more or fewer cells than `target`. A single cell is worth 0.
    All operations are correctly rounded, so that all machines get the same number.
    """
    ordered = sorted(counts)
    cells, frames = len(ordered), sum(ordered)
    if cells < 2:
        return 0.0
    entropy = _log(frames) - math.fsum(count * _log(count) for count in ordered) / frames
    return entropy / _log(cells) / math.sqrt(abs(cells / target - 1) + 1)


class _Sample:
    """Frames by which parameters are compared: each different one once, as in the follow-up.

    Frames that are seen often would make every fine division uneven. Large frames are compared at a part of
    their size, which takes a fraction of the time and hardly changes what falls together.
    """

    def __init__(self, frames: Iterable[NDArray[np.uint8]], target_share: float) -> None:
        self._frames: list[NDArray[np.uint8]] = []
        seen: set[bytes] = set()
        for frame in frames:  # one after the other: all at their whole size would take a lot of memory
            digest = blake2b(frame.tobytes(), digest_size=16).digest()
            if digest in seen:
                continue
            if not seen:
                rows, columns = frame.shape
                factor = _shrink_factor(rows, columns, _COMPARED_PIXELS)
                self.rows, self.columns = rows // factor, columns // factor
                shrink = DownscaledCells(width=self.columns, height=self.rows, levels=_MOST_LEVELS)
            seen.add(digest)
            shrunk = np.frombuffer(shrink.update(frame), np.uint8)
            self._frames.append(shrunk.reshape(self.rows, self.columns))
        self._target = max(1.0, target_share * len(self._frames))
        self._known: dict[Downscaling, float] = {}

    def objective(self, parameters: Downscaling, best: float) -> float:
        """Return the objective of parameters, or 0 where it is certain not to exceed `best`."""
        if parameters not in self._known:
            self._known[parameters] = self._compute(parameters, best)
        return self._known[parameters]

    def _compute(self, parameters: Downscaling, best: float) -> float:
        cells = DownscaledCells(**parameters._asdict())
        most = math.inf if best <= 0 else self._target / best**2
        counts: Counter[CellKey] = Counter()
        for frame in self._frames:
            counts[cells.update(frame)] += 1
            if len(counts) > most + 1:  # the penalty alone keeps it below: the entropy's share is at most 1
                return 0.0
        return objective(counts.values(), self._target)


def choose_downscaling(
    frames: Iterable[NDArray[np.uint8]],
    *,
    start: Downscaling,
    target_share: float,
    draws: int,
    random: SplitMix64,
) -> Downscaling:
    """Return the parameters with the highest objective among `start`, the paper's, and random ones.

    There has to be at least one of the `frames`, which are of one size.

    Each parameter is drawn from a geometric distribution whose mean is the best value so far, or the
    follow-up's least mean where that is more: two cells of equal share are a local optimum (0.71 of 1) that
    draws around it would never leave.
    """
    sample = _Sample(frames, target_share)
    best = Downscaling(min(start.width, sample.columns), min(start.height, sample.rows), start.levels)
    highest = sample.objective(best, 0.0)
    paper = Downscaling(
        min(PAPER_DOWNSCALING.width, sample.columns),
        min(PAPER_DOWNSCALING.height, sample.rows),
        PAPER_DOWNSCALING.levels,
    )
    for draw in range(draws + 1):
        parameters = paper
        if draw > 0:
            parameters = Downscaling(
                _geometric(max(2 * best.width, _LEAST_MEANS[0]), sample.columns, random),
                _geometric(max(2 * best.height, _LEAST_MEANS[1]), sample.rows, random),
                _geometric(max(2 * best.levels, _LEAST_MEANS[2]), _MOST_LEVELS, random),
            )
        value = sample.objective(parameters, highest)
        if value > highest:
            best, highest = parameters, value
    return best


def _geometric(doubled_mean: int, most: int, random: SplitMix64) -> int:
    """Return a whole number of 1 or more from a geometric distribution, drawn again if it is above `most`."""
    while True:
        number = 1
        while number <= most and random.index(doubled_mean) >= 2:
            number += 1
        if number <= most:
            return number
