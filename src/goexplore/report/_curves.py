"""Curves over game frames: one line per kind of search, with a band over its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.report._paper import PaperSearch
from goexplore.report._plot import FAINT, INK, draw_svg
from goexplore.runs import SearchMetrics

_POINTS = 200
_RESAMPLES = 1000  # as in the paper's figures (section 2.3)
_NEAR = 1.2
"""How far beyond the end of our curves the paper's numbers are still drawn."""
PALETTE = ("#2f7fd1", "#d9822b", "#3a9d5d", "#b5489c", "#8a6d3b")

PANELS = {
    "cells": "cells",
    "rooms": "rooms",
    "level": "highest level",
    "max_score": "best search score",
    "game_frames_per_second": "game frames per second",
    "memory_bytes": "memory, MB",
}

_START = {"cells": 1, "rooms": 1, "level": 0, "max_score": 0}
"""What every search has before its first game frame."""

Curve = Sequence[SearchMetrics]
"""Metrics of a run, in order."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Runs that differ by their seed alone."""

    name: str
    curves: Sequence[Curve]
    paper: PaperSearch | None
    has_rooms: bool
    has_levels: bool

    @property
    def end(self) -> float:
        """Game frames of the longest run."""
        return max(float(curve[-1].game_frames) for curve in self.curves)

    def papers_points(self, column: str) -> list[tuple[float, float]]:
        """Return what the paper reached, and after how many game frames, where that is near."""
        paper = self.paper
        if paper is None:
            return []
        if column == "level":
            points = [(each.game_frames, float(each.level)) for each in paper.levels]
        else:
            goal = {"rooms": paper.rooms, "max_score": paper.score}.get(column)
            points = [] if goal is None or paper.game_frames is None else [(paper.game_frames, goal)]
        return [(frames, value) for frames, value in points if frames <= _NEAR * self.end]


@dataclass(frozen=True)
class Band:
    """A mean over runs and its 95 % interval, at some game frames."""

    game_frames: NDArray[np.float64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def band(curves: Sequence[Curve], column: str) -> Band:
    """Return mean and percentile bootstrap interval over the runs that are still going at each point."""
    ends = [float(curve[-1].game_frames) for curve in curves]
    grid = np.linspace(0, max(ends), _POINTS)
    values = np.full((len(curves), _POINTS), np.nan)
    for row, curve, end in zip(values, curves, ends, strict=True):
        start = _START.get(column, getattr(curve[0], column))
        frames = np.array([0, *(point.game_frames for point in curve)], np.float64)
        found = np.array([start, *(getattr(point, column) for point in curve)], np.float64)
        row[grid <= end] = np.interp(grid[grid <= end], frames, found)
    mean = np.nanmean(values, axis=0)
    low, high = mean.copy(), mean.copy()
    for going in np.unique(~np.isnan(values), axis=1).T:  # runs, from all of them to the longest alone
        here = (~np.isnan(values) == going[:, None]).all(axis=0)
        low[here], high[here] = _interval(values[np.ix_(going, here)])
    return Band(grid, mean, low, high)


def _interval(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    mean = values.mean(axis=0)
    low, high = mean.copy(), mean.copy()
    spread = values.std(axis=0) > 0  # where all runs agree there is nothing to resample
    if spread.any():
        from scipy.stats import bootstrap

        found = bootstrap(
            (values[:, spread],),
            np.mean,
            n_resamples=_RESAMPLES,
            method="percentile",
            axis=0,
            rng=np.random.default_rng(0),
        ).confidence_interval
        low[spread], high[spread] = found.low, found.high
    return low, high


def panels(groups: Sequence[Group]) -> list[str]:
    """Return the columns worth a plot."""
    hidden = set()
    if not any(group.has_rooms for group in groups):
        hidden.add("rooms")
    if not any(group.has_levels for group in groups):
        hidden.add("level")
    return [column for column in PANELS if column not in hidden]


def draw_panel(groups: Sequence[Group], column: str) -> str:
    """Return one plot as SVG."""
    from matplotlib.ticker import MaxNLocator

    scale = 1e6 if column == "memory_bytes" else 1.0
    unit, unit_name = (1e6, "million") if max(group.end for group in groups) >= 2e6 else (1e3, "thousand")

    def draw(figure: Any, axis: Any) -> None:
        for number, group in enumerate(groups):
            colour = PALETTE[number % len(PALETTE)]
            found = band(group.curves, column)
            frames = found.game_frames / unit
            axis.plot(frames, found.mean / scale, color=colour, lw=1.8)
            axis.fill_between(frames, found.low / scale, found.high / scale, color=colour, alpha=0.2, lw=0)
            points = [(frames / unit, value) for frames, value in group.papers_points(column)]
            if points:
                axis.plot(*zip(*points, strict=True), "o--", color=colour, ms=5, mfc="none", lw=1)
        axis.set_xlabel(f"{unit_name} game frames")
        axis.set_title(PANELS[column], color=INK, fontsize=12, loc="left")
        axis.set_ylim(
            min(0.0, axis.get_ylim()[0] if column == "max_score" else 0.0), max(1.0, axis.get_ylim()[1])
        )
        axis.set_xlim(left=0)
        axis.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.grid(color=FAINT, lw=0.6)
        for name, spine in axis.spines.items():
            spine.set_visible(name in ("left", "bottom"))
            spine.set_color(FAINT)

    return draw_svg(draw, size=(5.2, 3.2), name=column, label=f"{PANELS[column]} over game frames")
