"""The archive as two Parquet files. The columns are part of the interface: docs/format.md names them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goexplore.archive._archive import Archive
from goexplore.archive._loading import COUNTERS, SegmentReader, read_entries
from goexplore.archive._memory_limit import MemoryLimit
from goexplore.cells import CellKey, End
from goexplore.envs import Location
from goexplore.errors import CheckpointError
from goexplore.files import DifferentTablesError, read_batches, read_table, write_table, write_tables

ARCHIVE_FILE = "archive.parquet"
SEGMENTS_FILE = "segments.parquet"
FRAMES_FILE = "frames.parquet"

ROWS_OF_A_GROUP = 2**15
"""Rows that are made ready for a file at once: with 600 bytes each, they take 20 MB."""

Columns: TypeAlias = Mapping[str, NDArray[np.generic]]
CellColumns: TypeAlias = Callable[[Sequence[CellKey]], Columns]

_END_TEXTS = {end: "" if end is End.NONE else end.name.lower() for end in End}
_ENDS = {text: end for end, text in _END_TEXTS.items()}
_OPTIONAL = ("event", "objective")
"""Columns that are there only where there is something to say; cells have none of these names."""
_FEW_VALUES = ["score", "level", "room", "end", "event"]
"""Columns in which values repeat: of these, each value is written once."""


def write_archive(archive: Archive, folder: Path, cell_columns: CellColumns) -> list[Path]:
    """Write an archive into a folder; equal archives give equal bytes. Return the files.

    Rows are written in groups, so that what is made ready for the file never takes much memory.
    """
    order = archive.segments.order()

    def entries(whole: Columns | None = None) -> Iterator[Any]:
        for rows in _groups(archive, len(archive)):
            if whole is None:
                of_cells = cell_columns(_cells(archive, rows))
            else:
                of_cells = {name: values[rows] for name, values in whole.items()}
            yield _entries_table(archive, rows, order, of_cells)

    def segments() -> Iterator[Any]:
        return (_segments_table(archive, rows, order) for rows in _groups(archive, len(archive.segments)))

    files = [folder / ARCHIVE_FILE, folder / SEGMENTS_FILE]
    try:
        write_tables(entries, files[0], use_dictionary=_FEW_VALUES)
    except DifferentTablesError:  # values of cells whose type, or even number, is a matter of all of them
        whole = cell_columns(_cells(archive, slice(None)))
        write_tables(lambda: entries(whole), files[0], use_dictionary=_FEW_VALUES)
    write_tables(segments, files[1], use_dictionary=["parent_offset"])
    return files


def _groups(archive: Archive, count: int) -> Iterator[slice]:
    """Yield the rows of each group; before each, what is on the disk already leaves the memory if it has to.

    Nothing more moves there: the disk may be what is full, and the archive has to be saved all the same.
    """
    for start in range(0, max(count, 1), ROWS_OF_A_GROUP):
        archive.relieve(while_read=True)
        yield slice(start, min(start + ROWS_OF_A_GROUP, count))


def _cells(archive: Archive, rows: slice) -> list[CellKey]:
    begins, joined = archive.gather("cell", rows)
    return [joined[begin:end] for begin, end in pairwise(begins.tolist())]


def _entries_table(archive: Archive, rows: slice, order: NDArray[np.int32], of_cells: Columns) -> Any:
    import pyarrow as pa

    ends = pa.array([_END_TEXTS[end] for end in End], pa.string())
    columns: dict[str, Any] = {
        "cell": _binary(*archive.gather("cell", rows)),
        "score": archive.values("score", rows),
        "length": archive.values("length", rows),
        "segment": order[archive.values("segment", rows)],
        "offset": archive.values("offset", rows),
        "level": archive.values("level", rows),
        "room": archive.values("room", rows),
        **{name: archive.values(name, rows) for name in COUNTERS},
        "found_at_game_frame": archive.values("found_at_game_frame", rows),
        "end": ends.take(pa.array(archive.values("end", rows))),
    }
    if archive.events:
        columns["event"] = pa.array(archive.values("event", rows).tolist(), pa.string())
    objectives = archive.values("objective", rows)
    if len(objectives):
        columns["objective"] = objectives
    for name, values in of_cells.items():
        if name not in _OPTIONAL:
            columns.setdefault(name, values)
    columns["snapshot"] = _binary(*archive.gather("snapshot", rows))
    return pa.table(columns)


def _segments_table(archive: Archive, rows: slice, order: NDArray[np.int32]) -> Any:
    import pyarrow as pa

    first, last = np.searchsorted(order, (rows.start, rows.stop - 1)).tolist()
    living = archive.segments.living(slice(first, last + 1))
    parents, offsets = archive.segments.parents(living)
    return pa.table(
        {
            "parent": order[parents],
            "parent_offset": offsets,
            "actions": _binary(*archive.segments.gather(living)),
        }
    )


def _binary(offsets: NDArray[np.int64], data: bytes) -> Any:
    """Return byte strings that stand one after the other as a column."""
    import pyarrow as pa

    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def read_archive(
    folder: Path,
    *,
    reset_seen: bool,
    action_bytes: int,
    locations: Sequence[Location],
    memory_limit: MemoryLimit | None = None,
) -> Archive:
    """Read an archive that `write_archive` wrote."""
    import pyarrow as pa

    try:
        if type(action_bytes) is not int or action_bytes not in (1, 2):
            raise ValueError(f"{action_bytes} bytes for each action")
        archive = Archive(reset_seen=reset_seen, action_bytes=action_bytes, memory_limit=memory_limit)
        segments = SegmentReader(archive)
        segments.read(read_batches(folder / SEGMENTS_FILE))
        read_entries(archive, read_batches(folder / ARCHIVE_FILE), segments, _ENDS)
    except (pa.ArrowException, OSError, LookupError, ValueError, TypeError, OverflowError) as error:
        raise CheckpointError(
            f"expected an archive in {folder}, got files that cannot be read ({error}): "
            "use an earlier checkpoint"
        ) from error
    archive.locations.update(locations)
    return archive


def write_frames(frames: Sequence[bytes], folder: Path) -> Path:
    """Write the packed frames that revisions of dynamic cells go by, the oldest first; return the file."""
    import pyarrow as pa

    file = folder / FRAMES_FILE
    write_table(pa.table({"frame": pa.array(frames, pa.large_binary())}), file)
    return file


def read_frames(folder: Path) -> tuple[bytes, ...]:
    """Read the frames that `write_frames` wrote."""
    import pyarrow as pa

    try:
        return tuple(read_table(folder / FRAMES_FILE)["frame"].to_pylist())
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise CheckpointError(
            f"expected frames in {folder}, got a file that cannot be read ({error}): use an earlier "
            "checkpoint"
        ) from error
