"""The settings of the selection, and the selection that they mean."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from goexplore.cells import CellRepresentation
from goexplore.errors import ConfigError, require_between
from goexplore.selection._selection import Selection, StartSelection, UniformSelection, WeightedSelection
from goexplore.selection._subscores import CountedAttribute, CountScore, NeighbourScore, RankScore, Subscore

Rule: TypeAlias = Literal["weighted", "uniform", "start"]


@dataclass(frozen=True, kw_only=True)
class SelectionConfig:
    """How likely each cell is to be chosen (appendix A.5, tables 1 and 2).

    The defaults are the follow-up's rule for cells without domain knowledge, 1 / sqrt(seen + 1).
    """

    rule: Rule = "weighted"
    """weighted uses the weights below. Baselines: uniform ignores them, start takes the initial state."""
    chosen_weight: float = 0.0
    """w_a of the times a cell was chosen."""
    chosen_since_new_weight: float = 0.0
    """w_a of the times a cell was chosen since it last led to a new or better cell."""
    seen_weight: float = 1.0
    """w_a of the explorations that passed through a cell."""
    power: float = 0.5
    """p_a: exponent of all three counts."""
    epsilon1: float = 1.0
    """Added to the counts."""
    epsilon2: float = 0.0
    """Added to each count subscore."""
    horizontal_weight: float = 0.0
    """w_n of a missing left or right neighbour, for cells that have neighbours."""
    vertical_weight: float = 0.0
    """w_n of a missing neighbour above or below, for cells that have neighbours."""
    rank_weight: float = 0.0
    """w_n where no cell at the same spot ranks higher: holds more keys, in Montezuma's Revenge."""
    constant: float = 0.0
    """Constant term of CellScore, 1 in the paper."""
    level_factor: float = 0.1
    """Base of LevelWeight, for cells that know their level."""
    reset_seen: bool = True
    """Whether an improved cell's times seen start again, as its other counters do (section 2.1.5)."""

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise ConfigError(f"expected `rule` to be weighted, uniform or start, got {self.rule!r}")
        for each in dataclasses.fields(self):
            value = getattr(self, each.name)
            if each.type in ("float", float):
                require_between(each.name, value, 0, 1e9)
        require_between("epsilon1", self.epsilon1, 1e-9, 1e9)
        require_between("level_factor", self.level_factor, 0, 1)
        counted = self.chosen_weight + self.chosen_since_new_weight + self.seen_weight
        if self.rule == "weighted" and self.constant + self.epsilon2 + counted <= 0:
            raise ConfigError(
                "expected every cell to have a chance, got a selection with `constant`, `epsilon2` and all "
                "count weights 0: set one of them"
            )

    def build(self, cells: CellRepresentation) -> Selection:
        """Return the selection of appendix A.5 with these weights."""
        if self.rule != "weighted":
            return UniformSelection() if self.rule == "uniform" else StartSelection()
        counted: dict[CountedAttribute, float] = {
            "times_chosen": self.chosen_weight,
            "times_chosen_since_new": self.chosen_since_new_weight,
            "times_seen": self.seen_weight,
        }
        subscores: list[Subscore] = [
            CountScore(
                attribute, weight=weight, power=self.power, epsilon1=self.epsilon1, epsilon2=self.epsilon2
            )
            for attribute, weight in counted.items()
        ]
        for name, weight, neighbours in (
            ("horizontal_weight", self.horizontal_weight, cells.horizontal_neighbours),
            ("vertical_weight", self.vertical_weight, cells.vertical_neighbours),
        ):
            if neighbours is not None and weight:
                subscores.append(NeighbourScore(neighbours, weight=weight))
            elif weight:
                raise ConfigError(
                    f"expected `{name}` to be 0 for cells that have no neighbours, got {weight:g}: use cells "
                    "that define them"
                )
        if cells.spot is not None and cells.rank is not None and self.rank_weight:
            subscores.append(RankScore(spot=cells.spot, rank=cells.rank, weight=self.rank_weight))
        elif self.rank_weight:
            raise ConfigError(
                f"expected `rank_weight` to be 0 for cells that have no rank, got {self.rank_weight:g}: use "
                "cells that define `spot` and `rank`"
            )
        return WeightedSelection(
            subscores, constant=self.constant, level=cells.level_of, level_factor=self.level_factor
        )


PAPER_SELECTION = SelectionConfig(
    seen_weight=0.0, epsilon1=0.001, epsilon2=0.00001, constant=1.0, reset_seen=False
)
"""What the paper's tables have in common (appendix A.6)."""
