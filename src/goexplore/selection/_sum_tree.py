"""Roulette-wheel selection in O(log n) (what paper appendix A.8 leaves to the future)."""

import numpy as np
from numpy.typing import NDArray

from goexplore import _native as native

_Floats = NDArray[np.float64]
_Numbers = NDArray[np.int64]


class SumTree:
    """Weights in a binary tree whose inner nodes hold the sum of their two children.

    Every inner node is always recomputed from its children, so the tree is a pure function of its leaves: one
    that is rebuilt after a resume has the same bits, and gives the same samples, as one that was updated.
    """

    def __init__(self) -> None:
        self._size = 0
        self._nodes: _Floats = np.zeros(2)
        """Node 1 is the root, the children of node i are 2i and 2i + 1, the second half are the leaves."""

    def __len__(self) -> int:
        return self._size

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self._nodes[1])

    def weights(self) -> _Floats:
        """Return a copy of all weights."""
        half = len(self._nodes) // 2
        return self._nodes[half : half + self._size].copy()

    def grow(self, size: int) -> None:
        """Make room for weights up to number `size`; new ones are 0."""
        self._size = max(size, self._size)
        half = len(self._nodes) // 2
        if self._size > half:
            old = self._nodes[half:]
            half = 1 << (self._size - 1).bit_length()
            self._nodes = np.zeros(2 * half)
            self._nodes[half : half + len(old)] = old
            self._sum_up_first(len(old))

    def set(self, leaves: _Numbers, weights: _Floats) -> None:
        """Set the weights of some leaves, each named once, in rising order."""
        if native.archive is not None:
            native.archive.tree_set(self._nodes, leaves, weights)
            return
        nodes = leaves + len(self._nodes) // 2
        self._nodes[nodes] = weights
        self._sum_up(nodes)

    def _sum_up_first(self, count: int) -> None:
        """Recompute everything above the first leaves; what lies beyond them is 0 and is not touched."""
        first = len(self._nodes) // 2
        while first > 1:
            count = (count + 1) // 2
            children = self._nodes[first : first + 2 * count]
            first //= 2
            self._nodes[first : first + count] = children[::2] + children[1::2]

    def _sum_up(self, nodes: _Numbers) -> None:
        """Recompute everything above these nodes, given in rising order, level by level."""
        while len(nodes) and nodes[0] > 1:
            nodes = nodes >> 1
            nodes = nodes[np.concatenate(([True], nodes[1:] != nodes[:-1]))]
            self._nodes[nodes] = self._nodes[2 * nodes] + self._nodes[2 * nodes + 1]

    def find(self, positions: _Floats) -> _Numbers:
        """Return the leaves at these positions (0 up to, not including, `total`) on the wheel."""
        if native.archive is not None:
            return np.frombuffer(native.archive.tree_find(self._nodes, positions), np.int64)
        node = np.ones(len(positions), np.int64)
        rest = positions.copy()
        for _ in range((len(self._nodes) // 2).bit_length() - 1):
            left = self._nodes[2 * node]
            # Rounding may leave a rest beyond the last weight: never go where there is no weight.
            right = (rest >= left) & (self._nodes[2 * node + 1] > 0)
            rest -= np.where(right, left, 0)
            node = 2 * node + right
        return node - len(self._nodes) // 2
