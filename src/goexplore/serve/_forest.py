"""The tree of segments, over whole arrays: where a trajectory came from, and what grew from it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


class Forest:
    """The segments of a checkpoint, and where the entries end in them."""

    def __init__(
        self,
        *,
        parents: Numbers,
        parent_offsets: Numbers,
        entry_segments: Numbers,
        entry_offsets: Numbers,
    ) -> None:
        """Segment 0 is the initial state; a segment's parent has a smaller number. Raise ValueError else."""
        numbers = np.arange(len(parents))
        if not len(parents) or (parents[1:] >= numbers[1:]).any() or (parents < 0).any():
            raise ValueError("segments that do not begin at earlier ones")
        if (entry_segments < 0).any() or (entry_segments >= len(parents)).any():
            raise ValueError("entries on segments that are not there")
        self.parents, self.parent_offsets = parents, parent_offsets
        self.entry_segments, self.entry_offsets = entry_segments, entry_offsets

    def chain(self, entry: int) -> list[tuple[int, int]]:
        """Return the segments from the start to an entry, each with how many of its actions count."""
        segment, offset = int(self.entry_segments[entry]), int(self.entry_offsets[entry])
        found = []
        while segment:
            found.append((segment, offset))
            segment, offset = int(self.parents[segment]), int(self.parent_offsets[segment])
        return found[::-1]

    def lineage(self, entry: int) -> Numbers:
        """Return the entries whose trajectories are beginnings of this entry's, in order, itself last."""
        chain = self.chain(entry)
        most = dict(chain)
        on_chain = np.isin(self.entry_segments, np.array([0, *most], np.int64))
        near = np.flatnonzero(on_chain)
        limits = np.array([most.get(int(segment), 0) for segment in self.entry_segments[near]], np.int64)
        near = near[self.entry_offsets[near] <= limits]
        order = np.lexsort((self.entry_offsets[near], self.entry_segments[near]))
        return near[order]

    def descendants(self, entry: int) -> Numbers:
        """Return the entries whose trajectories go on from the end of this entry's."""
        segment, offset = self.entry_segments[entry], self.entry_offsets[entry]
        children = np.flatnonzero((self.parents == segment) & (self.parent_offsets >= offset))
        children = children[children > 0]
        if segment == 0:
            below = np.arange(len(self.parents)) > 0
        else:
            begins, sizes = self._intervals
            below = np.zeros(len(self.parents) + 1, np.int64)
            np.add.at(below, begins[children], 1)
            np.add.at(below, begins[children] + sizes[children], -1)
            below = np.cumsum(below)[:-1].astype(np.bool_)[begins]
        later = (self.entry_segments == segment) & (self.entry_offsets > offset)
        found = below[self.entry_segments] | later
        found[entry] = False
        return np.flatnonzero(found)

    @cached_property
    def depths(self) -> Numbers:
        """After how many other segments each one begins."""
        # Jump to twice as distant ancestors, until all have come to the start.
        above, distance = self.parents.copy(), np.ones(len(self.parents), np.int64)
        above[0] = distance[0] = 0
        while above.any():
            distance = distance + distance[above]
            above = above[above]
        return distance

    @cached_property
    def _levels(self) -> list[Numbers]:
        """The segments of each depth, those of the same parent beside each other."""
        order = np.lexsort((self.parents, self.depths))
        ends = np.cumsum(np.bincount(self.depths))
        return np.split(order, ends[:-1])

    @cached_property
    def _intervals(self) -> tuple[Numbers, Numbers]:
        """Where each segment stands if its descendants follow it, and how many it has, with itself."""
        sizes = np.ones(len(self.parents), np.int64)
        for level in reversed(self._levels[1:]):
            np.add.at(sizes, self.parents[level], sizes[level])
        begins = np.zeros(len(self.parents), np.int64)
        for level in self._levels[1:]:
            parents = self.parents[level]
            before = np.cumsum(sizes[level]) - sizes[level]
            first = np.r_[True, parents[1:] != parents[:-1]]
            group = np.cumsum(first) - 1
            begins[level] = begins[parents] + 1 + before - before[first][group]
        return begins, sizes

    def entry_parents(self) -> Numbers:
        """Return for each entry the last one before it on its trajectory, or -1 where there is none."""
        longest = max(int(self.entry_offsets.max(initial=0)), int(self.parent_offsets.max(initial=0))) + 1
        keys = self.entry_segments * longest + self.entry_offsets
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        before = np.full(len(self.parents), -1, np.int64)
        """The last entry before each segment begins."""

        def last(segments: Numbers, positions: Numbers) -> Numbers:
            """Return the entries at positions of the order: on their segments, or before these begin."""
            at = np.maximum(positions, 0)
            on_it = (positions >= 0) & (ordered[at] >= segments * longest)
            return np.where(on_it, order[at], before[segments])

        if not len(keys):
            return np.zeros(0, np.int64)
        for level in self._levels[1:]:
            parents = self.parents[level]
            ends = np.searchsorted(ordered, parents * longest + self.parent_offsets[level], "right") - 1
            before[level] = last(parents, ends)
        found = np.empty(len(keys), np.int64)
        found[order] = last(self.entry_segments[order], np.arange(len(keys)) - 1)
        return found

    def places(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a place for each entry: how long its trajectory is, and which branch it is on, 0 to 1."""
        begin_at = np.zeros(len(self.parents), np.int64)
        for level in self._levels[1:]:
            begin_at[level] = begin_at[self.parents[level]] + self.parent_offsets[level]
        begins, sizes = self._intervals
        lengths = begin_at[self.entry_segments] + self.entry_offsets
        # A segment lies at the middle of its descendants.
        middles = (begins + sizes / 2) / len(self.parents)
        return lengths.astype(np.float64), middles[self.entry_segments]
