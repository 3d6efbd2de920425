"""One checkpoint of a search as columns: read fast, sent as arrays, filtered by conditions."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from threading import RLock
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from goexplore.archive import ARCHIVE_FILE, SEGMENTS_FILE, Actions, select, unpack_actions
from goexplore.errors import CheckpointError, ConfigError
from goexplore.exploration import Revision, Status
from goexplore.files import as_record, open_parquet, open_to_read, parse_table
from goexplore.runs import SavedFiles
from goexplore.serve._forest import Forest

Array = NDArray[np.generic]

_HIDDEN = ("snapshot", "segment", "offset")
"""Columns that say nothing to people; `goexplore cells` leaves them out too."""
_NUMBERS = (
    "score",
    "length",
    "segment",
    "offset",
    "level",
    "room",
    "times_seen",
    "found_at_game_frame",
)
_NEEDED = (*_NUMBERS, "cell", "end")
_MOST_TEXTS = 256
"""Different texts of a column that can be coloured by."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """Numbers to colour and to place cells by: one for each entry."""

    name: str
    values: Array
    """Little-endian, of a type that browsers have."""
    texts: tuple[str, ...] | None = None
    """What the numbers stand for, where they are numbers of texts."""

    def about(self) -> dict[str, Any]:
        """Return what a page has to know to read the array."""
        finite = self.values[np.isfinite(self.values)] if self.values.dtype.kind == "f" else self.values
        return {
            "name": self.name,
            "type": self.values.dtype.str.lstrip("<|"),
            "low": float(finite.min()) if len(finite) else 0.0,
            "high": float(finite.max()) if len(finite) else 0.0,
            "texts": self.texts,
        }


class Table:
    """The entries of one checkpoint. The files stay open: the search may delete them meanwhile."""

    def __init__(self, saved: SavedFiles) -> None:
        """Read everything but snapshots and actions; raise CheckpointError for files that are not right."""
        self.version = f"{saved.folder.name}-{saved.sha256.get(ARCHIVE_FILE, '')[:12]}"
        self.folder = saved.folder
        self._lock = RLock()
        self._open: list[BinaryIO] = []
        try:
            self.status = as_record(Status, saved.content["status"])
            self.revisions = as_record(tuple[Revision, ...], saved.content.get("revisions", ()))
            self.action_bytes = as_record(int, saved.content["action_bytes"])
            self.locations = as_record(tuple[tuple[int, int], ...], saved.content["locations"])
            self._entries_file, self._segments_file = (
                self._opened(saved.folder / name) for name in (ARCHIVE_FILE, SEGMENTS_FILE)
            )
            self._entries = _without(self._entries_file, "snapshot")
            missing = [name for name in _NEEDED if name not in self._entries.column_names]
            if missing or any(column.null_count for column in self._entries.columns):
                raise ValueError(f"columns that are missing or have gaps: {', '.join(missing) or 'some'}")
            for name in _NUMBERS:
                _numbers(self._entries[name])
            segments = _without(self._segments_file, "actions")
            self.forest = Forest(
                parents=_numbers(segments["parent"]).astype(np.int64),
                parent_offsets=_numbers(segments["parent_offset"]).astype(np.int64),
                entry_segments=_numbers(self._entries["segment"]).astype(np.int64),
                entry_offsets=_numbers(self._entries["offset"]).astype(np.int64),
            )
        except (pa.ArrowException, OSError, LookupError, ValueError, TypeError, OverflowError) as error:
            self.close()
            raise CheckpointError(
                f"expected an archive in {saved.folder}, got files that cannot be read ({error}): "
                "use an earlier checkpoint"
            ) from error

    def _opened(self, path: Any) -> BinaryIO:
        self._open.append(open_to_read(path))
        return self._open[-1]

    def close(self) -> None:
        """Let go of the files."""
        with self._lock:
            for file in self._open:
                file.close()

    def copy_to(self, folder: Path) -> None:
        """Write its files into a folder, also when the search has deleted them."""
        with self._lock:
            for file, name in ((self._entries_file, ARCHIVE_FILE), (self._segments_file, SEGMENTS_FILE)):
                _rewind(file)
                with (folder / name).open("wb") as copied:
                    shutil.copyfileobj(file, copied)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, name: str) -> Array:
        """Return a column of numbers as it is in the file."""
        return _numbers(self._entries[name])

    @cached_property
    def columns(self) -> dict[str, Column]:
        """What cells can be coloured and placed by."""
        found = {}
        for name in self._entries.column_names:
            if name not in (*_HIDDEN, "cell"):
                column = _column(name, self._entries[name])
                if column is not None:
                    found[name] = column
        return found

    @cached_property
    def cells(self) -> list[bytes]:
        """The cell of each entry."""
        cells: list[bytes] = self._entries["cell"].to_pylist()
        return cells

    @cached_property
    def explorable(self) -> NDArray[np.bool_]:
        """Which entries are neither ends nor events."""
        return ~(self.ended | self._has_text("event"))

    @cached_property
    def ended(self) -> NDArray[np.bool_]:
        """Which entries are ends of episodes, and no events."""
        return self._has_text("end") & ~self._has_text("event")

    def _has_text(self, name: str) -> NDArray[np.bool_]:
        if name not in self._entries.column_names:
            return np.zeros(len(self), np.bool_)
        return np.asarray(pc.not_equal(self._entries[name], "").to_numpy(), np.bool_)

    @cached_property
    def entry_of(self) -> dict[bytes, int]:
        """The entry of each cell that can be explored from."""
        free = self.explorable.tolist()
        return {cell: entry for entry, cell in enumerate(self.cells) if free[entry]}

    def row(self, entry: int) -> dict[str, Any]:
        """Return everything that the table says of an entry; raise ConfigError for one that is not there."""
        if not 0 <= entry < len(self):
            raise ConfigError(f"expected an entry from 0 to {len(self) - 1}, got {entry}")
        (row,) = self._entries.slice(entry, 1).to_pylist()
        return {**row, "cell": f"0x{row['cell'].hex()}"}

    def is_fatal(self, entry: int) -> bool:
        """Return whether the last action has no result: it crashed, hung or raised an exception."""
        return str(self._entries["end"][entry]) in ("crashed", "hung", "raised")

    def actions(self, entry: int) -> Actions:
        """Return the actions to an entry, without a last one that has no result."""
        found = self._trajectory(entry)
        return found[:-1] if self.is_fatal(entry) else found

    def last_action(self, entry: int) -> int:
        """Return the last action to an entry, even if it has no result."""
        return self._trajectory(entry)[-1]

    def _trajectory(self, entry: int) -> Actions:
        chain = self.forest.chain(entry)
        with self._lock:
            packed = [
                self._actions[segment].as_py()[: offset * self.action_bytes] for segment, offset in chain
            ]
        return unpack_actions(b"".join(packed), self.action_bytes)

    def snapshots(self, entries: Sequence[int]) -> list[bytes]:
        """Return the snapshots of some entries."""
        with self._lock:
            return [self._snapshots[entry].as_py() for entry in entries]

    @cached_property
    def _actions(self) -> Any:
        return _only(self._segments_file, "actions")

    @cached_property
    def _snapshots(self) -> Any:
        return _only(self._entries_file, "snapshot")

    @cached_property
    def _searchable(self) -> pa.Table:
        """The columns that conditions may name: those of `goexplore cells`."""
        names = [name for name in self._entries.column_names if name not in _HIDDEN]
        table = self._entries.select(names)
        at = names.index("cell")
        table = table.set_column(at, "cell", pa.array([f"0x{cell.hex()}" for cell in self.cells]))
        return table.add_column(0, "entry", pa.array(np.arange(len(self))))

    def matching(self, condition: str) -> NDArray[np.bool_]:
        """Return which entries a condition is true of; raise ConfigError for one that is none."""
        try:
            with self._lock:
                found = select(self._searchable, condition, sort=None, descending=False)
        except ConfigError as error:
            raise _plainer(error, condition) from error
        mask = np.zeros(len(self), np.bool_)
        mask[found["entry"].to_numpy()] = True
        return mask

    @property
    def column_names(self) -> list[str]:
        """The names that conditions may use."""
        return ["entry", *(name for name in self._entries.column_names if name not in _HIDDEN)]


def _without(file: BinaryIO, name: str) -> Any:
    """Read a table without one large column."""
    data = BytesIO(file.read())
    names = open_parquet(data).schema_arrow.names
    return parse_table(data, [each for each in names if each != name])


def _only(file: BinaryIO, name: str) -> Any:
    _rewind(file)
    return parse_table(BytesIO(file.read()), [name])[name].combine_chunks()


def _rewind(file: BinaryIO) -> None:
    if file.closed:
        raise CheckpointError("expected a checkpoint that is still kept, got one that is not: reload")
    file.seek(0)


def _plainer(error: ConfigError, condition: str) -> ConfigError:
    """Return what is wrong with a condition, without the words of the libraries that read it."""
    if isinstance(error.__cause__, pa.ArrowException):
        return ConfigError(f"expected numbers compared with numbers and texts with texts, got {condition!r}")
    if isinstance(error.__cause__, SyntaxError | ValueError | RecursionError):
        return ConfigError(f"expected a condition such as `score > 100 and length < 500`, got {condition!r}")
    return error


def _numbers(column: Any) -> Array:
    values: Array = column.to_numpy()
    if values.dtype.kind not in "iufb":
        raise ValueError(f"{values.dtype} instead of numbers")
    return values


def _column(name: str, column: Any) -> Column | None:
    """Return a column as numbers that browsers can read, or None where it has too many texts."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        encoded = column.combine_chunks().dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        if len(texts) > _MOST_TEXTS:
            return None
        return Column(name=name, values=np.asarray(encoded.indices, "<i4"), texts=tuple(texts))
    if not (
        pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or column.type == pa.bool_()
    ):
        return None
    values: Array = column.to_numpy()
    if values.dtype.kind == "b":
        return Column(name=name, values=values.astype(np.uint8))
    small = values.dtype.kind in "iu" and (
        not len(values) or (values.min() >= -(2**31) and values.max() < 2**31)
    )
    kind = ("<i2" if values.dtype == np.int16 else "<i4") if small else "<f8"
    return Column(name=name, values=values.astype(kind))


def pack_change(old: Array, new: Array) -> bytes:
    """Return what turns an older array of a column into a newer one, which is as long or longer.

    Three numbers of four bytes: entries before, entries now, entries that changed; then the numbers of those
    that changed, padded to whole eight bytes; then their values and those of the entries that were added.
    """
    before = len(old)
    changed = np.flatnonzero(old != new[:before]).astype("<u4")
    head = struct.pack("<4I", before, len(new), len(changed), 0)
    numbers = changed.tobytes()
    padding = b"\0" * (-len(numbers) % 8)
    return b"".join([head, numbers, padding, new[changed].tobytes(), new[before:].tobytes()])
