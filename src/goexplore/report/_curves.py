"""Curves over game frames: one line per kind of search, with a band over its runs."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.report._paper import PaperSearch

_POINTS = 200
_RESAMPLES = 1000  # as in the paper's figures (section 2.3)
INK, FAINT = "#010203", "#040506"
"""Stand for colours of the page's style, which knows whether it is light or dark."""
PALETTE = ("#2f7fd1", "#d9822b", "#3a9d5d", "#b5489c", "#8a6d3b")

PANELS = {
    "cells": "cells",
    "rooms": "rooms",
    "level": "highest level",
    "max_score": "best search score",
    "game_frames_per_second": "game frames per second",
    "memory_bytes": "memory, MB",
}


@dataclass(frozen=True, kw_only=True)
class Group:
    """Runs that differ by their seed alone."""

    name: str
    curves: Sequence[Sequence[dict[str, Any]]]
    """Metrics of each run."""
    paper: PaperSearch | None


def panels(groups: Sequence[Group]) -> list[str]:
    """Return the columns worth a plot: without a map there are no rooms and no levels."""
    mapped = any(curve[-1]["rooms"] for group in groups for curve in group.curves)
    return [column for column in PANELS if mapped or column not in ("rooms", "level")]


@dataclass(frozen=True)
class Band:
    """A mean over runs and its 95 % interval, at some game frames."""

    game_frames: NDArray[np.float64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def band(curves: Sequence[Sequence[dict[str, Any]]], column: str) -> Band:
    """Return mean and percentile bootstrap interval over runs, up to where the shortest of them ends."""
    end = min(curve[-1]["game_frames"] for curve in curves)
    grid = np.linspace(0, end, _POINTS)
    rows = []
    for curve in curves:
        frames = np.array([0, *(point["game_frames"] for point in curve)], np.float64)
        values = np.array([curve[0][column], *(point[column] for point in curve)], np.float64)
        rows.append(np.interp(grid, frames, values))
    values = np.array(rows)
    mean = values.mean(axis=0)
    if len(rows) == 1:
        return Band(grid, mean, mean, mean)
    from scipy.stats import bootstrap

    spread = values.std(axis=0) > 0  # where all runs agree there is nothing to resample
    low, high = mean.copy(), mean.copy()
    if spread.any():
        interval = bootstrap(
            (values[:, spread],),
            np.mean,
            n_resamples=_RESAMPLES,
            method="percentile",
            axis=0,
            rng=np.random.default_rng(0),
        ).confidence_interval
        low[spread], high[spread] = interval.low, interval.high
    return Band(grid, mean, low, high)


def draw_panel(groups: Sequence[Group], column: str) -> str:
    """Return one plot as SVG that takes its colours from the page."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import MaxNLocator

    scale = 1e6 if column == "memory_bytes" else 1.0
    longest = max(curve[-1]["game_frames"] for group in groups for curve in group.curves)
    unit, unit_name = (1e6, "million") if longest >= 2e6 else (1e3, "thousand")
    with pyplot.rc_context({"svg.fonttype": "none", "font.size": 11, "svg.hashsalt": "goexplore"}):
        figure, axis = pyplot.subplots(figsize=(5.2, 3.2), layout="constrained")
        for number, group in enumerate(groups):
            colour = PALETTE[number % len(PALETTE)]
            found = band(group.curves, column)
            axis.plot(found.game_frames / unit, found.mean / scale, color=colour, lw=1.8)
            axis.fill_between(
                found.game_frames / unit, found.low / scale, found.high / scale, color=colour, alpha=0.2, lw=0
            )
            _draw_paper(axis, group, column, float(found.game_frames[-1]), unit, colour)
        axis.set_xlabel(f"{unit_name} game frames", color=INK)
        axis.set_title(PANELS[column], color=INK, fontsize=12, loc="left")
        axis.set_ylim(bottom=0)
        axis.set_xlim(left=0)
        axis.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=column != "memory_bytes"))
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.tick_params(colors=INK)
        axis.grid(color=FAINT, lw=0.6)
        for name, spine in axis.spines.items():
            spine.set_visible(name in ("left", "bottom"))
            spine.set_color(FAINT)
        figure.patch.set_alpha(0)
        axis.patch.set_alpha(0)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        pyplot.close(figure)
    return for_page(text.getvalue(), column, f"{PANELS[column]} over game frames")


def for_page(svg: str, name: str, label: str) -> str:
    """Return an SVG as a part of a page that has several: names of its own, the page's colours, any size."""
    svg = re.sub(r"^.*?(?=<svg)", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = svg.replace(INK, "var(--ink)").replace(FAINT, "var(--faint)")
    frame = rf'<svg viewBox="\1" role="img" aria-label="{label}">'
    return re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', frame, svg, count=1)


def _draw_paper(axis: Any, group: Group, column: str, end: float, unit: float, colour: str) -> None:
    """Draw what the paper reached, if it lies anywhere near."""
    paper = group.paper
    if paper is None:
        return
    if column == "level" and paper.levels:
        near = [each for each in paper.levels if each.game_frames <= 1.2 * end]
        frames, levels = [each.game_frames / unit for each in near], [each.level for each in near]
        axis.plot(frames, levels, "o--", color=colour, ms=4, lw=1)
    goal = {"rooms": paper.rooms, "max_score": paper.score}.get(column)
    if goal is not None and paper.game_frames is not None and end >= 0.1 * paper.game_frames:
        axis.plot([paper.game_frames / unit], [goal], "o", color=colour, ms=6, mfc="none")
