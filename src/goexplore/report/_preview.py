"""The page about choices of cells: how many they make, which states fall together, which are told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from goexplore.checks import CellsPreview, Choice, play_preview, thresholds
from goexplore.engines import EngineWish
from goexplore.errors import ConfigError
from goexplore.problems import CellsSpec, DefaultCells, Problem, as_cells, cells_from_text, find_problem
from goexplore.report._curves import PALETTE
from goexplore.report._html import png, table
from goexplore.report._page import Section, write_page
from goexplore.report._picture import Picture, picture_of
from goexplore.report._plot import FAINT, INK, draw_svg

OWN = "the problem's own"
"""The name of the cells that a problem has already."""

_CROWDED, _TOGETHER = 5, 6
"""Cells that are shown, and states of each."""
_PAIRS = 6
_WIDTH = 240
"""Pixels of a picture, at most."""
_POINTS = 300


def preview_cells(
    target: Any,
    *cells: CellsSpec | str | Any,
    seconds: float = 10.0,
    training_frames: int | None = None,
    seed: int = 0,
    engine: EngineWish = "auto",
    out: Path | str | None = None,
) -> CellsPreview:
    """Play at random and show what choices of cells make of it, before a search is begun.

        print(goexplore.preview_cells("two-mazes", goexplore.Rendering(), out="preview.html").text())

    Args:
        target: What `explore` takes.
        cells: Choices beside the problem's own: what `explore` takes as `cell`, or texts such as
            "grid(x, y, size=16)".
        seconds: How long to play.
        training_frames: How much to play, in place of `seconds`: the result is always the same.
        seed: Seed of the random actions.
        engine: The emulator of an Atari game.
        out: The page to write, one HTML file; None writes none.

    """
    problem, _ = find_problem(target).with_engine(engine)
    choices = dict(_choices(problem, cells))
    preview = play_preview(problem, choices, seconds=seconds, training_frames=training_frames, seed=seed)
    if out is not None:
        write_preview(preview, Path(out))
    return preview


def _choices(problem: Problem, others: Sequence[CellsSpec | str | Any]) -> Iterator[tuple[str, CellsSpec]]:
    """Yield the choices with their names: the problem's own first, if it has cells."""
    if not others or _has_cells(problem):
        yield f"{OWN}: {problem.cells.text()}", problem.cells
    for each in others:
        spec = cells_from_text(each) if isinstance(each, str) else as_cells(each)
        yield spec.text(), spec


def _has_cells(problem: Problem) -> bool:
    """Return whether there are cells by default, where a problem names none."""
    if not isinstance(problem.cells, DefaultCells):
        return True
    try:
        problem.cells(problem.env())
    except ConfigError:
        return False
    return True


def write_preview(preview: CellsPreview, file: Path) -> None:
    """Write the page."""
    together = [_together(preview, choice) for choice in preview.choices]
    apart = [_apart(preview, choice) for choice in preview.choices]
    groups = [
        *(group for each in together for group in each.values()),
        *(pair for each in apart for pair in each),
    ]
    images: dict[int, str] = {}
    for state, env in preview.show([state for group in groups for state in group]):
        images[state] = _image(
            picture_of(env),
            env.pixel_aspect,
            f"walk {preview.moment(state).walk + 1}, "
            f"{preview.moment(state).step:,} training frames after its beginning",
        )
    sections: list[Section] = [
        ("verdict", "Verdict", _verdict(preview)),
        ("growth", "Cells over time", _growth(preview)),
    ]
    for number, choice in enumerate(preview.choices):
        shown = _show_together(preview, choice, together[number], images)
        shown += _show_apart(choice, apart[number], images)
        sections.append((f"choice-{number}", choice.name, shown))
    write_page(f"Cells of {preview.problem.name}", sections, file)


# What is shown


def _together(preview: CellsPreview, choice: Choice) -> dict[int, list[int]]:
    """Return the cells with the most different observations, each with a state for some of those."""
    cells, seen = choice.cells(), np.asarray(preview.observations, np.int64)
    _, first = np.unique(np.stack([cells, seen]), axis=1, return_index=True)
    first = np.sort(first[cells[first] >= 0])  # the first state of each observation in each cell
    different = np.bincount(cells[first])
    crowded = [cell for cell in np.argsort(-different, kind="stable").tolist() if different[cell] > 1]
    return {cell: _spread(first[cells[first] == cell].tolist(), _TOGETHER) for cell in crowded[:_CROWDED]}


def _apart(preview: CellsPreview, choice: Choice) -> list[tuple[int, int]]:
    """Return states that follow each other and are in different cells, each pair of cells once."""
    cells = choice.cells()
    follows = (cells[:-1] != cells[1:]) & (cells[:-1] >= 0) & (cells[1:] >= 0)
    follows[np.asarray(preview.walks[1:], np.int64) - 1] = False  # there a new walk begins
    pairs: dict[frozenset[int], int] = {}
    for state in np.flatnonzero(follows).tolist():
        pairs.setdefault(frozenset((int(cells[state]), int(cells[state + 1]))), state)
    return [(state, state + 1) for state in _spread(list(pairs.values()), _PAIRS)]


def _spread(states: list[int], count: int) -> list[int]:
    """Return up to `count` of these, evenly spread."""
    if len(states) <= count:
        return states
    return [states[at] for at in np.linspace(0, len(states) - 1, count).astype(int).tolist()]


