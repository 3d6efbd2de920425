"""The sections of the report, as HTML."""

from __future__ import annotations

import base64
import json
import math
import shlex
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from goexplore.archive import Actions
from goexplore.demos import keep_different
from goexplore.envs import Environment
from goexplore.errors import DemonstrationError
from goexplore.report._curves import PALETTE, Group, draw_panel, panels
from goexplore.report._gallery import draw_tree, gallery
from goexplore.report._html import duration, png, short, table
from goexplore.report._map import LevelMap, draw_levels, gradient, tick
from goexplore.report._paper import PaperSearch
from goexplore.report._policies import TrainedRun
from goexplore.report._video import play_moments, show, write_video
from goexplore.report._view import COLOURINGS, MEANING, ArchiveView
from goexplore.runs import SavedRun, SearchMetrics, score_text

_VIDEO_SPEED = 4
_VIDEO_PICTURES = 3000
"""Of one video, at most: a longer trajectory is shown faster, for the page has to stay small."""
_SHORTEST_VIDEO = 10
"""Training frames of a trajectory that is worth a video although it has won nothing."""
_LOOKED_THROUGH = 2000
"""Trajectories of each run among which videos are chosen."""


@dataclass(frozen=True, kw_only=True)
class ReportedRun:
    """A run to report on."""

    source: SavedRun
    name: str
    """Of the run directory, with as much of its path as it takes to tell it from others."""
    metrics: list[SearchMetrics]
    """Up to the checkpoint that everything else on the page shows."""

    @property
    def last(self) -> SearchMetrics:
        """What it had reached."""
        return self.metrics[-1]

    @property
    def info(self) -> dict[str, Any]:
        """What its config.json holds."""
        return self.source.directory.info()

    @cached_property
    def env(self) -> Environment:
        """An environment of its problem, which tells whether there are rooms and levels."""
        return self.source.problem.env()


def summary_section(runs: Sequence[ReportedRun], best: ReportedRun) -> str:
    """Return cards of the best run and a table of all."""
    last = best.last
    shown_if = {
        "rooms": (f"{last.rooms:,}", best.env.has_rooms),
        "highest level": (str(last.level), best.env.has_levels),
        "ends of episodes": (f"{last.ends:,}", last.ends > 0),
        "game frames replayed": (short(last.game_frames_replayed), last.game_frames_replayed > 0),
    }
    cards = {
        "best search score": score_text(last.max_score),
        **{label: value for label, (value, there) in shown_if.items() if there},
        "cells": f"{last.cells:,}",
        "game frames": short(last.game_frames),
        "time": duration(last.wall_seconds),
    }
    columns: dict[str, Callable[[ReportedRun], str]] = {
        "run": lambda run: escape(run.name),
        "seed": lambda run: str(run.source.seed),
        "engine": lambda run: run.source.problem.env.engine,
        "game frames": lambda run: f"{run.last.game_frames:,}",
        "time": lambda run: duration(run.last.wall_seconds),
        "cells": lambda run: f"{run.last.cells:,}",
        "rooms": lambda run: f"{run.last.rooms:,}",
        "level": lambda run: str(run.last.level),
        "best search score": lambda run: score_text(run.last.max_score),
        "memory": lambda run: f"{run.last.memory_bytes / 1e6:,.0f} MB",
    }
    if not best.env.has_rooms:
        del columns["rooms"]
    if not best.env.has_levels:
        del columns["level"]
    shown = "".join(f'<div class="card"><b>{value}</b>{label}</div>' for label, value in cards.items())
    of = f'<p class="note">of {escape(best.name)}, the best of {len(runs)} runs</p>' if runs[1:] else ""
    rows = [[column(run) for column in columns.values()] for run in runs]
    return f'<div class="cards">{shown}</div>{of}{table(list(columns), rows, numbers=range(3, len(columns)))}'


def revisions_section(run: ReportedRun) -> str:
    """Return the history of dynamic cells."""
    rows = [
        [
            f"{each.game_frames:,}",
            f"{each.width} x {each.height}",
            str(each.levels),
            f"{each.cells_before:,}",
            f"{each.cells_after:,}",
        ]
        for each in run.source.revisions
    ]
    names = ["game frames", "width x height", "levels", "cells before", "cells after"]
    note = (
        '<p class="note">The resolution of the cells, as it was found from frames of the search. It began '
        "with 11 x 8 and 8 levels.</p>"
    )
    return note + table(names, rows, numbers=range(len(names)))


