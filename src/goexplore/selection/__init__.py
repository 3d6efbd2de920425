"""Selection: which cell to return to next."""

from goexplore.selection._selection import Selection, UniformSelection, WeightedSelection
from goexplore.selection._subscores import CountedAttribute, CountScore, NeighbourScore, RankScore, Subscore
from goexplore.selection._sum_tree import SumTree

__all__ = [
    "CountScore",
    "CountedAttribute",
    "NeighbourScore",
    "RankScore",
    "Selection",
    "Subscore",
    "SumTree",
    "UniformSelection",
    "WeightedSelection",
]