def _image(picture: Picture, pixel_aspect: float, label: str) -> str:
    rows, columns = picture.shape[:2]
    small = Image.fromarray(picture)
    if columns > _WIDTH:
        small = small.resize((_WIDTH, max(1, rows * _WIDTH // columns)), Image.Resampling.BOX)
    shape = f"aspect-ratio:{columns * pixel_aspect:g}/{rows}"
    return f'<img alt="{label}" title="{label}" style="{shape}" src="{png(np.asarray(small))}">'


# The sections


def _verdict(preview: CellsPreview) -> str:
    heads = [
        "choice",
        "cells",
        "per training frame",
        "in the largest",
        "effective number",
        "observations",
    ]
    rows, lines = [], []
    for choice in preview.choices:
        counts, verdict = preview.counts(choice), preview.verdict(choice)
        mark = "good" if verdict.kind == "fine" else "bad"
        word = {"fine": "Fine", "few": "Too few cells", "many": "Too many cells"}[verdict.kind]
        lines.append(
            f'<li><code>{escape(choice.name)}</code>: <span class="{mark}">{word}.</span> '
            f"{escape(verdict.text)}.</li>"
        )
        rows.append(
            [
                f"<code>{escape(choice.name)}</code>",
                f"{counts.cells:,}",
                f"{counts.per_frame:.4f}",
                f"{counts.largest_share:.1%}",
                f"{counts.effective:,.1f}",
                f"{counts.observations:,}",
            ]
        )
    walks = len(preview.walks)
    return (
        f"<ul>{''.join(lines)}</ul>{table(heads, rows, numbers=range(1, len(heads)))}"
        f'<p class="note">{preview.training_frames:,} training frames of random play from the start, in '
        f"{walks:,} {'walk' if walks == 1 else 'walks'}, seed {preview.seed}. The table has the share of the "
        "states that are in the largest cell, and the number of different observations. The effective number "
        "says how many cells with equally many states would be as evenly spread: it is e to the power of the "
        "entropy. "
        f"{escape(thresholds())} Random play does not come far. A search meets more of the environment, and "
        "warns if its cells turn out to be too few or too many.</p>"
    )


def _growth(preview: CellsPreview) -> str:
    legend = "".join(
        f'<li><i style="background:{PALETTE[number % len(PALETTE)]}"></i>{escape(choice.name)}</li>'
        for number, choice in enumerate(preview.choices)
    )
    plots = "".join(
        draw_svg(
            partial(_draw_growth, preview, scale),
            size=(5.2, 3.2),
            name=f"growth-{scale}",
            label=f"number of cells over training frames, {scale} scale",
        )
        for scale in ("linear", "log")
    )
    return f'<ul class="legend">{legend}</ul><div class="plots">{plots}</div>'


def _draw_growth(preview: CellsPreview, scale: str, figure: Any, axis: Any) -> None:
    states = np.unique(np.geomspace(1, len(preview), _POINTS).astype(int)) - 1
    for number, choice in enumerate(preview.choices):
        axis.plot(states + 1, choice.growth()[states], color=PALETTE[number % len(PALETTE)], lw=1.8)
    if scale == "log":
        axis.plot(states + 1, states + 1, color=INK, lw=0.8, ls=":")
        axis.set_xscale("log")
        axis.set_yscale("log")
    else:
        axis.set_xlim(left=0)
        axis.set_ylim(bottom=0)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.locator_params(axis="x", nbins=5)
    axis.set_xlabel("training frames")
    title = "cells" if scale == "linear" else "cells, logarithmic; dotted: a new one in each training frame"
    axis.set_title(title, color=INK, fontsize=11, loc="left")
    axis.grid(color=FAINT, lw=0.6)
    for name, spine in axis.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(FAINT)


def _show_together(
    preview: CellsPreview, choice: Choice, cells: Mapping[int, Sequence[int]], images: Mapping[int, str]
) -> str:
    heading = "<h3>States that fall together</h3>"
    if not cells:
        return f'{heading}<p class="note">All states of a cell have the same observation.</p>'
    visited, seen = choice.cells(), np.asarray(preview.observations)
    total = max(int((visited >= 0).sum()), 1)
    names = _describe(preview, choice, list(cells))
    parts = []
    for cell, states in cells.items():
        here = visited == cell
        different = len(np.unique(seen[here]))
        parts.append(
            f'<figure><div class="states">{"".join(images[state] for state in states)}</div><figcaption>'
            f"cell {cell + 1:,}{names[cell]}: {int(here.sum()) / total:.1%} of the states, {different:,} "
            "different observations</figcaption></figure>"
        )
    return (
        f'{heading}<p class="note">The cells with the most different observations, one in each row. '
        "A search treats the states of a cell as the same and keeps one of them. If differences within a row "
        "matter, cells are too coarse."
        f'</p><div class="rows">{"".join(parts)}</div>'
    )


def _describe(preview: CellsPreview, choice: Choice, cells: Sequence[int]) -> dict[int, str]:
    """Return what the columns of a run's table would say of cells, where that is short."""
    keys = list(choice.keys)
    columns = choice.spec(preview.problem.env()).columns([keys[cell] for cell in cells])
    texts = {
        cell: ", ".join(f"{name} {values[at]}" for name, values in columns.items())
        for at, cell in enumerate(cells)
    }
    return {cell: f" ({escape(text)})" if 0 < len(text) < 80 else "" for cell, text in texts.items()}


def _show_apart(choice: Choice, pairs: Sequence[tuple[int, int]], images: Mapping[int, str]) -> str:
    heading = "<h3>States that are told apart</h3>"
    if not pairs:
        return f'{heading}<p class="note">No two states that follow each other are in different cells.</p>'
    visited = choice.cells()
    figures = "".join(
        f'<figure><div class="states">{images[one]}{images[other]}</div><figcaption>cell '
        f"{visited[one] + 1:,}, then {visited[other] + 1:,}</figcaption></figure>"
        for one, other in pairs
    )
    return (
        f'{heading}<p class="note">States that follow each other and are in different cells. If '
        f'these differences do not matter, cells are too fine.</p><div class="pairs">{figures}</div>'
    )
