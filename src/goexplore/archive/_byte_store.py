"""Millions of small byte strings in one buffer."""

from __future__ import annotations

import struct
from itertools import accumulate
from mmap import mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goexplore import _native as native
from goexplore.archive._spill import SpillFile
from goexplore.errors import MemoryLimitError

_UNIT = 16
_PREFIX = 4
_MOST = _UNIT * 2**31
"""Bytes: handles are numbers of units, with 31 bits."""


class ByteStore:
    """Keeps byte strings; each costs its length, 4 bytes, and padding to 16.

    Python's own bytes objects cost 41 bytes more each, which is a quarter of an archive's memory. Freed slots
    are used again for strings that need as many units, so nothing has to be moved or compacted.

    The buffer is in memory until `spill` moves it to a file.
    """

    def __init__(self) -> None:
        self._memory = bytearray()
        self._file: SpillFile | None = None
        self._used = 0
        self._free: dict[int, list[int]] = {}

    @property
    def _data(self) -> bytearray | mmap:
        return self._memory if self._file is None else self._file.memory

    def put(self, value: bytes) -> int:
        """Store a string and return its handle."""
        units = _units(len(value))
        record = struct.pack(f"<I{units * _UNIT - _PREFIX}s", len(value), value)
        free = self._free.get(units)
        if free:
            handle = free.pop()
        else:
            self.reserve(len(record))
            handle = self._used // _UNIT
            self._used += len(record)
        self._data[handle * _UNIT : (handle + units) * _UNIT] = record  # a bytearray grows at its end
        return handle

    def put_all(self, offsets: NDArray[np.int64], strings: bytes | memoryview) -> NDArray[np.int32]:
        """Store strings that stand one after the other, and begin at these offsets; return their handles.

        It is for stores that nothing was discarded from: freed slots are not used.
        """
        units = -(-(np.diff(offsets) + _PREFIX) // _UNIT)
        ends = self._used // _UNIT + np.cumsum(units)
        more = int(units.sum()) * _UNIT
        self.reserve(more)
        if native.archive is not None:
            if self._file is None:
                self._memory.extend(bytes(more))
            self._used = native.archive.put(self._data, self._used, np.ascontiguousarray(offsets), strings)
        else:
            for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
                record = (end - begin).to_bytes(_PREFIX, "little") + strings[begin:end]
                record = record.ljust(_units(end - begin) * _UNIT, b"\0")
                self._data[self._used : self._used + len(record)] = record
                self._used += len(record)
        handles: NDArray[np.int32] = (ends - units).astype(np.int32)
        return handles

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

    def memory(self) -> bytearray | mmap:
        """Return all strings as they are stored, for readers in C. Not to be changed."""
        return self._data

    def discard(self, handle: int) -> None:
        """Forget the string behind a handle; the handle may be given out again."""
        self._free.setdefault(_units(self._length(handle)), []).append(handle)

    def reserve(self, more: int) -> None:
        """Make sure of room for so many bytes more: in a file it may be refused, and nothing has changed."""
        if self._used + more > _MOST:
            raise MemoryLimitError(
                f"expected an archive of at most {_MOST:,} bytes of snapshots, cells or actions, got more: "
                "begin a new run with coarser cells"
            )
        if self._file is not None:
            self._file.reserve(self._used + more)

    def spill(self, folder: Path) -> None:
        """Let the strings leave the memory: for a file on the disk of a folder, of which pages come back.

        A full disk is an error, and changes nothing.
        """
        if self._file is None:
            self._file = SpillFile(folder, self._memory)
            self._memory = bytearray()
        else:
            self._file.drop()

    @property
    def spilled(self) -> int:
        """Bytes of the file; 0 while all is in memory."""
        return 0 if self._file is None else self._file.size

    def _length(self, handle: int) -> int:
        start = handle * _UNIT
        return int.from_bytes(self._data[start : start + _PREFIX], "little")


def space_for(length: int) -> int:
    """Return how many bytes a string of this length takes."""
    return _units(length) * _UNIT


def _units(length: int) -> int:
    return -(-(length + _PREFIX) // _UNIT)
