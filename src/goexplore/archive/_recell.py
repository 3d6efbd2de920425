"""An archive with other cells: the best entry of each new cell is kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from goexplore.archive._archive import Archive
from goexplore.archive._entries import Entry
from goexplore.cells import CellKey, End
from goexplore.envs import Location

_OFTEN = 1000
"""Entries after which the memory is looked at."""
_COUNTERS = ("times_seen", "times_chosen", "times_chosen_since_new")


def recell(archive: Archive, cell_of: Callable[[Entry], CellKey]) -> Archive:
    """Return an archive in which each entry has the cell that `cell_of` gives it; the old one is used up.

    Of the entries of one new cell the best is kept (the highest score, the shortest of these, the first of
    these); ends of episodes are compared with ends alone, and ways to an event, of which the shortest is the
    best, with each other. New cells are in the order in which their first
    entries were, so that the initial state's stays the first. A new cell was seen and chosen as often as all
    its entries together, and found when the first of them was. Segments that no entry needs are collected.
    """
    groups: dict[tuple[CellKey, bool, str], list[int]] = {}
    for entry in archive:
        if entry.number % _OFTEN == 0:
            archive.relieve()
        is_end = entry.end != End.NONE and not entry.event
        groups.setdefault((cell_of(entry), is_end, entry.event), []).append(entry.number)
    found = archive.values("found_at_game_frame")
    levels, rooms = archive.values("level"), archive.values("room")
    new = Archive(reset_seen=archive.reset_seen, memory_limit=archive.memory_limit)
    new.segments = archive.segments
    for (cell, _, event), numbers in groups.items():
        winner = archive[_best(archive, numbers, event)]
        if len(new) % _OFTEN == 0:
            new.relieve(archive)
        new.insert(
            cell,
            winner.snapshot,
            winner.score_length,
            winner.branch,
            Location(int(levels[winner.number]), int(rooms[winner.number])),
            found_at=int(found[numbers].min()),
            end=winner.end,
            event=event,
        )
    for name in _COUNTERS:
        counter = archive.values(name).astype(np.int64)
        sums = [int(counter[numbers].sum()) for numbers in groups.values()]
        new.set_counter(name, np.minimum(sums, np.iinfo(np.int32).max).astype(np.int32))
    new.locations |= archive.locations
    archive.release()
    new.compact()
    return new


def _best(archive: Archive, numbers: list[int], event: str) -> int:
    score_length = archive.score_index.score_length
    best = numbers[0]
    for number in numbers[1:]:
        mine, other = score_length(number), score_length(best)
        if mine.length < other.length if event else mine.beats(other):
            best = number
    return best
