"""Selection: which cell to return to next."""

from goexplore.selection._selection import Selection, StartSelection, UniformSelection, WeightedSelection
from goexplore.selection._subscores import CountedAttribute, CountScore, NeighbourScore, RankScore, Subscore
from goexplore.selection._sum_tree import SumTree

__all__ = [
    "CountScore",
    "CountedAttribute",
    "NeighbourScore",
    "RankScore",
    "Selection",
    "StartSelection",
    "Subscore",
    "SumTree",
    "UniformSelection",
    "WeightedSelection",
]