def curves_section(groups: Sequence[Group], columns: Sequence[str] = ()) -> str:
    """Return plots over game frames: of these columns, or of all that are worth it."""
    legend = "".join(
        f'<li><i style="background:{PALETTE[number % len(PALETTE)]}"></i>{escape(group.name)}, '
        f"{len(group.curves)} {'run' if len(group.curves) == 1 else 'runs'}</li>"
        for number, group in enumerate(groups)
    )
    shown = columns or panels(groups)
    notes = []
    if any(len(group.curves) > 1 for group in groups):
        notes.append(
            "Lines are means over the runs that had come so far, bands their 95 % percentile bootstrap "
            "intervals."
        )
    if any(group.papers_points(column) for group in groups for column in shown):
        notes.append(
            "Circles are the paper's means: at the end of its runs, and when they had solved a level."
        )
    note = f'<p class="note">{" ".join(notes)}</p>' if notes else ""
    plots = "".join(draw_panel(groups, column) for column in shown)
    return f'<ul class="legend">{legend}</ul>{note}<div class="plots">{plots}</div>'


def comparison_section(groups: Sequence[Group]) -> str:
    """Return tables of what was reached when, here and in the paper."""
    parts = []
    for group in groups:
        paper = group.paper
        if paper is None:
            continue
        rows = [["end of the run", _paper_end(paper), _our_end(group)]]
        for reached in paper.levels:
            ours = [first for curve in group.curves if (first := _first(curve, reached.level))]
            theirs = f"{short(reached.game_frames)} in {reached.hours:g} h ({reached.solved:.0%} of the runs)"
            mine = "not reached"
            if ours:
                frames = float(np.mean([point.game_frames for point in ours]))
                seconds = float(np.mean([point.wall_seconds for point in ours]))
                mine = f"{short(frames)} in {duration(seconds)} ({len(ours)} of {len(group.curves)} runs)"
            rows.append([f"level {reached.level} reached", theirs, mine])
            if not ours:
                break  # nor any after it
        heads = [escape(group.name), f"paper, {paper.name}, {paper.runs} runs", "these runs"]
        parts.append(table(heads, rows))
        parts.append(
            f'<p class="note">Game frames, and time on {escape(paper.machine)} in the paper. Means over the '
            f"runs that got there. {escape(paper.source)}: {escape(paper.where)}.</p>"
        )
    return "".join(parts)


def _paper_end(paper: PaperSearch) -> str:
    low_high = paper.score_interval
    interval = f" (95 %: {low_high[0]:,.0f} to {low_high[1]:,.0f})" if low_high else ""
    budget = f" after {short(paper.game_frames)} in {paper.hours:g} h" if paper.game_frames else ""
    return f"{paper.rooms:g} rooms, search score {paper.score:,.0f}{interval}{budget}"


def _our_end(group: Group) -> str:
    ends = [curve[-1] for curve in group.curves]
    rooms, score, frames, seconds = (
        float(np.mean([getattr(end, column) for end in ends]))
        for column in ("rooms", "max_score", "game_frames", "wall_seconds")
    )
    return f"{rooms:.3g} rooms, search score {score:,.0f} after {short(frames)} in {duration(seconds)}"


def _first(curve: Sequence[SearchMetrics], level: int) -> SearchMetrics | None:
    return next((point for point in curve if point.level >= level), None)


def map_section(view: ArchiveView) -> str:
    """Return the map of each level, with a choice of what colours the cells."""
    levels = list(draw_levels(view, COLOURINGS))
    colours = "".join(
        f'<input class="choice" type="radio" name="colour" id="colour-{name}"'
        f"{' checked' if name == 'found' else ''}>"
        f'<label for="colour-{name}">{MEANING[name]}</label>'
        for name in COLOURINGS
    )
    rules = "".join(
        f"#map:has(#colour-{name}:checked) .layer-{name} {{ display: block; }}" for name in COLOURINGS
    )
    stops = ", ".join(f"rgb({red},{green},{blue})" for red, green, blue in gradient()[::51].tolist())
    scales = "".join(
        f'<p class="scale layer-{name} note">{tick(layer.low)}<span '
        f'style="background:linear-gradient(90deg, {stops})"></span>{tick(layer.high)} {MEANING[name]}'
        f"{', logarithmic' if layer.logarithmic else ''}</p>"
        for name, layer in levels[0].layers.items()
    )
    maps = "".join(_level(level, len(levels) > 1) for level in levels)
    return f"<style>{rules}</style><fieldset><legend>Colour</legend>{colours}</fieldset>{scales}{maps}"


