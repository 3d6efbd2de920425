"""Our scores beside those of others: of policies or of searches, means or best ones, and at what budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean
from typing import Any

from goexplore.report._curves import Group
from goexplore.report._html import short, table
from goexplore.report._paper import PaperSearch, paper_policies
from goexplore.report._plot import FAINT, INK, draw_svg
from goexplore.report._policies import TrainedRun
from goexplore.runs import score_text

_OURS, _OTHERS = "#2f7fd1", "#8a8f98"


@dataclass(frozen=True, kw_only=True)
class _Score:
    name: str
    kind: str
    what: str
    value: float
    game_frames: float | None
    source: str
    ours: bool


def others_section(game: str, groups: Sequence[Group], trainings: Sequence[TrainedRun]) -> str:
    """Return a picture and a table; nothing for a game that the paper has no scores of."""
    paper = paper_policies(game)
    if not paper.rows:
        return ""
    scores = [
        _Score(
            name=each.algorithm,
            kind=each.kind,
            what=f"policy score, {each.statistic}" if each.kind != "human" else each.statistic,
            value=each.score,
            game_frames=each.game_frames,
            source=each.source,
            ours=False,
        )
        for each in paper.rows
    ]
    scores += [_of_paper(each) for each in {group.paper: None for group in groups if group.paper}]
    scores += [*map(_of_search, groups), *(each for one in trainings for each in _of_training(one))]
    scores.sort(key=lambda each: -each.value)
    rows = [
        [
            f"<b>{escape(each.name)}</b>" if each.ours else escape(each.name),
            each.kind,
            each.what,
            score_text(each.value, 1),
            "" if each.game_frames is None else short(each.game_frames),
            escape(each.source),
        ]
        for each in scores
    ]
    heads = ["who", "kind", "what the number is", "score", "game frames", "source"]
    return (
        f'<div class="plots">{_draw(scores)}</div><p class="note">A <b>policy score</b> is of the stochastic '
        "game, a <b>search score</b> is of one trajectory in the deterministic game: they do not compare. "
        f"Others: {escape(paper.where)}, {escape(paper.note)}. {escape(paper.source)}.</p>"
        f"<details><summary>All numbers</summary>{table(heads, rows, numbers=[3, 4])}</details>"
    )


def _of_paper(search: PaperSearch) -> _Score:
    return _Score(
        name=f"Go-Explore, Phase 1 {search.name}",
        kind="search",
        what=f"search score, mean of {search.runs} runs' best",
        value=search.score,
        game_frames=search.game_frames,
        source=search.where,
        ours=False,
    )


def _of_search(group: Group) -> _Score:
    ends = [curve[-1] for curve in group.curves]
    many = f", {len(ends)} runs" if len(ends) > 1 else ""
    return _Score(
        name=f"{group.name}{many}",
        kind="search",
        what="search score, mean of the runs' best" if many else "search score",
        value=fmean(end.max_score for end in ends),
        game_frames=fmean(end.game_frames for end in ends),
        source="this page",
        ours=True,
    )


def _of_training(training: TrainedRun) -> list[_Score]:
    """Return its policy's score in whole games, if that was evaluated."""
    return [
        _Score(
            name=training.name,
            kind="reinforcement learning",
            what="policy score, mean",
            value=fmean(each.evaluation.score for each in results),
            game_frames=results[0].player.game_frames,
            source=f"this page, temperature {temperature:g}",
            ours=True,
        )
        for (until, _, _, temperature), results in training.results_by_settings.items()
        if until is None
    ]


def _draw(scores: Sequence[_Score]) -> str:
    def draw(figure: Any, axis: Any) -> None:
        for row, each in enumerate(scores):
            colour = _OURS if each.ours else _OTHERS
            filled = colour if each.what.startswith("policy") else "none"
            axis.plot(each.value, row, "o", color=colour, mfc=filled, ms=6 if each.ours else 4)
        axis.set_xscale("symlog", linthresh=100)
        axis.set_yticks(range(len(scores)), [each.name for each in scores], fontsize=8)
        for label, each in zip(axis.get_yticklabels(), scores, strict=True):
            label.set_fontweight("bold" if each.ours else "normal")
        axis.set_ylim(len(scores) - 0.5, -0.5)
        axis.set_title("score (filled: of a policy; open: of a search or a human)", color=INK, fontsize=10)
        axis.xaxis.set_major_formatter(lambda value, _: short(value))
        axis.grid(color=FAINT, lw=0.6)
        for spine in axis.spines.values():
            spine.set_visible(False)

    return draw_svg(draw, size=(7, 1 + 0.19 * len(scores)), name="others", label="Scores of ours and others")
