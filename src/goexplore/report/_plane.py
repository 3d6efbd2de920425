"""Cells that are two numbers each: where they lie, coloured by their scores and by when they were found."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.report._plot import FAINT, INK, draw_svg
from goexplore.report._view import MEANING, ArchiveView, Colouring

_COLOURINGS: tuple[Colouring, ...] = ("score", "found")
_LARGEST, _SMALLEST = 14.0, 1.5
"""Points that the side of a square has, at most and at least."""
_WIDTH = 300.0
"""Points that the squares of a row have in all, about."""

Plane = dict[str, NDArray[np.float64]]
"""Two columns of numbers, by their names."""


def find_plane(view: ArchiveView) -> Plane | None:
    """Return the two numbers of each cell, or None where cells are anything else."""
    archive = view.archive
    columns = view.cell_env.cells.columns([archive.cell(entry) for entry in range(len(archive))])
    if len(columns) != 2 or any(values.dtype.kind not in "iuf" for values in columns.values()):
        return None
    return {name: values.astype(np.float64) for name, values in columns.items()}


def plane_section(view: ArchiveView, plane: Plane) -> str:
    """Return the cells on their grid, once for each colouring."""
    plots = "".join(
        draw_svg(
            partial(_draw, view, plane, colouring),
            size=(5.2, 4.2),
            name=f"plane-{colouring}",
            label=f"cells by {' and '.join(plane)}, coloured by {MEANING[colouring]}",
        )
        for colouring in _COLOURINGS
    )
    return f'<div class="plots">{plots}</div>'


def _draw(view: ArchiveView, plane: Plane, colouring: Colouring, figure: Any, axis: Any) -> None:
    (right, x), (up, y) = plane.items()
    values = view.values(colouring)
    order = np.argsort(values if colouring == "score" else -values, kind="stable")  # what counts is on top
    across = max(np.ptp(x), np.ptp(y), 1.0) + 1
    side = min(max(_WIDTH / across, _SMALLEST), _LARGEST)
    drawn = axis.scatter(
        x[order], y[order], c=values[order], s=side**2, marker="s", cmap="viridis", lw=0, rasterized=True
    )
    axis.set_xlabel(right)
    axis.set_ylabel(up, color=INK)
    axis.set_title(MEANING[colouring], color=INK, fontsize=12, loc="left")
    for name, spine in axis.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(FAINT)
    bar = figure.colorbar(drawn, ax=axis, shrink=0.8)
    bar.ax.tick_params(colors=INK)
    bar.outline.set_edgecolor(FAINT)
