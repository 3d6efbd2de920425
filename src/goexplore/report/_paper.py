"""The paper's own numbers, for comparison: data with their source, in paper.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from goexplore.config import SearchConfig


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


@cache
def _searches() -> dict[tuple[str, str], PaperSearch]:
    data = json.loads((Path(__file__).parent / "paper.json").read_text(encoding="utf-8"))
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


def paper_search(config: SearchConfig) -> PaperSearch | None:
    """Return the paper's experiment with the same game and kind of cells, if there is one."""
    return _searches().get((config.env.name, config.cells.kind))
