"""Which cells are known, and how good the best trajectory to each of them is."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import repeat
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goexplore import _native as native
from goexplore.cells import CellKey

Floats: TypeAlias = "NDArray[np.float64]"

UNKNOWN = -1

_PIECE_SIZE = 1000
"""Entries in one piece: their 28 bytes each stay below what the allocator asks the system for."""


END = "end"
"""The tag of an end entry."""


def event_tag(event: str) -> str:
    """Return the tag of the entries of an event."""
    return f"event:{event}"


class ScoreLength(NamedTuple):
    """How good a trajectory is: a higher score wins, then a shorter length (paper section 2.1.5).

    Where a problem has an objective, that one stands in the score's place.
    """

    score: float
    length: int
    """Training frames from the initial state."""
    objective: float | None = None
    """What a user's own objective says of the state that it leads to, where there is one."""

    @property
    def value(self) -> float:
        """What is compared before the length."""
        return self.score if self.objective is None else self.objective

    def beats(self, other: ScoreLength) -> bool:
        """Whether this trajectory is better than the other."""
        return self.value > other.value or (self.value == other.value and self.length < other.length)


NEVER = ScoreLength(float("-inf"), 0)
"""Score and length of a cell that was never reached: any trajectory beats it."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What changed in a score index: enough to bring a copy of it up to date."""

    digests: array[int]
    """Of added cells, in the order of their entries: two 64-bit words each."""
    scores: array[float]
    lengths: array[int]
    objectives: array[float]
    """Empty where there is no objective."""
    improved: dict[int, ScoreLength]
    """New scores and lengths of entries that were there before."""


