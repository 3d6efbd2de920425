"""What a cell representation is: the map from states to cells (paper section 2.1.1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goexplore.envs import Location

CellKey: TypeAlias = bytes
"""The name of a cell. States with equal keys are conflated; keys are compared byte by byte."""

Neighbours: TypeAlias = Callable[[CellKey], Sequence[CellKey]]


class CellRepresentation(ABC):
    """Maps observations to cells, and may track what a single observation does not show.

    The tracked part (room, level, held keys) travels with every snapshot through `state` and `restore`.
    `reset` and `update` are required; by default nothing is tracked, and cells have no neighbours.
    """

    horizontal_neighbours: Neighbours | None = None
    """The cells to the left and right of a cell, for the neighbour weights of appendix A.5."""
    vertical_neighbours: Neighbours | None = None
    """The cells above and below a cell."""
    spot: Callable[[CellKey], bytes] | None = None
    """Which cells are compared by `rank`: those with equal spots."""
    rank: Callable[[CellKey], int] | None = None
    """What makes one of them more promising than another: the number of held keys (appendix A.5)."""
    level_of: Callable[[CellKey], int] | None = None
    """The level of a cell, for LevelWeight."""
    anomalies: int = 0
    """How many observations could not be explained; what was tracked before was kept each time."""

    @abstractmethod
    def reset(self, observation: Any) -> CellKey:
        """Return the cell of the first observation of an episode and forget what was tracked."""

    @abstractmethod
    def update(self, observation: Any) -> CellKey | None:
        """Return the cell after one more training frame, or None where the episode is lost (a death)."""

    def state(self) -> bytes:
        """Return what is tracked between observations: equal states give equal bytes."""
        return b""

    def restore(self, state: bytes) -> None:
        """Go back to the tracked state that `state` returned."""
        return

    def location(self) -> Location | None:
        """Return the tracked location, or None if this representation knows of none."""
        return None

    def areas(self, cells: Sequence[CellKey]) -> NDArray[np.int64] | None:
        """Return the part of the room's picture that each cell stands for, or None where cells have none.

        Four columns: top, bottom, left, right, in pixels of the observation, from the top of the playfield.
        """
        return None

    def columns(self, cells: Sequence[CellKey]) -> Mapping[str, NDArray[np.generic]]:
        """Return named fields of these cells, one value each, for tables: may be empty."""
        return {}
