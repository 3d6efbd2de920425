"""Tables of a checkpoint as an archive, a batch of rows at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive._archive import Archive
from goexplore.archive._score_index import END, cell_digest, cell_digests, event_tag
from goexplore.archive._segments import ROOT
from goexplore.cells import End

_INTEGERS: dict[str, type[np.integer[Any]]] = {
    "length": np.int32,
    "segment": np.int32,
    "offset": np.uint16,
    "level": np.int16,
    "room": np.int16,
    "times_seen": np.int32,
    "times_chosen": np.int32,
    "times_chosen_since_new": np.int32,
    "found_at_game_frame": np.int64,
}
COUNTERS = ("times_seen", "times_chosen", "times_chosen_since_new")
_MOST_COUNTED = 2**31 - 2**28


class SegmentReader:
    """Reads segments, and knows where each begins and how long it is."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._begins, self._lengths = array("q"), array("i")

    def read(self, batches: Iterable[Any]) -> None:
        """Take in all segments; the first one is the root, which the archive has."""
        for batch in batches:
            first = len(self._begins)
            parents = _integers(batch, "parent", np.int32)
            offsets = _integers(batch, "parent_offset", np.uint16)
            begins, actions = _strings(batch, "actions")
            self._place(first, parents, offsets, np.diff(begins))
            skipped = 1 if first == ROOT else 0
            self._archive.segments.extend(parents[skipped:], offsets[skipped:], begins[skipped:], actions)
            self._archive.require_memory()

    def _place(
        self, first: int, parents: NDArray[np.int32], offsets: NDArray[np.uint16], sizes: NDArray[np.int64]
    ) -> None:
        size = self._archive.segments.action_bytes
        begins, lengths = self._begins, self._lengths
        rows = zip(parents.tolist(), offsets.tolist(), sizes.tolist(), strict=True)
        for number, (parent, offset, taken) in enumerate(rows, first):
            if number == ROOT:
                begins.append(0)
                lengths.append(0)
                continue
            if not 0 <= parent < number or offset > lengths[parent] or taken % size:
                raise ValueError(f"segment {number} begins at action {offset} of segment {parent}")
            begins.append(begins[parent] + offset)
            lengths.append(taken // size)

    def require_end(
        self, segments: NDArray[np.int32], offsets: NDArray[np.uint16], lengths: NDArray[np.int32]
    ) -> None:
        """Refuse trajectories that are longer or shorter than they claim to be."""
        here = np.clip(segments, 0, len(self._begins) - 1)
        begins, sizes = (
            np.frombuffer(self._begins, np.int64)[here],
            np.frombuffer(self._lengths, np.int32)[here],
        )
        wrong = (here != segments) | (offsets > sizes) | (begins + offsets != lengths)
        if wrong.any():
            at = int(wrong.argmax())
            end = f"action {offsets[at]} of segment {segments[at]}"
            raise ValueError(f"a trajectory of {lengths[at]} actions ends at {end}")


def read_entries(
    archive: Archive, batches: Iterable[Any], segments: SegmentReader, ends: Mapping[str, End]
) -> None:
    """Take in all entries; their segments are there."""
    for batch in batches:
        columns: dict[str, NDArray[Any]] = {
            name: _integers(batch, name, kind) for name, kind in _INTEGERS.items()
        }
        _require_counts(columns)
        columns["score"] = _floats(batch, "score")
        if not np.isfinite(columns["score"]).all():
            raise ValueError("scores that are not finite")
        columns["end"] = _end_codes(batch, ends)
        segments.require_end(columns["segment"], columns["offset"], columns["length"])
        cells = _strings(batch, "cell")
        events = _texts(batch, "event") if "event" in batch.schema.names else None
        archive.extend(
            _digests(cells, columns["end"], events),
            columns,
            {"cell": cells, "snapshot": _strings(batch, "snapshot")},
            events,
            _floats(batch, "objective") if "objective" in batch.schema.names else None,
        )
        archive.require_memory()
    if len(archive):
        archive.find_best()


def _require_counts(columns: Mapping[str, NDArray[Any]]) -> None:
    """Refuse counts that are negative, or so high that a search could not go on counting."""
    for name in COUNTERS:
        wrong = (columns[name] < 0) | (columns[name] >= _MOST_COUNTED)
        if wrong.any():
            raise ValueError(f"{name} {columns[name][wrong.argmax()]}, which is no count")


def _digests(
    cells: tuple[NDArray[np.int64], memoryview], ends: NDArray[np.uint8], events: list[str] | None
) -> NDArray[np.uint64]:
    found = cell_digests(*cells)
    tagged = np.flatnonzero(ends).tolist()
    if events is not None:
        tagged = sorted({*tagged, *(at for at, event in enumerate(events) if event)})
    if tagged:
        found = found.copy()
    begins, strings = cells
    for at in tagged:
        tag = event_tag(events[at]) if events is not None and events[at] else END
        found[at] = cell_digest(bytes(strings[begins[at] : begins[at + 1]]), tag)
    return found


def _column(batch: Any, name: str) -> Any:
    column = batch.column(name)  # KeyError where there is none
    if column.null_count:
        raise ValueError(f"rows without {name}")
    return column


def _integers(batch: Any, name: str, kind: type[np.integer[Any]]) -> NDArray[Any]:
    import pyarrow as pa

    column = _column(batch, name)
    if not pa.types.is_integer(column.type):
        raise TypeError(f"{name} that are no whole numbers")
    values: NDArray[Any] = column.cast(pa.from_numpy_dtype(np.dtype(kind))).to_numpy(zero_copy_only=False)
    return values


def _floats(batch: Any, name: str) -> NDArray[np.float64]:
    import pyarrow as pa

    column = _column(batch, name)
    if not pa.types.is_floating(column.type):
        raise TypeError(f"{name} that are no numbers")
    values: NDArray[np.float64] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values


def _texts(batch: Any, name: str) -> list[str]:
    import pyarrow as pa

    texts: list[str] = _column(batch, name).cast(pa.string()).to_pylist()
    return texts


def _end_codes(batch: Any, ends: Mapping[str, End]) -> NDArray[np.uint8]:
    import pyarrow as pa

    encoded = _column(batch, "end").cast(pa.string()).dictionary_encode()
    codes = np.array([ends[text] for text in encoded.dictionary.to_pylist()], np.uint8)
    found: NDArray[np.uint8] = codes[encoded.indices.to_numpy(zero_copy_only=False)]
    return found


def _strings(batch: Any, name: str) -> tuple[NDArray[np.int64], memoryview]:
    """Return byte strings that stand one after the other, and where each begins and the last ends."""
    import pyarrow as pa

    column = _column(batch, name)
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        raise TypeError(f"{name} that are no bytes")
    if len(column) == 0:
        return np.zeros(1, np.int64), memoryview(b"")
    column = column.cast(pa.large_binary())
    _, offsets, data = column.buffers()
    begins = np.frombuffer(offsets, np.int64, len(column) + 1, 8 * column.offset)
    return begins, memoryview(b"" if data is None else data)