class ScoreIndex:
    """The (score, length) table: entry numbers, scores and lengths by cell.

    A cell may have other entries beside the one that explorations start from, each with a tag: an end entry
    where episodes end, and one for each event that happened there. Cells and tags are told apart by 128-bit
    digests, so that a copy in each worker costs about 40 bytes per cell, whatever the cells' own size.
    Entries are numbered 0, 1, 2, ... in the order in which they were added, so a copy that is given the same
    additions in the same order has the same numbers.

    An open-addressing table of entry numbers finds a digest in O(1).
    """

    def __init__(self) -> None:
        self._digests = array("Q")
        self._scores = array("d")
        self._lengths = array("i")
        self._objectives = array("d")  # of all entries, or of none
        self._slots = array("i", [UNKNOWN]) * 1024

    def __len__(self) -> int:
        return len(self._scores)

    def find(self, cell: CellKey, tag: str = "") -> int:
        """Return the number of the cell's entry, or of the one with a tag; UNKNOWN where there is none."""
        low, high = cell_digest(cell, tag)
        return self._slots[self._slot(low, high)]

    def score_length(self, entry: int) -> ScoreLength:
        """Return the best score and length known for an entry."""
        objective = self._objectives[entry] if self._objectives else None
        return ScoreLength(self._scores[entry], self._lengths[entry], objective)

    def add(self, cell: CellKey, score_length: ScoreLength, tag: str = "") -> int:
        """Add a cell or tag that is not there yet and return the number of its entry."""
        return self._append(*cell_digest(cell, tag), score_length)

    def improve(self, entry: int, score_length: ScoreLength) -> None:
        """Set a better score and length for an entry."""
        self._scores[entry], self._lengths[entry], objective = score_length
        if objective is not None:
            self._objectives[entry] = objective

    def since(self, size: int, improved: set[int]) -> Changes:
        """Return what has changed since the index had `size` entries, given which of them got better."""
        score_lengths = {entry: self.score_length(entry) for entry in improved if entry < size}
        return self._changes(range(size, len(self)), score_lengths)

    def pieces(self) -> Iterator[Changes]:
        """Yield the whole index in small pieces, so that no large allocation stays reserved."""
        for start in range(0, len(self), _PIECE_SIZE):
            yield self._changes(range(start, min(start + _PIECE_SIZE, len(self))), {})

    def _changes(self, added: range, improved: dict[int, ScoreLength]) -> Changes:
        return Changes(
            digests=self._digests[2 * added.start : 2 * added.stop],
            scores=self._scores[added.start : added.stop],
            lengths=self._lengths[added.start : added.stop],
            objectives=self._objectives[added.start : added.stop],
            improved=improved,
        )

    def apply(self, changes: Changes) -> None:
        """Bring this copy up to date."""
        for entry, score_length in changes.improved.items():
            self.improve(entry, score_length)
        words = iter(changes.digests)
        objectives = changes.objectives or repeat(None, len(changes.scores))
        score_lengths = map(ScoreLength, changes.scores, changes.lengths, objectives)
        for low, high, score_length in zip(words, words, score_lengths, strict=True):
            self._append(low, high, score_length)

    def memory(self) -> tuple[array[int], array[int], array[float], array[int]]:
        """Return slots, digests, scores and lengths, for readers in C. Not to be changed."""
        return self._slots, self._digests, self._scores, self._lengths

    def column(self, name: str) -> array[float] | array[int]:
        """Return score, length or objective of all entries; without an objective, no entry has one.

        Not to be changed.
        """
        columns: dict[str, array[float] | array[int]] = {
            "score": self._scores,
            "length": self._lengths,
            "objective": self._objectives,
        }
        return columns[name]

    def extend(
        self, digests: bytes, scores: Floats, lengths: NDArray[np.int32], objectives: Floats | None
    ) -> None:
        """Add many entries at once, for cells and tags that are not there yet and differ."""
        first = len(self)
        self.reserve(first + len(scores))
        self._digests.frombytes(digests)
        self._scores.frombytes(scores.tobytes())
        self._lengths.frombytes(lengths.tobytes())
        if objectives is not None:
            self._objectives.frombytes(objectives.tobytes())
        if native.archive is not None:
            native.archive.fill_slots(self._slots, self._digests, first)
            return
        for entry in range(first, len(self)):
            slot = self._slot(*self._digests[2 * entry : 2 * entry + 2])
            if self._slots[slot] != UNKNOWN:
                raise ValueError("expected cells that differ")
            self._slots[slot] = entry

    def _append(self, low: int, high: int, score_length: ScoreLength) -> int:
        self.reserve(len(self) + 1)
        entry = len(self)
        self._slots[self._slot(low, high)] = entry
        self._digests.append(low)
        self._digests.append(high)
        self._scores.append(score_length.score)
        self._lengths.append(score_length.length)
        if score_length.objective is not None:
            self._objectives.append(score_length.objective)
        return entry

    def _slot(self, low: int, high: int) -> int:
        """Return the slot that holds this digest, or the free one where it belongs."""
        slots, digests = self._slots, self._digests
        mask = len(slots) - 1
        slot = low & mask
        while (entry := slots[slot]) != UNKNOWN and (
            digests[2 * entry] != low or digests[2 * entry + 1] != high
        ):
            slot = slot + 1 & mask
        return slot

    def reserve(self, size: int) -> None:
        """Make the table large enough for this many entries."""
        while 3 * size > 2 * len(self._slots):
            self._grow()

    def _grow(self) -> None:
        self._slots = array("i", [UNKNOWN]) * (2 * len(self._slots))
        if native.archive is not None:
            native.archive.fill_slots(self._slots, self._digests, 0)
            return
        for entry in range(len(self)):
            self._slots[self._slot(*self._digests[2 * entry : 2 * entry + 2])] = entry


def cell_digests(offsets: NDArray[np.int64], cells: bytes | memoryview) -> NDArray[np.uint64]:
    """Return the digests of cells that stand one after the other: a row of two words for each."""
    if native.archive is not None:
        return np.frombuffer(native.archive.digests(np.ascontiguousarray(offsets), cells), np.uint64).reshape(
            -1, 2
        )
    pairs = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    words = [cell_digest(bytes(cells[begin:end])) for begin, end in pairs]
    return np.array(words, np.uint64).reshape(-1, 2)


def cell_digest(cell: CellKey, tag: str = "") -> tuple[int, int]:
    """Return the digest of a cell, or of its entry with a tag, as two 64-bit words."""
    if tag in ("", END):
        digest = blake2b(cell, digest_size=16, person=tag.encode()).digest()
    else:  # no tag holds a zero, so it ends where the cell begins
        digest = blake2b(tag.encode() + b"\0" + cell, digest_size=16, person=b"event").digest()
    number = int.from_bytes(digest, "little")
    return number & 0xFFFFFFFFFFFFFFFF, number >> 64
