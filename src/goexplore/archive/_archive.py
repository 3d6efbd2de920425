"""The archive: one entry per cell, with the best trajectory to it (paper section 2.1.5)."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from goexplore.archive._byte_store import ByteStore
from goexplore.archive._entries import AddStatus, Entry, Findings, Offer
from goexplore.archive._scoreboard import UNKNOWN, Scoreboard, Standing
from goexplore.archive._segments import START, Branch, SegmentTree
from goexplore.cells import CellKey
from goexplore.envs import NOWHERE, Place


@dataclass(kw_only=True)
class Update:
    """What one batch changed in the archive."""

    added: range
    """Entries of new cells."""
    improved: set[int] = field(default_factory=set)
    """Entries that got a better trajectory."""
    touched: set[int] = field(default_factory=set)
    """Entries of which anything changed: the added and improved ones, and those whose counters moved."""


class Archive:
    """All cells found so far. It changes by whole batches only, and entries only ever get better."""

    def __init__(self, *, reset_seen: bool = False) -> None:
        """`reset_seen`: whether an improved cell's count of visits starts again too.

        The paper keeps it (section 2.1.5), its follow-up resets it.
        """
        self.board = Scoreboard()
        self.segments = SegmentTree()
        self.places: set[Place] = set()
        """All places that an entry was ever at."""
        self.best = 0
        """The entry with the highest score, the shortest of these, the first of these."""
        self._reset_seen = reset_seen
        self._bytes = ByteStore()
        self._columns = {
            "cell": array("i"),  # handles of byte strings
            "snapshot": array("i"),
            "segment": array("i"),
            "offset": array("H"),
            "level": array("h"),
            "room": array("h"),
            "times_seen": array("i"),
            "times_chosen": array("i"),
            "times_chosen_since_new": array("i"),
            "found_at_game_frame": array("q"),
        }

    def __len__(self) -> int:
        return len(self.board)

    def __getitem__(self, number: int) -> Entry:
        column = self._columns
        return Entry(
            number=number,
            cell=self.cell(number),
            standing=self.board.standing(number),
            branch=Branch(column["segment"][number], column["offset"][number]),
            snapshot=self._bytes.get(column["snapshot"][number]),
        )

    def __iter__(self) -> Iterator[Entry]:
        return map(self.__getitem__, range(len(self)))

    def cell(self, number: int) -> CellKey:
        """Return the cell of an entry."""
        return self._bytes.get(self._columns["cell"][number])

    def values(self, name: str, entries: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.generic]:
        """Return a copy of some entries' values: a counter, `score`, `length`, `level`, `room` ..."""
        if name in ("score", "length"):
            column: array[float] | array[int] = self.board.columns()[name == "length"]
        else:
            column = self._columns[name]
        return np.frombuffer(column, np.dtype(column.typecode))[entries].copy()

    def set_counter(self, name: str, values: NDArray[np.int32]) -> None:
        """Set one counter of all entries."""
        self._columns[name] = array("i", values.tobytes())

    def trajectory(self, number: int) -> bytes:
        """Return the actions from the initial state to an entry."""
        return self.segments.trajectory(self[number].branch)

    def plant(self, cell: CellKey, snapshot: bytes, place: Place) -> Update:
        """Begin with the initial state alone (paper section 2.1)."""
        self.insert(cell, snapshot, Standing(0.0, 0), START, place, found_at=0)
        self._columns["times_seen"][0] = 1
        return Update(added=range(1), touched={0})

    def update(self, batch: Sequence[Entry], findings: Sequence[Findings], *, game_frame: int) -> Update:
        """Take in what the explorations from `batch` found, in order.

        `batch` holds the entries as they were when they were chosen: new trajectories branch from those, not
        from what an earlier exploration of the same batch has put in their place meanwhile.
        """
        column = self._columns
        update = Update(added=range(len(self), len(self)))
        for start in batch:
            self.segments.hold(start.branch.segment)
            column["times_chosen"][start.number] += 1
            column["times_chosen_since_new"][start.number] += 1
            update.touched.add(start.number)
        for start, found in zip(batch, findings, strict=True):
            self._take_in(start, found, update, game_frame)
            seen = [*found.seen, *map(self.board.find, found.seen_new)]
            for number in seen:
                column["times_seen"][number] += 1
            update.touched.update(seen)
        for start in batch:
            self.segments.release(start.branch.segment)
        if self.segments.worth_compacting:
            renumbered = self.segments.compact()
            column["segment"] = array("i", renumbered[self.values("segment")].tobytes())
        return update

    def _take_in(self, start: Entry, found: Findings, update: Update, game_frame: int) -> None:
        taken = []
        for offer in found.offers:
            number = offer.number if offer.number != UNKNOWN else self.board.find(offer.cell)
            status = self._judge(number, offer)
            if status is not AddStatus.REJECTED:
                taken.append((offer, number, status))
        if not taken:
            return
        segment = self.segments.add(start.branch, found.actions[: max(offer.offset for offer, _, _ in taken)])
        for offer, number, status in taken:
            branch = Branch(segment, offer.offset)
            if status is AddStatus.NEW:
                number = self.insert(
                    offer.cell, offer.snapshot, offer.standing, branch, offer.place, found_at=game_frame
                )
                update.added = range(update.added.start, number + 1)
            else:
                self._improve(number, offer, branch)
                update.improved.add(number)
            update.touched.add(number)
        self._columns["times_chosen_since_new"][start.number] = 0

    def _judge(self, number: int, offer: Offer) -> AddStatus:
        if number == UNKNOWN:
            return AddStatus.NEW
        better = offer.standing.beats(self.board.standing(number))
        return AddStatus.IMPROVED if better else AddStatus.REJECTED

    def insert(
        self,
        cell: CellKey,
        snapshot: bytes,
        standing: Standing,
        branch: Branch,
        place: Place,
        *,
        found_at: int,
    ) -> int:
        """Add an entry for a cell that has none yet, with all counters at 0; return its number."""
        number = self.board.add(cell, standing)
        row = (
            self._bytes.put(cell),
            self._bytes.put(snapshot),
            branch.segment,
            branch.offset,
            place.level,
            place.room,
            0,
            0,
            0,
            found_at,
        )
        for column, value in zip(self._columns.values(), row, strict=True):
            column.append(value)
        self.segments.hold(branch.segment)
        self._note(number, place)
        return number

    def _improve(self, number: int, offer: Offer, branch: Branch) -> None:
        column = self._columns
        self.board.improve(number, offer.standing)
        self._bytes.discard(column["snapshot"][number])
        column["snapshot"][number] = self._bytes.put(offer.snapshot)
        self.segments.hold(branch.segment)
        self.segments.release(column["segment"][number])
        column["segment"][number], column["offset"][number] = branch
        column["level"][number], column["room"][number] = offer.place
        column["times_chosen"][number] = 0
        column["times_chosen_since_new"][number] = 0
        if self._reset_seen:
            column["times_seen"][number] = 0
        self._note(number, offer.place)

    def _note(self, number: int, place: Place) -> None:
        if place != NOWHERE:
            self.places.add(place)
        standing, best = self.board.standing(number), self.board.standing(self.best)
        if standing.beats(best) or (standing == best and number < self.best):
            self.best = number
