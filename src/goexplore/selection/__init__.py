"""Selection: which cell to return to next."""

from goexplore.selection._config import PAPER_SELECTION, SelectionConfig
from goexplore.selection._selection import Selection, StartSelection, UniformSelection, WeightedSelection
from goexplore.selection._subscores import CountedAttribute, CountScore, NeighbourScore, RankScore, Subscore
from goexplore.selection._sum_tree import SumTree

__all__ = [
    "PAPER_SELECTION",
    "CountScore",
    "CountedAttribute",
    "NeighbourScore",
    "RankScore",
    "Selection",
    "SelectionConfig",
    "StartSelection",
    "Subscore",
    "SumTree",
    "UniformSelection",
    "WeightedSelection",
]
