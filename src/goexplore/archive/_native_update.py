"""The archive's update in C (`_native/archive/update.h`): what `Archive.update` does, for packed results."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goexplore import _native as native
from goexplore.archive._packed import PackedResults
from goexplore.archive._update import Update
from goexplore.envs import NOWHERE, Location

if TYPE_CHECKING:
    from goexplore.archive._archive import Archive


def native_update(
    archive: Archive, chosen: NDArray[np.int32], results: PackedResults, *, game_frame: int
) -> Update | None:
    """Take in what explorations from the entries `chosen` found, or return None where Python has to do it.

    C works in the memory of the archive's own columns. They get room for all that the batch can add, and give
    back what is left of it.
    """
    index, tree, entries = archive.score_index, archive.segments, len(archive)
    if native.archive is None or index.column("objective"):
        return None
    more_entries, most_segments, string_bytes, action_bytes = native.archive.measure(
        results.records, results.offsets, entries, tree.action_bytes
    )
    strings, actions = archive._bytes, tree._actions
    strings.reserve(string_bytes)
    actions.reserve(action_bytes)
    index.reserve(entries + more_entries)
    slots, digests, scores, lengths = index.memory()
    per_entry: tuple[array[Any], ...] = (scores, lengths, *archive._columns.values())
    per_segment = tree._columns()
    segments = len(per_segment[0])

    def resize(entry_count: int, segment_count: int) -> None:
        _resize(digests, 2 * entry_count)
        for column in per_entry:
            _resize(column, entry_count)
        for column in per_segment:
            _resize(column, segment_count)

    size, segment_count = entries, segments
    try:
        resize(entries + more_entries, segments + most_segments)
        updated = native.archive.update(
            columns=(slots, digests, *per_entry, *per_segment),
            strings=strings._data,
            used_strings=strings._used,
            free_strings=strings._free,
            actions=actions._data,
            used_actions=actions._used,
            free_actions=actions._free,
            chosen=chosen,
            records=results.records,
            offsets=results.offsets,
            entries=entries,
            segments=segments,
            living=tree._living,
            best=archive.best,
            reset_seen=archive.reset_seen,
            game_frame=game_frame,
            action_bytes=tree.action_bytes,
        )
        size, segment_count, tree._living, archive.best, strings._used, actions._used = updated[:6]
    finally:
        resize(size, segment_count)
    touched, improved, reached = updated[6:]
    if reached:
        locations = np.frombuffer(reached, np.int32)
        for number in set(locations.tolist()):
            location = Location(number >> 16, (number & 0xFFFF ^ 0x8000) - 0x8000)
            if location != NOWHERE:
                archive.locations.add(location)
    archive.compact()
    return Update(
        added=range(entries, size),
        improved=set(np.frombuffer(improved, np.int32).tolist()),
        touched=_different(np.frombuffer(touched, np.int32)),
    )


def _different(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the different numbers, in rising order: `np.unique`, which takes several times as long."""
    rising = np.sort(numbers)
    if len(rising) == 0:
        return rising
    return rising[np.concatenate(([True], rising[1:] != rising[:-1]))]


def _resize(column: array[Any], size: int) -> None:
    """Make a column longer, with zeros, or shorter."""
    if size < len(column):
        del column[size:]
    elif size > len(column):
        column.frombytes(bytes((size - len(column)) * column.itemsize))
