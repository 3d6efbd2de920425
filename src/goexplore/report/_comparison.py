"""The page of a comparison: curves with bands, and a table at the end of the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from statistics import fmean

from goexplore.evaluation import MEANING, caution, mean_with_interval
from goexplore.problems import Problem
from goexplore.report._curves import Curve, Group
from goexplore.report._html import table
from goexplore.report._page import write_page
from goexplore.report._sections import curves_section

_COLUMNS = {"rooms": "rooms", "level": "highest level", "cells": "cells", "max_score": "best search score"}


def comparison_note(game_frames: int, runs: int) -> str:
    """Return what a comparison's numbers are."""
    if runs == 1:
        return f"one run of each, at the end of the last batch within {game_frames:,} game frames"
    return (
        f"means over {runs} runs, at the end of the last batch within {game_frames:,} game frames; "
        f"95 % pivotal bootstrap intervals over runs{caution(runs)}"
    )


def comparison_table(
    problem: Problem, found: Mapping[str, Sequence[Curve]]
) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows: what each variant had at the end, and the game frames that took."""
    columns = _columns(problem, found)
    costs = any(curve[-1].max_score < 0 for curves in found.values() for curve in curves)
    rows = [
        [
            name,
            *(_value(curves, column, costs) for column in columns),
            f"{fmean(curve[-1].game_frames for curve in curves):,.0f}",
        ]
        for name, curves in found.items()
    ]
    return ["variant", *columns.values(), "game frames"], rows


def _value(curves: Sequence[Curve], column: str, costs: bool) -> str:
    """Return a mean with its interval; where scores are costs, a run without a result has no score."""
    counted = [curve[-1] for curve in curves if curve[-1].has_result or column != "max_score" or not costs]
    if not counted:
        return "no result"
    text = mean_with_interval([getattr(last, column) for last in counted]).text()
    return text if len(counted) == len(curves) else f"{text}, {len(counted)} of {len(curves)} runs"


def _columns(problem: Problem, found: Mapping[str, Sequence[Curve]]) -> dict[str, str]:
    """Return what is compared, and its names: levels only where a run has left the first one."""
    left_out = set() if problem.env().has_rooms else {"rooms"}
    if not any(curve[-1].level > 0 for curves in found.values() for curve in curves):
        left_out.add("level")
    return {column: label for column, label in _COLUMNS.items() if column not in left_out}


def write_comparison(
    title: str, problem: Problem, found: Mapping[str, Sequence[Curve]], game_frames: int, file: Path
) -> None:
    """Write the page."""
    columns = _columns(problem, found)
    groups = [
        Group(
            name=name,
            # To the end of the budget: nothing was found after the last batch within it.
            curves=[[*curve, replace(curve[-1], game_frames=game_frames)] for curve in curves],
            paper=None,
            has_rooms="rooms" in columns,
            has_levels="level" in columns,
        )
        for name, curves in found.items()
    ]
    heads, rows = comparison_table(problem, found)
    heads.insert(1, "what it is")
    for row in rows:
        row.insert(1, MEANING[row[0]])
    note = f'<p class="note">{escape(comparison_note(game_frames, len(next(iter(found.values())))))}.</p>'
    shown = [[escape(cell) for cell in row] for row in rows]
    write_page(
        title,
        [
            ("curves", "Curves", curves_section(groups, list(columns))),
            ("table", "At equal game frames", note + table(heads, shown, numbers=range(2, len(heads)))),
        ],
        file,
    )