def _level(level: LevelMap, several: bool) -> str:
    height, width = level.shape
    title = f"level {level.level}, {level.rooms} rooms"
    layers = "".join(
        f'<img class="layer layer-{name}" alt="" src="{png(layer.pixels)}">'
        for name, layer in level.layers.items()
    )
    heading = f"<h3>{title.capitalize()}</h3>" if several else ""
    shape = f"aspect-ratio:{width}/{height};min-width:{width // 60}rem"
    return (
        f'{heading}<div class="scroll" tabindex="0" role="group" aria-label="Map of {title}">'
        f'<div class="map" style="{shape}"><img alt="Map of {title}" src="{png(level.pixels)}">{layers}</div>'
        "</div>"
    )


def gallery_section(view: ArchiveView) -> str:
    """Return pictures of cells, for games without a map."""
    archive = view.archive
    found = archive.values("found_at_game_frame").tolist()
    figures = "".join(
        f'<figure><img alt="cell {each.entry}" src="{png(each.picture)}"><figcaption>{each.entry}: '
        f"{short(found[each.entry])}, score {score_text(archive[each.entry].score)}</figcaption></figure>"
        for each in gallery(view)
    )
    return (
        '<p class="note">By first visit: number of the cell, game frames until it was found, its best search '
        f'score.</p><div class="gallery">{figures}</div>'
    )


def tree_section(view: ArchiveView) -> str:
    """Return the tree of trajectories."""
    return f'<div class="scroll tree" tabindex="0" role="group">{draw_tree(view.archive)}</div>'


def videos_section(
    runs: Sequence[ReportedRun], count: int, progress: Callable[[str], None] = lambda line: None
) -> str:
    """Return videos of the best trajectories; say so where there is nothing to see yet."""
    figures: list[str] = []
    for run, entry, actions in islice(_different(runs), count):
        progress(f"rendering video {len(figures) + 1} of {count}: {len(actions):,} training frames")
        score = run.source.archive[entry].score
        caption = f"search score {score_text(score)} in {len(actions):,} training frames"
        figures.append(_video(run, entry, actions, caption))
    if not figures:
        return '<p class="note">No trajectory has won anything or ended its episode yet.</p>'
    return f'<div class="videos">{"".join(figures)}</div>'


def _video(run: ReportedRun, entry: int, actions: Actions, caption: str) -> str:
    """Return a video of the trajectory to an entry, or of what can be played of it."""
    env = run.source.problem.env.with_engine("auto").env
    score = run.source.archive[entry].score
    speed = _VIDEO_SPEED * math.ceil(max(len(actions), 1) / _VIDEO_PICTURES)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "video.mp4"
        film = write_video(play_moments(env, actions, every=speed), file, scale=1, overlay=True)
        data = base64.b64encode(file.read_bytes()).decode()
    if film.last.score != score:
        raise DemonstrationError(
            f"expected a score of {score:g} from entry {entry} of {run.name}, got {film.last.score:g} on "
            f"replay: check the run with `{shlex.join(['goexplore', 'verify', str(run.source.path)])}`"
        )
    return (
        f'<figure><video controls loop muted playsinline preload="metadata" '
        f'poster="{png(show(film.last, scale=1, overlay=True))}" '
        f'src="data:video/mp4;base64,{data}"></video>'
        f"<figcaption>{caption}; entry {entry} of {escape(run.name)}; {speed} x speed</figcaption></figure>"
    )


