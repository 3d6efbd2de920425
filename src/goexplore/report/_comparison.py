"""The page of a comparison: curves with bands, and a table at the end of the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from goexplore.comparison import MEANING
from goexplore.config import SearchConfig
from goexplore.envs import facts
from goexplore.evaluation import Estimate, mean_with_interval
from goexplore.report._curves import Curve, Group
from goexplore.report._html import table
from goexplore.report._page import write_page
from goexplore.report._sections import curves_section

_COLUMNS = {"rooms": "rooms", "level": "highest level", "cells": "cells", "max_score": "best search score"}


def comparison_rows(
    found: Mapping[str, Sequence[Curve]], columns: Sequence[str]
) -> dict[str, list[Estimate]]:
    """Return what each variant had at the end: means over runs with their pivotal intervals."""
    return {
        name: [mean_with_interval([curve[-1][column] for curve in curves]) for column in columns]
        for name, curves in found.items()
    }


def comparison_columns(config: SearchConfig) -> dict[str, str]:
    """Return what is compared in a game, and its names."""
    game = facts(config.env.name)
    left_out = {"rooms"} if game.room_address is None else set()
    left_out |= {"level"} if game.level_address is None else set()
    return {column: label for column, label in _COLUMNS.items() if column not in left_out}


def write_comparison(
    title: str, config: SearchConfig, found: Mapping[str, Sequence[Curve]], file: Path
) -> None:
    """Write the page."""
    columns = comparison_columns(config)
    groups = [
        Group(
            name=name, curves=curves, paper=None, has_rooms="rooms" in columns, has_levels="level" in columns
        )
        for name, curves in found.items()
    ]
    rows = [
        [escape(name), escape(MEANING[name]), *(each.text() for each in estimates)]
        for name, estimates in comparison_rows(found, list(columns)).items()
    ]
    heads = ["variant", "what it is", *columns.values()]
    runs = max(len(curves) for curves in found.values())
    note = (
        f'<p class="note">Means over {runs} {"run" if runs == 1 else "runs"} at the end of the budget, with '
        "95 % pivotal bootstrap intervals over runs.</p>"
    )
    write_page(
        title,
        [
            ("curves", "Curves", curves_section(groups, list(columns))),
            ("table", "At equal game frames", note + table(heads, rows, numbers=range(2, len(heads)))),
        ],
        file,
    )
