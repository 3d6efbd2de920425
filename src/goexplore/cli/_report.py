"""goexplore report: one page about one or several runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from goexplore.cli._arguments import parse, parse_problem
from goexplore.cli._progress import log
from goexplore.cli._sources import require_runs
from goexplore.errors import require_at_least
from goexplore.files import require_writable
from goexplore.report import write_report
from goexplore.runs import SearchDirectory, is_training


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Write one self-contained HTML page: curves, map, videos, verification, settings."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run directories of searches and trainings; searches that differ only in their seed share a line."""
    out: Path | None = None
    """File to write. Default: report.html in the first run directory."""
    videos: int = 3
    """Number of videos of the best trajectories."""
    problem: str | None = None
    """The problem's import path, such as my_game:Lock, if the runs are of one that no package registers."""


def run_report(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = parse(_Arguments, arguments, prog="goexplore report")
    require_runs(chosen.runs)
    require_at_least("videos", chosen.videos, 0)
    first = chosen.runs[0]
    file = chosen.out or (first if is_training(first) else SearchDirectory.open(first).path) / "report.html"
    require_writable(file)
    problem = parse_problem(chosen.problem)
    write_report(chosen.runs, file, videos=chosen.videos, problem=problem, progress=log)
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB; open it in a browser")
    return 0
