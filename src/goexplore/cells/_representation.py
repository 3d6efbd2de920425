"""What a cell representation is: the map from states to cells (paper section 2.1.1)."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goexplore.envs import Place

CellKey: TypeAlias = bytes
"""The name of a cell. States with equal keys are conflated; keys are compared byte by byte."""


class CellRepresentation(Protocol):
    """Maps observations to cells, and may track what a single observation does not show.

    The tracked part (room, level, held keys) travels with every snapshot through `state` and `restore`.
    Inherit from this class to get the defaults: nothing tracked.
    """

    def reset(self, observation: Any) -> CellKey:
        """Return the cell of the first observation of an episode and forget what was tracked."""
        ...

    def update(self, observation: Any) -> CellKey | None:
        """Return the cell after one more training frame, or None where the episode is lost (a death)."""
        ...

    def state(self) -> bytes:
        """Return what is tracked between observations: equal states give equal bytes."""
        return b""

    def restore(self, state: bytes) -> None:
        """Go back to the tracked state that `state` returned."""
        return

    def place(self) -> Place | None:
        """Return the tracked place, or None if this representation knows of none."""
        return None

    def areas(self, cells: Sequence[CellKey]) -> NDArray[np.int64] | None:
        """Return the part of the room's picture that each cell stands for, or None where cells have no place.

        Four columns: top, bottom, left, right, in pixels of the observation, from the top of the playfield.
        """
        return None

    def columns(self, cells: Sequence[CellKey]) -> Mapping[str, NDArray[np.generic]]:
        """Return named fields of these cells, one value each, for tables: may be empty."""
        return {}
