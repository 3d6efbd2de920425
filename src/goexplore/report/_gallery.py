"""Games without a map: what their cells look like, and how their trajectories branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Archive
from goexplore.report._plot import FAINT, INK, draw_svg
from goexplore.report._view import ArchiveView

_SHOWN = 60
_BRANCHES = 2000


@dataclass(frozen=True)
class Exhibit:
    """A cell to look at."""

    entry: int
    picture: NDArray[np.uint8]


def gallery(view: ArchiveView) -> list[Exhibit]:
    """Return pictures of cells in the order of their first visits, evenly spread over all of them."""
    size = len(view.archive)
    entries = np.unique(np.linspace(0, size - 1, min(_SHOWN, size)).astype(int)).tolist()
    pictures = ((entry, view.photograph([entry])) for entry in entries)
    return [Exhibit(entry, picture) for entry, picture in pictures if picture is not None]


def draw_tree(archive: Archive) -> str:
    """Return the tree of trajectories as SVG: to the right with every training frame, coloured by score."""
    from matplotlib.collections import LineCollection

    lines, scores = _branches(archive)

    def draw(figure: Any, axis: Any) -> None:
        drawn = axis.add_collection(LineCollection(lines, linewidths=0.8, cmap="viridis"))
        drawn.set_array(scores)
        axis.autoscale()
        axis.set_yticks([])
        axis.set_xlabel("training frames")
        for spine in axis.spines.values():
            spine.set_visible(False)
        bar = figure.colorbar(drawn, ax=axis, shrink=0.6)
        bar.set_label("best search score", color=INK)
        bar.ax.tick_params(colors=INK)
        bar.outline.set_edgecolor(FAINT)

    return draw_svg(draw, size=(10, 5), name="tree", label="tree of trajectories")


def _branches(archive: Archive) -> tuple[list[list[tuple[float, float]]], NDArray[np.float64]]:
    """Return one line per segment, and the score of the best entry on it or beyond it.

    Of a large archive only the segments on the way to some of its entries, the best one among them.
    """
    every = max(1, len(archive) // _BRANCHES)
    best: dict[int, float] = {}
    length: dict[int, int] = {}  # how far each segment is drawn
    for number in sorted({archive.best, *range(0, len(archive), every)}):
        entry = archive[number]
        segment, offset = entry.branch
        while True:
            best[segment] = max(best.get(segment, -np.inf), entry.score_length.score)
            length[segment] = max(length.get(segment, 0), offset)
            if segment == 0:
                break
            segment, offset = archive.segments.parent(segment)
    children: dict[int, list[int]] = {}
    start = {0: 0}
    for segment in sorted(best):  # parents before their children
        if segment:
            parent, offset = archive.segments.parent(segment)
            children.setdefault(parent, []).append(segment)
            start[segment] = start[parent] + offset
    height: dict[int, float] = {}
    rows = 0
    waiting = [(0, False)]
    while waiting:  # leaves get a row each, others lie in the middle of what grows from them
        segment, seen = waiting.pop()
        below = children.get(segment, [])
        if not below:
            height[segment] = rows
            rows += 1
        elif seen:
            height[segment] = sum(height[child] for child in below) / len(below)
        else:
            waiting.append((segment, True))
            waiting += [(child, False) for child in reversed(below)]
    lines: list[list[tuple[float, float]]] = []
    for segment in sorted(best):
        parent = archive.segments.parent(segment).segment
        begin, end = start[segment], start[segment] + length[segment]
        lines.append([(begin, height[parent]), (begin, height[segment]), (end, height[segment])])
    return lines, np.array([best[segment] for segment in sorted(best)])
