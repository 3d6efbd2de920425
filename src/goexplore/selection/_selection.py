"""Choosing cells (paper section 2.1.2 and appendix A.5)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Archive, Update
from goexplore.cells import CellKey
from goexplore.random import SplitMix64
from goexplore.selection._subscores import Subscore
from goexplore.selection._sum_tree import SumTree


class Selection(Protocol):
    """Decides which cells to explore from."""

    def refresh(self, archive: Archive, update: Update) -> None:
        """Take in what a batch changed. After a resume, all entries are named as added."""
        ...

    def choose(self, count: int, random: SplitMix64) -> Sequence[int]:
        """Return `count` entries, with replacement; never one that nothing is explored from."""
        ...


class UniformSelection:
    """Every cell is as likely as any other: the baseline."""

    def __init__(self) -> None:
        self._entries = array("i")

    def refresh(self, archive: Archive, update: Update) -> None:
        """Take note of new entries that can be explored from."""
        self._entries.extend(entry for entry in update.added if archive.is_explorable(entry))

    def choose(self, count: int, random: SplitMix64) -> Sequence[int]:
        """Return entries uniformly at random."""
        return [self._entries[number] for number in random.below(len(self._entries), count)]


class StartSelection:
    """Always the initial state: what random actions find without returning to cells."""

    def refresh(self, archive: Archive, update: Update) -> None:
        """Take note of nothing."""

    def choose(self, count: int, random: SplitMix64) -> Sequence[int]:
        """Return the initial state's entry."""
        return [0] * count


class WeightedSelection:
    """CellProb: chooses cells in proportion to `LevelWeight * (constant + sum of subscores)`.

    LevelWeight = `level_factor ** (highest level - level)`. There is a tree of weights for each level, and
    the level weights come in when a level is chosen: a new highest level costs nothing, and no number of
    levels overflows.
    """

    def __init__(
        self,
        subscores: Sequence[Subscore],
        *,
        constant: float = 1.0,
        level: Callable[[CellKey], int] | None = None,
        level_factor: float = 0.1,
    ) -> None:
        """`level` reads the level off a cell; without it all level weights are 1."""
        self._subscores = subscores
        self._constant = constant
        self._level = level
        self._level_factor = level_factor
        self._trees: dict[int, SumTree] = {}
        self._entries: dict[int, array[int]] = {}  # per level: the entry of each leaf
        self._level_of = array("i")
        self._leaf_of = array("i")

    def refresh(self, archive: Archive, update: Update) -> None:
        """Recompute the weights of all entries that the batch touched: O(log n) each."""
        entries = update.touched_entries()
        others: set[int] = set()
        for entry in update.added:
            self._append(0 if self._level is None else self._level(archive.cell(entry)), entry)
            for subscore in self._subscores:
                others.update(subscore.added(archive, entry))
        if others:
            entries = np.union1d(entries, np.fromiter(others, np.int64, len(others)))
        weights = np.full(len(entries), self._constant, np.float64)
        for subscore in self._subscores:
            weights += subscore.values(archive, entries)
        weights[~archive.explorable(entries)] = 0.0  # nothing is explored from there
        levels = np.frombuffer(self._level_of, np.int32)[entries]
        leaves = np.frombuffer(self._leaf_of, np.int32)[entries].astype(np.int64)
        for level, here in _groups(levels):
            self._trees[level].grow(len(self._entries[level]))
            self._trees[level].set(leaves[here], weights[here])

    def _append(self, level: int, entry: int) -> None:
        if level not in self._trees:
            self._trees[level], self._entries[level] = SumTree(), array("i")
        self._level_of.append(level)
        self._leaf_of.append(len(self._entries[level]))
        self._entries[level].append(entry)

    def choose(self, count: int, random: SplitMix64) -> Sequence[int]:
        """Return entries according to CellProb."""
        levels = sorted(level for level, tree in self._trees.items() if tree.total > 0)
        ends = np.cumsum(self._level_totals(levels))
        positions = random.uniform(count) * ends[-1]
        picks = np.minimum(np.searchsorted(ends, positions, side="right"), len(levels) - 1)
        offsets = random.uniform(count)
        chosen = np.empty(count, np.int64)
        for pick, here in _groups(picks):
            tree, entries = self._trees[levels[pick]], self._entries[levels[pick]]
            leaves = tree.find(offsets[here] * tree.total)
            chosen[here] = np.frombuffer(entries, np.int32)[leaves]
        return chosen.tolist()

    def probabilities(self) -> NDArray[np.float64]:
        """Return CellProb of every entry: a pass over all cells, for tests and pictures."""
        levels = sorted(level for level, tree in self._trees.items() if tree.total > 0)
        totals = self._level_totals(levels)
        result = np.zeros(len(self._level_of))
        for level, total in zip(levels, totals, strict=True):
            tree = self._trees[level]
            result[np.frombuffer(self._entries[level], np.int32)] = (
                tree.weights() / tree.total * total / totals.sum()
            )
        return result

    def _level_totals(self, levels: Sequence[int]) -> NDArray[np.float64]:
        below_highest = levels[-1] - np.array(levels)
        totals = np.array([self._trees[level].total for level in levels])
        return totals * self._level_factor**below_highest


def _groups(keys: NDArray[np.integer]) -> Iterator[tuple[int, NDArray[np.int64] | slice]]:
    """Yield each different key with where it stands, in rising order."""
    if len(keys) == 0:
        return
    if (keys == keys[0]).all():
        yield int(keys[0]), slice(None)
        return
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = [0, *(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1).tolist()]
    for start, stop in zip(starts, [*starts[1:], len(keys)], strict=True):
        yield int(ordered[start]), order[start:stop]
