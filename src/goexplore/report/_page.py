"""The report of one or several runs: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import dataclasses
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from goexplore.demos import Source, differ
from goexplore.engines import choose_engine
from goexplore.envs import rom_name
from goexplore.errors import DemonstrationError
from goexplore.presets import PRESETS
from goexplore.report._curves import PALETTE, Group, draw_panel, panels
from goexplore.report._gallery import draw_tree, gallery
from goexplore.report._html import duration, png, short, table
from goexplore.report._looking import COLOURINGS, MEANING, Looking
from goexplore.report._map import LevelMap, draw_levels, gradient, has_map, tick
from goexplore.report._paper import PaperSearch, paper_search
from goexplore.report._video import play_moments, show, write_video
from goexplore.runs import RunDirectory

_VIDEO_SPEED = 4
_VIDEO_TRAINING_FRAMES = 20_000
"""Longer trajectories are shown up to here: the page has to stay small."""


@dataclass(frozen=True, kw_only=True)
class _Run:
    source: Source
    directory: RunDirectory
    metrics: list[dict[str, Any]]

    @property
    def last(self) -> dict[str, Any]:
        return self.metrics[-1]


def write_report(
    paths: Sequence[Path], file: Path, *, videos: int = 3, progress: Callable[[str], None] = lambda line: None
) -> None:
    """Write the report of these runs."""
    runs = []
    for path in paths:
        progress(f"reading {path}")
        source, directory = Source.open(path), RunDirectory.open(path)
        runs.append(_Run(source=source, directory=directory, metrics=directory.read_metrics()))
    best = max(runs, key=lambda run: (run.last["max_score"], run.last["rooms"], run.last["cells"]))
    groups = _groups(runs)
    progress("drawing curves")
    sections = [
        ("summary", "Summary", _summary(runs, best)),
        ("curves", "Curves", _curves(groups)),
    ]
    compared = _comparison(groups)
    if compared:
        sections.append(("paper", "Beside the paper", compared))
    looking = Looking(best.source.archive, best.source.config, best.source.engine)
    progress("drawing cells")
    if has_map(looking):
        sections.append(("map", f"Map of {best.source.name}", _map(looking)))
    else:
        sections.append(("cells", f"Cells of {best.source.name}", _gallery(looking)))
        sections.append(("tree", f"Trajectories of {best.source.name}", _tree(looking)))
    progress("rendering videos")
    sections.append(("videos", "Best trajectories", _videos(runs, videos)))
    sections.append(("verification", "Verification", _verification(runs)))
    sections.append(("settings", "Settings, versions, commands", _settings(runs)))
    title = f"{best.source.config.env.game}: {', '.join(run.source.name for run in runs)}"
    here = Path(__file__).parent
    page = Template((here / "page.html").read_text()).substitute(
        title=escape(title),
        style=(here / "page.css").read_text(),
        links="".join(f'<a href="#{name}">{escape(heading)}</a>' for name, heading, _ in sections),
        body="".join(
            f'<section id="{name}"><h2>{escape(heading)}</h2>{content}</section>'
            for name, heading, content in sections
        ),
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f".{file.name}.part")
    aside.write_text(page)
    aside.replace(file)


def _groups(runs: Sequence[_Run]) -> list[Group]:
    """Put runs together that differ by their seed alone."""
    together: dict[Any, list[_Run]] = {}
    for run in runs:
        together.setdefault(dataclasses.replace(run.source.config, seed=0), []).append(run)
    return [
        Group(
            name=_name(config),
            curves=[run.metrics for run in members],
            paper=paper_search(config),
        )
        for config, members in together.items()
    ]


def _name(config: Any) -> str:
    for name, each in PRESETS.items():
        if dataclasses.replace(each, seed=0) == config:
            return name
    return f"{rom_name(config.env.game)}, {config.cells.kind} cells"


def _summary(runs: Sequence[_Run], best: _Run) -> str:
    last = best.last
    cards = [
        ("best search score", f"{last['max_score']:,.0f}"),
        *((("rooms", f"{last['rooms']:,}"), ("highest level", str(last["level"]))) if last["rooms"] else ()),
        ("cells", f"{last['cells']:,}"),
        ("game frames", short(last["game_frames"])),
        ("time", duration(last["wall_seconds"])),
    ]
    columns = "run, seed, engine, game frames, time, cells, rooms, level, best search score, memory"
    rows = [
        [
            escape(run.source.name),
            str(run.source.config.seed),
            run.source.engine,
            f"{run.last['game_frames']:,}",
            duration(run.last["wall_seconds"]),
            f"{run.last['cells']:,}",
            f"{run.last['rooms']:,}",
            str(max(run.last["level"], 0)),
            f"{run.last['max_score']:,.0f}",
            f"{run.last['memory_bytes'] / 1e6:,.0f} MB",
        ]
        for run in runs
    ]
    shown = "".join(f'<div class="card"><b>{value}</b>{label}</div>' for label, value in cards)
    of = (
        f'<p class="note">of {escape(best.source.name)}, the best of {len(runs)} runs</p>' if runs[1:] else ""
    )
    return f'<div class="cards">{shown}</div>{of}{table(columns.split(", "), rows, numbers=range(3, 10))}'


def _curves(groups: Sequence[Group]) -> str:
    legend = "".join(
        f'<li><i style="background:{PALETTE[number % len(PALETTE)]}"></i>{escape(group.name)}, '
        f"{len(group.curves)} {'run' if len(group.curves) == 1 else 'runs'}</li>"
        for number, group in enumerate(groups)
    )
    several = any(len(group.curves) > 1 for group in groups)
    band = " Lines are means over runs, bands their 95 % percentile bootstrap intervals." if several else ""
    paper = (
        " Circles are the paper's means: at the end of its runs and, dashed, when they had solved a level."
        if any(group.paper for group in groups)
        else ""
    )
    plots = "".join(draw_panel(groups, column) for column in panels(groups))
    note = f'<p class="note">{(band + paper).strip()}</p>' if band or paper else ""
    return f'<ul class="legend">{legend}</ul>{note}<div class="plots">{plots}</div>'


def _comparison(groups: Sequence[Group]) -> str:
    """Return a table of when levels were first reached, here and in the paper."""
    parts = []
    for group in groups:
        if group.paper is None:
            continue
        rows = [["end of the run", *_paper_end(group.paper), *_our_end(group)]]
        for reached in group.paper.levels:
            ours = [first for curve in group.curves if (first := _first(curve, reached.level))]
            if ours:
                frames = np.mean([point["game_frames"] for point in ours])
                hours = np.mean([point["wall_seconds"] for point in ours]) / 3600
                mine = [f"{short(frames)} in {hours:.2f} h ({len(ours)} of {len(group.curves)} runs)"]
            else:
                mine = ["not reached"]
            theirs = f"{short(reached.game_frames)} in {reached.hours:g} h ({reached.solved:.0%} of runs)"
            rows.append([f"level {reached.level} reached", theirs, *mine])
            if not ours:
                break  # nor any after it
        heads = [escape(group.name), f"paper, {group.paper.name}, {group.paper.runs} runs", "these runs"]
        parts.append(table(heads, rows))
        parts.append(
            f'<p class="note">Paper: {escape(group.paper.where)}; game frames, and hours on 22 cores. Means '
            "over the runs that got there.</p>"
        )
    return "".join(parts)


def _paper_end(paper: PaperSearch) -> list[str]:
    budget = f" after {short(paper.game_frames)} in {paper.hours:g} h" if paper.game_frames else ""
    return [f"{paper.rooms:g} rooms, {paper.score:,.0f} points{budget}"]


def _our_end(group: Group) -> list[str]:
    ends = [curve[-1] for curve in group.curves]
    rooms, score, frames, hours = (
        float(np.mean([end[column] for end in ends]))
        for column in ("rooms", "max_score", "game_frames", "wall_seconds")
    )
    return [f"{rooms:g} rooms, {score:,.0f} points after {short(frames)} in {hours / 3600:.2f} h"]


def _first(curve: Sequence[dict[str, Any]], level: int) -> dict[str, Any] | None:
    return next((point for point in curve if point["level"] >= level), None)


def _map(looking: Looking) -> str:
    levels = list(draw_levels(looking, COLOURINGS))
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
    return (
        f'{heading}<div class="scroll" tabindex="0" role="group" aria-label="Map of {title}">'
        f'<div class="map" style="aspect-ratio:{width}/{height}"><img alt="Map of {title}" '
        f'src="{png(level.pixels)}">{layers}</div></div>'
    )


def _gallery(looking: Looking) -> str:
    archive = looking.archive
    found = archive.values("found_at_game_frame").tolist()
    figures = "".join(
        f'<figure><img alt="cell {each.entry}" src="{png(each.picture)}"><figcaption>{each.entry}: '
        f"{short(found[each.entry])}, score {archive[each.entry].standing.score:,.0f}</figcaption></figure>"
        for each in gallery(looking)
    )
    return (
        '<p class="note">By first visit: number of the cell, game frames until it was found, its best search '
        f'score.</p><div class="gallery">{figures}</div>'
    )


def _tree(looking: Looking) -> str:
    return f'<div class="scroll tree" tabindex="0" role="group">{draw_tree(looking.archive)}</div>'


def _videos(runs: Sequence[_Run], count: int) -> str:
    figures = []
    for run, entry, actions in _best(runs, count):
        env, score = run.source.config.env, run.source.archive[entry].standing.score
        shown = actions[:_VIDEO_TRAINING_FRAMES]
        engine = choose_engine(rom_name(env.game), "auto").engine
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "video.mp4"
            moments = play_moments(env, shown, engine, every=_VIDEO_SPEED)
            film = write_video(moments, file, scale=1, overlay=True)
            data = base64.b64encode(file.read_bytes()).decode()
        if len(shown) == len(actions) and film.last.score != score:
            raise DemonstrationError(
                f"expected a score of {score:g} from entry {entry} of {run.source.name}, got "
                f"{film.last.score:g} on replay: check the run with `goexplore verify`"
            )
        cut = f", the first {len(shown):,} shown" if len(shown) < len(actions) else ""
        figures.append(
            f'<figure><video controls loop muted playsinline preload="metadata" '
            f'poster="{png(show(film.last, scale=1))}" src="data:video/mp4;base64,{data}"></video>'
            f"<figcaption>search score {score:,.0f} in "
            f"{len(actions):,} training frames{cut}; entry {entry} of {escape(run.source.name)}; "
            f"{_VIDEO_SPEED} x speed</figcaption></figure>"
        )
    return f'<div class="videos">{"".join(figures)}</div>'


def _best(runs: Sequence[_Run], count: int) -> Iterator[tuple[_Run, int, bytes]]:
    """Yield the best entries of all runs that are not mostly the same trajectory."""
    ranked = []
    for run in runs:
        archive = run.source.archive
        order = np.lexsort((archive.values("length"), -archive.values("score").astype(float)))
        ranked += [(archive[entry].standing, run, entry) for entry in order[:200].tolist()]
    ranked.sort(key=lambda each: (-each[0].score, each[0].length))
    taken: list[bytes] = []
    for _, run, entry in ranked:
        actions = run.source.archive.trajectory(entry)
        if len(taken) < count and actions and all(differ(actions, other, 0.2) for other in taken):
            taken.append(actions)
            yield run, entry, actions


def _verification(runs: Sequence[_Run]) -> str:
    lines = []
    for run in runs:
        found = run.directory.verification()
        name = escape(run.source.name)
        if found is None:
            lines.append(f"<li>{name}: not verified yet: <code>goexplore verify {name}</code></li>")
            continue
        good = not found["mismatches"]
        verdict = "no mismatch" if good else f"{len(found['mismatches']):,} mismatches"
        lines.append(
            f"<li>{name}: {found['checked']:,} of {found['entries']:,} entries of checkpoint "
            f"{found['checkpoint']} replayed from the initial state on ale-py, {found['game_frames']:,} game "
            "frames: "
            f'<span class="{"good" if good else "bad"}">{verdict}</span></li>'
        )
    return f"<ul>{''.join(lines)}</ul>"


def _settings(runs: Sequence[_Run]) -> str:
    parts = []
    for run in runs:
        info = run.directory.info()
        parts.append(
            f"<details><summary>{escape(run.source.name)}</summary>"
            f"<pre>{escape(' '.join(info['command']))}</pre>"
            f"<pre>{escape(json.dumps(info['versions'], indent=2))}</pre>"
            f"<pre>{escape(json.dumps(info['search'], indent=2))}</pre></details>"
        )
    return "".join(parts)
