"""What a batch changed in the archive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Update:
    """What one batch changed in the archive."""

    def __init__(
        self,
        *,
        added: range,
        improved: set[int] | None = None,
        touched: set[int] | NDArray[np.int32] | None = None,
    ) -> None:
        """`touched` is a set, or an array of different entries in rising order."""
        self.added = added
        """Entries of new cells."""
        self.improved: set[int] = set() if improved is None else improved
        """Entries that got a better trajectory."""
        self._touched: set[int] | NDArray[np.int32] = set() if touched is None else touched

    @property
    def touched(self) -> set[int]:
        """Entries of which anything changed: the added and improved ones, and those whose counters moved."""
        if not isinstance(self._touched, set):
            self._touched = set(self._touched.tolist())
        return self._touched

    def touched_entries(self) -> NDArray[np.int64]:
        """Return the touched entries as an array, in rising order."""
        if isinstance(self._touched, set):
            return np.fromiter(sorted(self._touched), np.int64, len(self._touched))
        return self._touched.astype(np.int64)
