"""The subscores whose sum is a cell's weight (paper appendix A.5)."""

from array import array
from collections.abc import Callable, Iterable
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import UNKNOWN, Archive
from goexplore.cells import CellKey, Neighbours
from goexplore.errors import ConfigError, require_at_least

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

CountedAttribute = Literal["times_chosen", "times_chosen_since_new", "times_seen"]


class Subscore(Protocol):
    """One addend of a cell's weight.

    Values may depend on the entry's own columns and, through `added`, on which other cells exist. What a
    subscore remembers of the latter must not depend on the order in which the cells were added.
    """

    def added(self, archive: Archive, entry: int) -> Iterable[int]:
        """Take in a new entry; return the other entries whose value it changes."""
        ...

    def values(self, archive: Archive, entries: Numbers) -> Floats:
        """Return the subscores of some entries."""
        ...


class CountScore:
    """CntScore: `weight * (1 / (count + epsilon1)) ** power + epsilon2`."""

    def __init__(
        self,
        attribute: CountedAttribute,
        *,
        weight: float,
        power: float = 0.5,
        epsilon1: float = 0.001,
        epsilon2: float = 0.00001,
    ) -> None:
        """The defaults are the paper's."""
        if attribute not in get_args(CountedAttribute):
            raise ConfigError(
                f"expected `attribute` to be {', '.join(get_args(CountedAttribute))}, got {attribute!r}"
            )
        require_at_least("weight", weight, 0)
        self._attribute: CountedAttribute = attribute
        self._weight, self._power = weight, power
        self._epsilon1, self._epsilon2 = epsilon1, epsilon2

    def added(self, archive: Archive, entry: int) -> Iterable[int]:
        """No other cell's counts change."""
        return ()

    def values(self, archive: Archive, entries: Numbers) -> Floats:
        """Return the count subscores."""
        if self._weight == 0:
            return np.full(len(entries), self._epsilon2)
        counts = archive.values(self._attribute, entries).astype(np.float64)
        return self._weight * (1 / (counts + self._epsilon1)) ** self._power + self._epsilon2


class NeighbourScore:
    """NeighScore: `weight` for each of a cell's neighbours that is not in the archive."""

    def __init__(self, neighbours: Neighbours, *, weight: float, count: int = 2) -> None:
        """`neighbours` must be symmetric; a cell has `count` of them, also where some can never exist."""
        self._neighbours, self._weight, self._count = neighbours, weight, count
        self._present = array("B")

    def added(self, archive: Archive, entry: int) -> Iterable[int]:
        """Count the new cell with its neighbours and them with it."""
        if not archive.is_explorable(entry):  # nobody's neighbour; the cell may have another entry that is
            self._present.append(0)
            return ()
        found = [archive.score_index.find(cell) for cell in self._neighbours(archive.cell(entry))]
        # A neighbour with a higher number will find this entry itself when its turn comes.
        known = [number for number in found if number != UNKNOWN and number < entry]
        self._present.append(len(known))
        for number in known:
            self._present[number] += 1
        return known

    def values(self, archive: Archive, entries: Numbers) -> Floats:
        """Return the neighbour subscores."""
        present = np.frombuffer(self._present, np.uint8)[entries]
        return self._weight * (self._count - present.astype(np.float64))


class RankScore:
    """NeighScore of the "more keys" kind: `weight` where no cell at the same spot ranks higher."""

    def __init__(
        self, *, spot: Callable[[CellKey], bytes], rank: Callable[[CellKey], int], weight: float
    ) -> None:
        """`spot` says which cells are compared, `rank` (the number of held keys) which is higher."""
        self._spot, self._rank, self._weight = spot, rank, weight
        self._ranks = array("H")
        self._highest = array("H")  # per spot
        self._spot_of = array("i")
        self._next_at_spot = array("i")  # chains of the entries at each spot
        self._last_at_spot = array("i")
        self._spots: dict[bytes, int] = {}

    def added(self, archive: Archive, entry: int) -> Iterable[int]:
        """Return the entries at the new cell's spot if it ranks higher than all of them."""
        cell = archive.cell(entry)
        rank = self._rank(cell) if archive.is_explorable(entry) else 0  # nothing is explored from the others
        spot = self._spots.setdefault(self._spot(cell), len(self._highest))
        if spot == len(self._highest):
            self._highest.append(rank)
            self._last_at_spot.append(UNKNOWN)
        self._ranks.append(rank)
        self._spot_of.append(spot)
        self._next_at_spot.append(self._last_at_spot[spot])
        self._last_at_spot[spot] = entry
        if rank <= self._highest[spot]:
            return ()
        self._highest[spot] = rank
        return self._others(entry)

    def _others(self, entry: int) -> Iterable[int]:
        while (entry := self._next_at_spot[entry]) != UNKNOWN:
            yield entry

    def values(self, archive: Archive, entries: Numbers) -> Floats:
        """Return the weight where the cell ranks highest at its spot, else 0."""
        highest = np.frombuffer(self._highest, np.uint16)[np.frombuffer(self._spot_of, np.int32)[entries]]
        return self._weight * (np.frombuffer(self._ranks, np.uint16)[entries] >= highest).astype(np.float64)
