"""The report of one or several runs: one HTML file that needs nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Any, TypeAlias

from goexplore.config import SearchConfig
from goexplore.demos import Source
from goexplore.directories import is_training
from goexplore.envs import facts
from goexplore.errors import ConfigError
from goexplore.exploration import Status
from goexplore.files import output_errors, written_whole
from goexplore.presets import PRESETS
from goexplore.report._curves import Group
from goexplore.report._looking import Looking
from goexplore.report._map import has_map
from goexplore.report._others import others_section
from goexplore.report._paper import paper_search
from goexplore.report._policies import (
    TrainedRun,
    policies_section,
    policy_videos_section,
    training_section,
)
from goexplore.report._sections import (
    Run,
    comparison_section,
    curves_section,
    gallery_section,
    map_section,
    settings_section,
    summary_section,
    tree_section,
    verification_section,
    videos_section,
)
from goexplore.runs import RunDirectory


def write_report(
    paths: Sequence[Path], file: Path, *, videos: int = 3, progress: Callable[[str], None] = lambda line: None
) -> None:
    """Write the report of these runs: searches, trainings, or both."""
    whole = [path.resolve() for path in paths]
    if len(set(whole)) < len(whole):
        raise ConfigError("expected each run once, got one several times: leave it out")
    names = _names(whole)
    trainings = [TrainedRun(name=names[path], path=path) for path in whole if is_training(path)]
    runs = _read([path for path in whole if not is_training(path)], names, progress)
    if len({run.source.config.env.name for run in runs} | {each.game for each in trainings}) > 1:
        raise ConfigError("expected runs of one game, got several games: write a report for each")
    sections = _search_sections(runs, videos, progress) if runs else []
    if trainings:
        sections += _training_sections(trainings, videos, progress)
    name = runs[0].source.config.env.name if runs else trainings[0].game
    beside = others_section(name, _groups(runs), trainings)
    if beside:
        sections.append(("others", "Beside others", beside))
    game = runs[0].source.config.env.game if runs else trainings[0].game
    write_page(f"{game}: {', '.join(names[path] for path in whole)}", sections, file)


Section: TypeAlias = tuple[str, str, str]
"""A name for links, a heading, and HTML."""


def _training_sections(
    trainings: Sequence[TrainedRun], videos: int, progress: Callable[[str], None]
) -> list[Section]:
    progress("drawing trainings")
    sections = [
        ("policies", "Policies", policies_section(trainings)),
        ("trainings", "Trainings", training_section(trainings)),
    ]
    if videos and find_spec("torch") is not None:
        progress("letting policies play")
        sections.append(("policy-videos", "Policies at play", policy_videos_section(trainings)))
    sections.append(("training-settings", "Settings of the trainings", settings_section(trainings)))
    return sections


def _search_sections(runs: Sequence[Run], videos: int, progress: Callable[[str], None]) -> list[Section]:
    best = max(runs, key=lambda run: (run.last["max_score"], run.last["rooms"], run.last["cells"]))
    groups = _groups(runs)
    progress("drawing curves")
    sections = [
        ("summary", "Summary", summary_section(runs, best)),
        ("curves", "Curves", curves_section(groups)),
    ]
    compared = comparison_section(groups)
    if compared:
        sections.append(("paper", "Beside the paper", compared))
    looking = Looking(best.source.archive, best.source.config, best.source.engine)
    progress("drawing cells")
    if has_map(looking):
        sections.append(("map", f"Map of {best.name}", map_section(looking)))
    else:
        sections.append(("cells", f"Cells of {best.name}", gallery_section(looking)))
        sections.append(("tree", f"Trajectories of {best.name}", tree_section(looking)))
    if videos:
        progress("rendering videos")
        sections.append(("videos", "Best trajectories", videos_section(runs, videos)))
    sections.append(("verification", "Verification", verification_section(runs)))
    sections.append(("settings", "Settings, versions, commands", settings_section(runs)))
    return sections


def write_page(title: str, sections: Sequence[Section], file: Path) -> None:
    """Write a page of sections."""
    here = Path(__file__).parent
    page = Template((here / "page.html").read_text(encoding="utf-8")).substitute(
        title=escape(title),
        style=(here / "page.css").read_text(encoding="utf-8"),
        links="".join(f'<a href="#{name}">{escape(heading)}</a>' for name, heading, _ in sections),
        body="".join(
            f'<section id="{name}"><h2>{escape(heading)}</h2>{content}</section>'
            for name, heading, content in sections
        ),
    )
    with output_errors(file), written_whole(file) as aside:
        aside.write_text(page, encoding="utf-8")


def _names(paths: Sequence[Path]) -> dict[Path, str]:
    """Return the runs' names, each with as much of its path as it takes to tell it from the others."""
    parts = 1
    while len({path.parts[-parts:] for path in paths}) < len(paths):
        parts += 1
    return {path: "/".join(path.parts[-parts:]) for path in paths}


def _read(paths: Sequence[Path], names: Mapping[Path, str], progress: Callable[[str], None]) -> list[Run]:
    runs = []
    for path in paths:
        progress(f"reading {path}")
        source, directory = Source.open(path), RunDirectory.open(path)
        for warning in source.warnings:
            progress(f"warning: {warning}")
        metrics = [
            line for line in directory.read_metrics() if line["game_frames"] <= source.status.game_frames
        ]
        runs.append(
            Run(
                source=source,
                name=names[path],
                directory=directory,
                metrics=metrics or [_metrics(source.status)],
            )
        )
    return runs


def _metrics(status: Status) -> dict[str, Any]:
    """Return what a run has reached, where it has written no metrics."""
    return {
        "game_frames": status.game_frames,
        "wall_seconds": status.seconds,
        "cells": status.cells,
        "rooms": status.rooms,
        "level": status.level,
        "max_score": status.best_score,
        "game_frames_per_second": 0.0,
        "memory_bytes": 0,
    }


def _groups(runs: Sequence[Run]) -> list[Group]:
    """Put runs together that differ by their seed alone."""
    together: dict[SearchConfig, list[Run]] = {}
    for run in runs:
        together.setdefault(dataclasses.replace(run.source.config, seed=0), []).append(run)
    return [
        Group(
            name=_name(config),
            curves=[run.metrics for run in members],
            paper=paper_search(config),
            has_rooms=facts(config.env.name).room_address is not None,
            has_levels=facts(config.env.name).level_address is not None,
        )
        for config, members in together.items()
    ]


def _name(config: SearchConfig) -> str:
    for name, each in PRESETS.items():
        if dataclasses.replace(each, seed=0) == config:
            return name
    return f"{config.env.name}, {config.cells.kind} cells"
