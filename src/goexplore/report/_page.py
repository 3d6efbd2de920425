"""The report of one or several runs: one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import TypeAlias

from goexplore.errors import ConfigError
from goexplore.files import output_errors, written_whole
from goexplore.problems import Problem, find_registered
from goexplore.report._curves import Group
from goexplore.report._map import has_map
from goexplore.report._others import others_section
from goexplore.report._paper import paper_search
from goexplore.report._plane import find_plane, plane_section
from goexplore.report._policies import (
    TrainedRun,
    failures_section,
    policies_section,
    policy_videos_section,
    training_section,
)
from goexplore.report._sections import (
    ReportedRun,
    comparison_section,
    curves_section,
    events_section,
    gallery_section,
    map_section,
    revisions_section,
    settings_section,
    summary_section,
    tree_section,
    verification_section,
    videos_section,
)
from goexplore.report._view import ArchiveView
from goexplore.runs import SavedRun, SearchMetrics, is_training


def write_report(
    paths: Sequence[Path | str],
    file: Path | str,
    *,
    videos: int = 3,
    problem: Problem | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> None:
    """Write the report of these runs: searches, trainings, or both.

    The `problem` has to be given where it comes from an import path.
    """
    whole = [Path(path).resolve() for path in paths]
    if len(set(whole)) < len(whole):
        raise ConfigError("expected each run once, got one several times: name it once")
    names = run_names(whole)
    trainings = [
        TrainedRun(name=names[path], path=path, problem=problem) for path in whole if is_training(path)
    ]
    runs = _read([path for path in whole if not is_training(path)], names, problem, progress)
    games = {run.source.problem.env_target for run in runs} | {each.game for each in trainings}
    if len(games) > 1:
        raise ConfigError(
            f"expected runs of one environment, got {', '.join(sorted(games))}: write a report for each"
        )
    sections = _search_sections(runs, videos, progress) if runs else []
    if trainings:
        sections += _training_sections(trainings, videos, progress)
    (game,) = games
    found = problem or find_registered(game)
    beside = others_section(found.env.name if found else game, _groups(runs), trainings)
    if beside:
        sections.append(("others", "Beside others", beside))
    write_page(f"{game}: {', '.join(names[path] for path in whole)}", sections, Path(file))


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
        sections.append(("policy-videos", "Policies at play", policy_videos_section(trainings, progress)))
    failures = failures_section(trainings, videos, progress)
    if failures:
        sections.append(("failures", "Where lives end", failures))
    sections.append(("training-settings", "Settings of the trainings", settings_section(trainings)))
    return sections


def _search_sections(
    runs: Sequence[ReportedRun], videos: int, progress: Callable[[str], None]
) -> list[Section]:
    best = max(runs, key=lambda run: (run.last.max_score, run.last.rooms, run.last.cells))
    groups = _groups(runs)
    progress("drawing curves")
    sections = [
        ("summary", "Summary", summary_section(runs, best)),
        ("curves", "Curves", curves_section(groups)),
    ]
    compared = comparison_section(groups)
    if compared:
        sections.append(("paper", "Beside the paper", compared))
    view = ArchiveView(best.source.archive, best.source.problem)
    progress("drawing cells")
    if has_map(view):
        sections.append(("map", f"Map of {best.name}", map_section(view)))
    else:
        plane = find_plane(view)
        if plane is not None:
            sections.append(("plane", f"Cells of {best.name} on their grid", plane_section(view, plane)))
        sections.append(("cells", f"Cells of {best.name}", gallery_section(view)))
        sections.append(("tree", f"Trajectories of {best.name}", tree_section(view)))
    if any(run.source.problem.events or run.source.archive.events for run in runs):
        sections.append(("events", "Events", events_section(runs, videos, progress)))
    if best.source.revisions:
        sections.append(("revisions", f"Revisions of the cells of {best.name}", revisions_section(best)))
    if videos:
        sections.append(("videos", "Best trajectories", videos_section(runs, videos, progress)))
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
        aside.write_text(page, encoding="utf-8", errors="backslashreplace")


def run_names(paths: Sequence[Path]) -> dict[Path, str]:
    """Return the runs' names, each with as much of its path as it takes to tell it from the others."""
    parts = 1
    while len({path.parts[-parts:] for path in paths}) < len(paths):
        parts += 1
    return {path: "/".join(path.parts[-parts:]) for path in paths}


def _read(
    paths: Sequence[Path],
    names: Mapping[Path, str],
    problem: Problem | None,
    progress: Callable[[str], None],
) -> list[ReportedRun]:
    runs = []
    for path in paths:
        progress(f"reading {path}")
        source = SavedRun.open(path, problem)
        for warning in source.warnings:
            progress(f"warning: {warning}")
        metrics = [
            line for line in source.directory.metrics() if line.game_frames <= source.status.game_frames
        ]
        runs.append(
            ReportedRun(source=source, name=names[path], metrics=metrics or [SearchMetrics.of(source.status)])
        )
    return runs


def _groups(runs: Sequence[ReportedRun]) -> list[Group]:
    """Put runs together that differ by their seed alone."""
    together: dict[Problem, list[ReportedRun]] = {}
    for run in runs:
        together.setdefault(run.source.problem, []).append(run)
    return [
        Group(
            name=_name(problem),
            curves=[run.metrics for run in members],
            paper=paper_search(problem),
            has_rooms=members[0].env.has_rooms,
            has_levels=members[0].env.has_levels,
        )
        for problem, members in together.items()
    ]


def _name(problem: Problem) -> str:
    registered = find_registered(problem.name)
    if registered is None or registered.settings() == problem.settings():
        return problem.name
    return f"{problem.name}, with other settings"