def _different(runs: Sequence[ReportedRun]) -> Iterator[tuple[ReportedRun, int, Actions]]:
    """Yield the best trajectories of all runs that are not mostly the same."""
    ranked = [
        (run, entry)
        for run in runs
        for entry in run.source.ranked()[:_LOOKED_THROUGH]
        if run.source.archive.is_result(entry) or run.source.archive[entry].length >= _SHORTEST_VIDEO
    ]
    if any(run.source.archive.best_is_a_result for run in runs):
        ranked.sort(key=lambda each: _rank(*each))
    trajectories = (run.source.archive.trajectory(entry) for run, entry in ranked)
    for position in keep_different(trajectories, 0.2):
        run, entry = ranked[position]
        yield run, entry, run.source.archive.trajectory(entry)


def _rank(run: ReportedRun, entry: int) -> tuple[bool, float, int]:
    """Return what sorts trajectories: results first, then the highest score, then the shortest."""
    score, length, _ = run.source.archive.score_index.score_length(entry)
    return not run.source.archive.is_result(entry), -score, length


def events_section(
    runs: Sequence[ReportedRun], count: int, progress: Callable[[str], None] = lambda line: None
) -> str:
    """Return a table of the events that were looked for, and pictures of the shortest ways to them."""
    names = {event for run in runs for event in run.source.archive.events}
    names |= {each.name for run in runs for each in run.source.problem.events}
    rows: list[list[str]] = []
    figures: list[str] = []
    for event in sorted(names):
        ways = [(run, entry) for run in runs for entry in run.source.ways_to(event)]
        ways.sort(key=lambda way: way[0].source.archive[way[1]].length)
        if not ways:
            rows.append([escape(event), "0", "", "", "", ""])
            continue
        run, number = ways[0]
        archive = run.source.archive
        entry = archive[number]
        found = min(each.source.archive.values("found_at_game_frame")[one] for each, one in ways)
        rows.append(
            [
                escape(event),
                f"{len(ways):,}",
                f"{entry.length:,}",
                f"{found:,}",
                entry.end.name.lower() if entry.end else "goes on",
                f"entry {number} of {escape(run.name)}",
            ]
        )
        if len(figures) < count:
            progress(f"rendering the shortest way to the event {event}: {entry.length:,} training frames")
            where = "before its last action" if entry.end.is_fatal else "where it happens"
            caption = f"event {escape(event)}, {where}: {entry.length:,} training frames"
            figures.append(_video(run, number, archive.playable(number), caption))
    heads = ["event", "ways", "shortest", "first found at", "its episode", "shortest way"]
    note = (
        '<p class="note">There is one way for each cell in which the event happened: the shortest that was '
        "found, in training frames. The time of the first discovery is in game frames.</p>"
    )
    videos = f'<div class="videos">{"".join(figures)}</div>' if figures else ""
    return f"{table(heads, rows, numbers=range(1, 4))}{note}{videos}"


def verification_section(runs: Sequence[ReportedRun]) -> str:
    """Return what `goexplore verify` found."""
    lines = []
    for run in runs:
        found = run.source.directory.verification()
        name = escape(run.name)
        if found is None:
            command = escape(shlex.join(["goexplore", "verify", str(run.source.path)]))
            lines.append(f"<li>{name}: not verified yet: <code>{command}</code></li>")
            continue
        good = not found.mismatches
        verdict = "no mismatch" if good else f"{len(found.mismatches):,} mismatches"
        lines.append(
            f"<li>{name}: {found.checked:,} of {found.entries:,} entries of checkpoint "
            f"{escape(found.checkpoint)} replayed from the initial state "
            f"on {run.source.problem.reference().env.engine}, {found.game_frames:,} game frames: "
            f'<span class="{"good" if good else "bad"}">{verdict}</span></li>'
        )
    return f"<ul>{''.join(lines)}</ul>"


def settings_section(runs: Sequence[ReportedRun | TrainedRun]) -> str:
    """Return commands, versions and settings, of searches or trainings."""
    parts = []
    for run in runs:
        info = run.info
        settings = info["search"] if isinstance(run, ReportedRun) else info["training"]
        parts.append(
            f"<details><summary>{escape(run.name)}</summary>"
            f"<pre>{escape(shlex.join(info['command']))}</pre>"
            f"<pre>{escape(json.dumps(info['versions'], indent=2))}</pre>"
            f"<pre>{escape(json.dumps(settings, indent=2))}</pre></details>"
        )
    return "".join(parts)
