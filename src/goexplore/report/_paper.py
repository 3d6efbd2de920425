"""The paper's own numbers, for comparison: data with their source, in paper.json."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from goexplore.problems import Problem


@dataclass(frozen=True, kw_only=True)
class LevelReached:
    """When the paper's runs had solved so many levels, on average over those that did."""

    level: int
    solved: float
    """Share of the runs."""
    game_frames: float
    hours: float


@dataclass(frozen=True, kw_only=True)
class PaperSearch:
    """Phase 1 of one experiment."""

    name: str
    where: str
    """In the paper."""
    runs: int
    game_frames: float | None
    """Of a whole run; None where the paper does not say."""
    hours: float | None
    rooms: float
    score: float
    score_interval: tuple[float, float] | None
    """95 %, pivotal bootstrap."""
    levels: tuple[LevelReached, ...]
    source: str
    machine: str


@dataclass(frozen=True, kw_only=True)
class PaperPolicy:
    """What one algorithm scores in one game."""

    algorithm: str
    kind: str
    score: float
    statistic: str
    """What of its episodes: their mean, or the best one."""
    game_frames: float | None
    """Of training; None where the paper does not say."""
    source: str


@dataclass(frozen=True, kw_only=True)
class PaperPolicies:
    """What policies score in one game, as the paper collected it."""

    rows: tuple[PaperPolicy, ...]
    where: str
    """In the paper."""
    note: str
    source: str


def paper_policies(game: str) -> PaperPolicies:
    """Return the policy scores of others in a game, given by its ROM's name."""
    data = _data()
    rows = (
        PaperPolicy(
            **{name: each[name] for name in ("algorithm", "kind", "statistic", "source")},
            score=each["scores"][game],
            game_frames=each["game_frames"].get(game),
        )
        for each in data["policies"]["rows"]
        if game in each["scores"]
    )
    return PaperPolicies(
        rows=tuple(rows),
        where=data["policies"]["where"],
        note=data["policies"]["note"],
        source=data["source"],
    )


@cache
def _data() -> Any:
    return json.loads((Path(__file__).parent / "paper.json").read_text(encoding="utf-8"))


@cache
def _searches() -> dict[tuple[str, str], PaperSearch]:
    data = copy.deepcopy(_data())
    found = {}
    for each in data["searches"]:
        key = (each.pop("game"), each.pop("cells"))
        levels = tuple(LevelReached(**level) for level in each.pop("levels"))
        interval = each.pop("score_interval")
        found[key] = PaperSearch(
            **each,
            levels=levels,
            score_interval=tuple(interval) if interval else None,
            source=data["source"],
            machine=data["machine"],
        )
    return found


def paper_search(problem: Problem) -> PaperSearch | None:
    """Return the paper's experiment with the same game and kind of cells, if there is one."""
    return _searches().get((problem.env.name, problem.cells.kind))
