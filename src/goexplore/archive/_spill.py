"""Memory that is kept on the disk: what does not fit below a limit."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

from goexplore.errors import RunDirectoryError

_SMALLEST_STEP, _LARGEST_STEP = 2**20, 2**26
_PIECE = 2**24


class SpillFile:
    """A file without a name, mapped into memory.

    Pages that are not used can leave the memory at any time, because the system reads them again when they
    are needed. The file goes with the process, however it ends. Room on the disk is taken before it is
    written to: a full disk is an error here, and not a signal somewhere else.
    """

    def __init__(self, folder: Path, content: bytearray) -> None:
        """Begin with some content; the file is on the disk of a folder."""
        self._folder = folder
        self.size = 0
        """Bytes on the disk."""
        with self._clear_errors(), contextlib.ExitStack() as stack:
            self._file = stack.enter_context(tempfile.TemporaryFile(dir=folder, buffering=0))
            with memoryview(content) as view:
                for start in range(0, len(content), _PIECE):
                    self._write(view[start : start + _PIECE])
            self.memory = self._grown(1)
            weakref.finalize(self, stack.pop_all().close)

    def reserve(self, size: int) -> None:
        """Make the memory at least as large as this; what was in it stays."""
        if size > len(self.memory):
            with self._clear_errors():
                self.memory = self._grown(size - len(self.memory))

    def drop(self) -> None:
        """Let all pages leave the memory. What was written to them is the system's to bring to the disk."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self.memory.madvise(mmap.MADV_DONTNEED)

    def _grown(self, more: int) -> mmap.mmap:
        """Return the file in memory, with more room; whoever has the old memory can go on reading there."""
        step = min(max(more, self.size // 8, _SMALLEST_STEP), max(more, _LARGEST_STEP))
        step += -(self.size + step) % mmap.PAGESIZE
        try:
            os.posix_fallocate(self._file.fileno(), self.size, step)
            self.size += step
        except (AttributeError, OSError) as error:
            if isinstance(error, OSError) and error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
            for start in range(0, step, _PIECE):  # systems and disks that cannot reserve room otherwise
                self._write(bytes(min(_PIECE, step - start)))
        return mmap.mmap(self._file.fileno(), self.size)

    @contextlib.contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunDirectoryError(
                f"expected to move a part of the archive to {self._folder}, because of `memory_limit`, got "
                f"{error.strerror or error}: free space there, or raise the limit; what was saved is whole, "
                "and `resume` goes on from there"
            ) from error

    def _write(self, piece: bytes | memoryview) -> None:
        while len(piece):
            written = self._file.write(piece)
            self.size += written
            piece = piece[written:]
