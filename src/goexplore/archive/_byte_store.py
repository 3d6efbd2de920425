"""Millions of small byte strings in one buffer."""

import struct
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from goexplore import _native as native

_UNIT = 16
_PREFIX = 4


class ByteStore:
    """Keeps byte strings; each costs its length, 4 bytes, and padding to 16.

    Python's own bytes objects cost 41 bytes more each, which is a quarter of an archive's memory. Freed slots
    are used again for strings that need as many units, so nothing has to be moved or compacted.
    """

    def __init__(self) -> None:
        self._data = bytearray()
        self._free: dict[int, list[int]] = {}

    def put(self, value: bytes) -> int:
        """Store a string and return its handle."""
        units = _units(len(value))
        record = struct.pack(f"<I{units * _UNIT - _PREFIX}s", len(value), value)
        free = self._free.get(units)
        if free:
            handle = free.pop()
            self._data[handle * _UNIT : (handle + units) * _UNIT] = record
        else:
            handle = len(self._data) // _UNIT
            self._data += record
        return handle

    def get(self, handle: int) -> bytes:
        """Return the string behind a handle."""
        start = handle * _UNIT + _PREFIX
        return bytes(self._data[start : start + self._length(handle)])

    def gather(self, handles: NDArray[np.int32]) -> tuple[NDArray[np.int64], bytes]:
        """Return the strings behind handles, one after the other, and where each begins and the last ends."""
        if native.archive is not None:
            offsets, strings = native.archive.gather(self._data, np.ascontiguousarray(handles))
            return np.frombuffer(offsets, np.int64), strings
        each = [self.get(handle) for handle in handles.tolist()]
        return np.fromiter(accumulate(map(len, each), initial=0), np.int64, len(each) + 1), b"".join(each)

    def memory(self) -> bytearray:
        """Return all strings as they are stored, for readers in C. Not to be changed."""
        return self._data

    def discard(self, handle: int) -> None:
        """Forget the string behind a handle; the handle may be given out again."""
        self._free.setdefault(_units(self._length(handle)), []).append(handle)

    def _length(self, handle: int) -> int:
        start = handle * _UNIT
        return int.from_bytes(self._data[start : start + _PREFIX], "little")


def _units(length: int) -> int:
    return -(-(length + _PREFIX) // _UNIT)
