"""What was asked for last is kept: it may be asked for again."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Kept = TypeVar("Kept")


class Recent(Generic[Kept]):
    """A number of answers; the one that nobody has asked for longest goes first."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._kept: dict[object, Kept] = {}

    def get(self, key: object, make: Callable[[], Kept]) -> Kept:
        """Return what is kept under a key, or else what is made now."""
        with self._lock:
            found = self._kept.pop(key, None)
        if found is None:
            found = make()
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
        return found
