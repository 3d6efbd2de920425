"""Trajectories as a tree of segments (the representation that paper appendix A.8 proposes)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goexplore.archive._byte_store import ByteStore

ROOT = 0
"""The segment of no actions at the initial state: where every trajectory begins."""

_LONGEST = 65_535
"""Actions of one segment: an offset takes two bytes."""


Actions: TypeAlias = "bytes | tuple[int, ...]"
"""A trajectory's actions, one per training frame: bytes where no action needs more."""


def action_bytes(action_count: int) -> int:
    """Return how many bytes an action takes in storage: one, or two where there are more than 256."""
    return 1 if action_count <= 256 else 2


def as_actions(actions: Iterable[int], action_count: int) -> Actions:
    """Return actions as bytes, or as a tuple where there are too many different ones for that."""
    return bytes(actions) if action_bytes(action_count) == 1 else tuple(actions)


def pack_actions(actions: Sequence[int], size: int) -> bytes:
    """Return actions as they are stored, `size` bytes each, little-endian."""
    return bytes(actions) if size == 1 else np.asarray(actions, "<u2").tobytes()


def unpack_actions(packed: bytes, size: int) -> Actions:
    """Return the actions that `pack_actions` was given."""
    return packed if size == 1 else tuple(np.frombuffer(packed, "<u2").tolist())


class Branch(NamedTuple):
    """A point in the tree: the trajectory up to `segment`, then its first `offset` actions."""

    segment: int
    offset: int


START = Branch(ROOT, 0)


class SegmentTree:
    """Segments point to the branch that they grew from; nothing is ever copied.

    A segment lives while something holds it: an entry, a child segment, or a running exploration. Segments
    that nothing holds any more are collected at once. Numbers grow with age, also after `compact`, so that
    the order of the living segments is a function of the search alone.
    """

    def __init__(self, *, action_bytes: int = 1) -> None:
        """`action_bytes` is the size of one stored action."""
        self.action_bytes = action_bytes
        self._parents = array("i", [ROOT])
        self._offsets = array("H", [0])
        self._holds = array("i", [1])  # the root always lives
        self._actions = ByteStore()
        self._handles = array("i", [self._actions.put(b"")])
        self._living = 1

    def __len__(self) -> int:
        """Return the number of living segments."""
        return self._living

    def add(self, parent: Branch, actions: bytes) -> int:
        """Grow a segment of packed actions from `parent`. It holds its parent; nothing holds it yet."""
        self.hold(parent.segment)
        self._parents.append(parent.segment)
        self._offsets.append(parent.offset)
        self._holds.append(0)
        self._handles.append(self._actions.put(actions))
        self._living += 1
        return len(self._parents) - 1

    def add_actions(self, parent: Branch, actions: Actions) -> Branch:
        """Grow as many segments as it takes for actions of any number, and return where they end."""
        for begin in range(0, len(actions), _LONGEST):
            part = actions[begin : begin + _LONGEST]
            parent = Branch(self.add(parent, pack_actions(part, self.action_bytes)), len(part))
        return parent

    def extend(
        self,
        parents: NDArray[np.int32],
        offsets: NDArray[np.uint16],
        begins: NDArray[np.int64],
        actions: bytes | memoryview,
    ) -> None:
        """Grow many segments at once, whose packed actions stand one after the other and begin there.

        Each may grow from one of those before it.
        """
        self._parents.frombytes(parents.tobytes())
        self._offsets.frombytes(offsets.tobytes())
        self._holds.frombytes(bytes(self._holds.itemsize * len(parents)))
        np.add.at(np.frombuffer(self._holds, np.int32), parents, 1)
        self._handles.frombytes(self._actions.put_all(begins, actions).tobytes())
        self._living += len(parents)

    def hold_all(self, segments: NDArray[np.int32]) -> None:
        """Keep segments alive; one may come more than once."""
        np.add.at(np.frombuffer(self._holds, np.int32), segments, 1)

    def hold(self, segment: int) -> None:
        """Keep a segment alive."""
        self._holds[segment] += 1

    def release(self, segment: int) -> None:
        """Undo one `hold`; a segment that nothing holds any more is collected, and so on up the tree."""
        self._holds[segment] -= 1
        while self._holds[segment] == 0:
            self._actions.discard(self._handles[segment])
            self._handles[segment] = -1
            self._living -= 1
            segment = self._parents[segment]
            self._holds[segment] -= 1

    def trajectory(self, branch: Branch) -> Actions:
        """Return all actions from the initial state to a branch."""
        parts = []
        segment, offset = branch
        while segment != ROOT:
            parts.append(self._actions.get(self._handles[segment])[: offset * self.action_bytes])
            segment, offset = self._parents[segment], self._offsets[segment]
        return unpack_actions(b"".join(reversed(parts)), self.action_bytes)

    def packed_actions(self, segment: int) -> bytes:
        """Return the actions of one segment, as they are stored."""
        return self._actions.get(self._handles[segment])

    def parent(self, segment: int) -> Branch:
        """Return the branch that a segment grew from."""
        return Branch(self._parents[segment], self._offsets[segment])

    @property
    def strings(self) -> ByteStore:
        """What has the actions."""
        return self._actions

    def living(self, numbers: slice = slice(None)) -> NDArray[np.int64]:
        """Return the numbers of all living segments, oldest first, or of those among some numbers."""
        alive = np.flatnonzero(np.frombuffer(self._handles, np.int32)[numbers] >= 0)
        return alive + (numbers.start or 0)

    def order(self) -> NDArray[np.int32]:
        """Return the place of each living segment among them, for every number up to the highest."""
        return np.cumsum(np.frombuffer(self._handles, np.int32) >= 0, dtype=np.int32) - np.int32(1)

    def parents(self, segments: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """Return the branches that segments grew from: segments and offsets."""
        parents, offsets = np.frombuffer(self._parents, np.int32), np.frombuffer(self._offsets, np.uint16)
        return parents[segments], offsets[segments]

    def gather(self, segments: NDArray[np.int64]) -> tuple[NDArray[np.int64], bytes]:
        """Return the packed actions of segments, one after the other, and where each begins and ends."""
        return self._actions.gather(np.frombuffer(self._handles, np.int32)[segments])

    @property
    def worth_compacting(self) -> bool:
        """Whether most numbers belong to segments that are gone."""
        return len(self._parents) > 2 * self._living + 1024

    def compact(self) -> NDArray[np.int32]:
        """Number the living segments anew, in the same order; return the new number of each old one."""
        old = self.living()
        renumbered = np.full(len(self._parents), -1, np.int32)
        renumbered[old] = np.arange(len(old), dtype=np.int32)
        parents = np.frombuffer(self._parents, np.int32)[old]
        self._parents = array("i", renumbered[parents].tobytes())
        self._offsets = array("H", np.frombuffer(self._offsets, np.uint16)[old].tobytes())
        self._holds = array("i", np.frombuffer(self._holds, np.int32)[old].tobytes())
        self._handles = array("i", np.frombuffer(self._handles, np.int32)[old].tobytes())
        return renumbered

    def _columns(self) -> tuple[array[int], ...]:
        """Return the memory of all segments, in the order in which C wants it."""
        return self._parents, self._offsets, self._holds, self._handles
