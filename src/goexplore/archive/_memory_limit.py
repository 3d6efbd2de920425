"""A limit on the memory of a search: when it nears, an archive's byte strings leave for the disk."""

from __future__ import annotations

import contextlib
import ctypes
import re
import resource
from collections.abc import Callable, Iterable
from pathlib import Path
from time import perf_counter

from goexplore.archive._byte_store import ByteStore
from goexplore.errors import ConfigError, MemoryLimitError, require_whole

LEAST = 2**26
"""Bytes below which no search runs, however small."""
_NEAR = 0.9
"""Share of the limit from which on something leaves the memory."""
_STEP = 0.02
"""Share of the limit by which the memory has to grow before that is tried again."""
_SCALES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_size(size: int | str, name: str = "memory_limit") -> int:
    """Return the bytes that a number, or a text such as 2G, 500M or 1.5G means; 1K is 1,024 bytes."""
    if isinstance(size, str):
        match = re.fullmatch(r"(\d[\d_]{0,15}(?:\.\d+)?)([KMGT]?)(?:i?B)?", size.strip(), re.IGNORECASE)
        if match is None:
            raise ConfigError(f"expected `{name}` to be a size such as 2G, 500M or 1.5G, got {size[:40]!r}")
        size = int(float(match[1].replace("_", "")) * _SCALES[match[2].upper()])
    require_whole(name, size, LEAST)
    return int(size)


def size_text(size: float) -> str:
    """Return a size for people, such as 1.50 GiB."""
    return f"{size / 2**30:,.2f} GiB" if size >= 2**30 else f"{size / 2**20:,.0f} MiB"


class MemoryLimit:
    """Keeps the resident memory below a limit.

    The first time that it nears, the byte strings of an archive move to files; after that, their pages are
    dropped from the memory. Columns, indices and the selection's tree stay: they are needed all the time.
    """

    def __init__(self, limit: int | str, *, folder: Path, resident: Callable[[], int]) -> None:
        """`folder` is on the disk that is used; `resident` returns the bytes that count, in microseconds."""
        self.bytes = parse_size(limit)
        self.seconds = 0.0
        """What it has cost: the time in which strings were moved and pages dropped."""
        self.resident = resident
        self._folder = folder
        self._next = _NEAR * self.bytes
        self._first_reads = _reads()

    @property
    def page_reads(self) -> int:
        """How often something had to wait for the disk because a page was not in memory."""
        return _reads() - self._first_reads

    def relieve(self, stores: Iterable[ByteStore], *, while_read: bool = False) -> None:
        """Let strings leave the memory if the limit is near.

        While somebody reads them, only those that are in files already do.
        """
        if self.resident() < self._next:
            return
        began = perf_counter()
        for store in stores:
            if store.spilled or not while_read:
                store.spill(self._folder)
        if not while_read:
            if self.resident() >= _NEAR * self.bytes:
                _return_free_memory()
            self._next = min(max(_NEAR * self.bytes, self.resident() + _STEP * self.bytes), self.bytes)
        self.seconds += perf_counter() - began

    def require(self, cells: int) -> None:
        """Refuse to go on where even what cannot leave the memory takes more."""
        taken = self.resident()
        if taken > self.bytes:
            what = f"for {cells:,} cells" if cells else "before the search begins"
            raise MemoryLimitError(
                f"expected to stay below the `memory_limit` of {size_text(self.bytes)}, got "
                f"{size_text(taken)} that have to be in memory {what}: raise the limit to at least "
                f"{size_text(1.25 * taken)}, or use fewer `workers`; what was saved before is whole, and "
                "`resume` goes on from there"
            )


def _reads() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_majflt


def _return_free_memory() -> None:
    """Give memory that was freed back to the system, where its libraries keep some for later."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # other C libraries than GNU's have no such function
        ctypes.CDLL(None).malloc_trim(0)
