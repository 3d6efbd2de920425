"""A search and its baselines: simpler searches with an equal budget of game frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from goexplore.problems import Problem
from goexplore.runs import SearchMetrics

LONGEST_EXPLORATION = 65_535
"""Training frames: as good as without end, for an episode ends before."""

OURS = "as it is"
BY_REPLAY = "returning by replay"


def variants(problem: Problem) -> dict[str, Problem]:
    """Return a search and its baselines, by what is different about them."""
    start = replace(problem, selection=replace(problem.selection, rule="start"))
    endless = replace(start.exploration, training_frames=LONGEST_EXPLORATION, batch_size=10)
    return {
        OURS: problem,
        "uniform selection": replace(problem, selection=replace(problem.selection, rule="uniform")),
        "restarts": start,
        "random": replace(start, exploration=endless),
    }


MEANING = {
    OURS: "the search with all its settings",
    BY_REPLAY: "the same, but every return costs a replay of the trajectory instead of nothing",
    "uniform selection": "every cell is as likely to be chosen as any other",
    "restarts": "always from the initial state, for one exploration's length",
    "random": "always from the initial state, until the episode ends",
}


def up_to(metrics: Sequence[SearchMetrics], game_frames: int) -> list[SearchMetrics]:
    """Return what a search had at the end of each batch that ended within a budget, after its start."""
    start = SearchMetrics(rooms=1, level=0)
    return [start, *(line for line in metrics if line.game_frames <= game_frames)]


def by_replay(metrics: Sequence[SearchMetrics], game_frames: int) -> list[SearchMetrics]:
    """Return the same as if the search had returned to cells by replay (paper, appendix A.8).

    It finds the same, but each batch ends later.
    """
    return up_to([replace(line, game_frames=line.game_frames_with_replay) for line in metrics], game_frames)
