"""The paper's argument made visible: what a search finds beside simpler ones, with equal game frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from goexplore.config import SearchConfig

LONGEST_EXPLORATION = 65_535
"""Training frames: as good as without end, for an episode ends before."""

OURS = "as it is"
BY_REPLAY = "returning by replay"


def variants(config: SearchConfig) -> dict[str, SearchConfig]:
    """Return a search and its baselines, by what is different about them."""
    start = replace(config, selection=replace(config.selection, rule="start"))
    endless = replace(start.exploration, training_frames=LONGEST_EXPLORATION, batch_size=10)
    return {
        OURS: config,
        "uniform selection": replace(config, selection=replace(config.selection, rule="uniform")),
        "restarts": start,
        "random": replace(start, exploration=endless),
    }


MEANING = {
    OURS: "the search with all its settings",
    BY_REPLAY: "the same, but every return costs a replay of the trajectory instead of nothing",
    "uniform selection": "every cell is as likely to be chosen as any other",
    "restarts": "random actions from the initial state, begun anew after every exploration's length",
    "random": "random actions from the initial state, until the episode ends",
}


def up_to(metrics: Sequence[dict[str, Any]], game_frames: float) -> list[dict[str, Any]]:
    """Return a search's metrics up to the end of the batch in which a budget ended."""
    beyond = next((at for at, line in enumerate(metrics) if line["game_frames"] >= game_frames), len(metrics))
    return list(metrics[: beyond + 1])


def by_replay(metrics: Sequence[dict[str, Any]], game_frames: float) -> list[dict[str, Any]]:
    """Return a search's metrics as if it had returned to cells by replay (paper, appendix A.8).

    The same search, but each point comes later; what comes after the budget is left out.
    """
    moved = [{**line, "game_frames": line["game_frames_with_replay"]} for line in metrics]
    within = [line for line in moved if line["game_frames"] <= game_frames]
    if len(within) < len(moved):  # what it has when the budget ends
        last = within[-1] if within else {**moved[0], "cells": 1, "rooms": 1, "level": 0, "max_score": 0.0}
        within.append({**last, "game_frames": game_frames})
    return within
