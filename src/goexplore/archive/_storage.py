"""The archive as two Parquet files. The columns are part of the interface: docs/format.md names them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive._archive import Archive
from goexplore.archive._score_index import ScoreLength
from goexplore.archive._segments import ROOT, Branch
from goexplore.cells import CellKey, End
from goexplore.envs import Location
from goexplore.errors import CheckpointError
from goexplore.files import read_table, write_table

ARCHIVE_FILE = "archive.parquet"
SEGMENTS_FILE = "segments.parquet"
FRAMES_FILE = "frames.parquet"

CellColumns = Callable[[Sequence[CellKey]], Mapping[str, NDArray[np.generic]]]

_END_TEXTS = {end: "" if end is End.NONE else end.name.lower() for end in End}
_ENDS = {text: end for end, text in _END_TEXTS.items()}
_OPTIONAL = ("event", "objective")
"""Columns that are there only where there is something to say; cells have none of these names."""
_COUNTERS = ("times_seen", "times_chosen", "times_chosen_since_new")


def write_archive(archive: Archive, folder: Path, cell_columns: CellColumns) -> list[Path]:
    """Write an archive into a folder; equal archives give equal bytes. Return the files."""
    import pyarrow as pa

    living = archive.segments.living()
    number = np.zeros(int(living[-1]) + 1, np.int32)
    number[living] = np.arange(len(living), dtype=np.int32)
    begins, joined = archive.gather("cell")
    cells = [joined[begin:end] for begin, end in pairwise(begins.tolist())]
    ends = np.array([_END_TEXTS[end] for end in End])
    columns: dict[str, Any] = {
        "cell": _binary(begins, joined),
        "score": archive.values("score"),
        "length": archive.values("length"),
        "segment": number[archive.values("segment")],
        "offset": archive.values("offset"),
        "level": archive.values("level"),
        "room": archive.values("room"),
        **{name: archive.values(name) for name in _COUNTERS},
        "found_at_game_frame": archive.values("found_at_game_frame"),
        "end": pa.array(ends[archive.values("end")], pa.string()),
    }
    if archive.events:
        columns["event"] = pa.array(archive.values("event").tolist(), pa.string())
    objectives = archive.values("objective")
    if len(objectives):
        columns["objective"] = objectives
    for name, values in cell_columns(cells).items():
        if name not in _OPTIONAL:
            columns.setdefault(name, values)
    columns["snapshot"] = _binary(*archive.gather("snapshot"))
    parents, offsets = archive.segments.parents(living)
    segments = {
        "parent": number[parents],
        "parent_offset": offsets,
        "actions": _binary(*archive.segments.gather(living)),
    }
    files = [folder / ARCHIVE_FILE, folder / SEGMENTS_FILE]
    for file, table in zip(files, (columns, segments), strict=True):
        write_table(pa.table(table), file)
    return files


def _binary(offsets: NDArray[np.int64], data: bytes) -> Any:
    """Return byte strings that stand one after the other as a column."""
    import pyarrow as pa

    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def read_archive(
    folder: Path, *, reset_seen: bool, action_bytes: int, locations: Sequence[Location]
) -> Archive:
    """Read an archive that `write_archive` wrote."""
    import pyarrow as pa

    try:
        if type(action_bytes) is not int or action_bytes not in (1, 2):
            raise ValueError(f"{action_bytes} bytes for each action")
        entries, segments = read_table(folder / ARCHIVE_FILE), read_table(folder / SEGMENTS_FILE)
        archive = Archive(reset_seen=reset_seen, action_bytes=action_bytes)
        begins = _read_segments(archive, segments)
        _read_entries(archive, entries, begins)
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


def _read_segments(archive: Archive, table: Any) -> list[int]:
    """Return after how many actions from the initial state each segment begins."""
    size = archive.segments.action_bytes
    rows = zip(
        table["parent"].to_pylist(),
        table["parent_offset"].to_pylist(),
        table["actions"].to_pylist(),
        strict=True,
    )
    begins, lengths = [0], [0]
    for number, (parent, offset, actions) in enumerate(rows):
        if number == ROOT:
            continue
        if not 0 <= parent < number or not 0 <= offset <= lengths[parent] or len(actions) % size:
            raise ValueError(f"segment {number} begins at action {offset} of segment {parent}")
        archive.segments.add(Branch(parent, offset), actions)
        begins.append(begins[parent] + offset)
        lengths.append(len(actions) // size)
    return begins


def _read_entries(archive: Archive, table: Any, begins: Sequence[int]) -> None:
    names = ("cell", "snapshot", "score", "length", "segment", "offset", "level", "room", "end")
    found_at = table["found_at_game_frame"].to_pylist()
    there = table.column_names
    events = table["event"].to_pylist() if "event" in there else [""] * len(found_at)
    objectives = table["objective"].to_pylist() if "objective" in there else [None] * len(found_at)
    rows = zip(*(table[name].to_pylist() for name in names), strict=True)
    for row, objective, found, event in zip(rows, objectives, found_at, events, strict=True):
        cell, snapshot, score, length, segment, offset, level, room, end = row
        actions = len(archive.segments.packed_actions(segment)) // archive.segments.action_bytes
        if segment < 0 or not 0 <= offset <= actions or begins[segment] + offset != length:
            raise ValueError(f"a trajectory of {length} actions ends at action {offset} of segment {segment}")
        archive.insert(
            cell,
            snapshot,
            ScoreLength(score, length, objective),
            Branch(segment, offset),
            Location(level, room),
            found_at=found,
            end=_ENDS[end],
            event=event,
        )
    for name in _COUNTERS:
        if table[name].null_count:
            raise ValueError(f"entries without {name}")
        archive.set_counter(name, table[name].cast("int32").to_numpy())
