"""goexplore report: one page about one or several runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from goexplore.cli._progress import tell
from goexplore.cli._sources import require_runs
from goexplore.directories import is_training
from goexplore.errors import ConfigError
from goexplore.files import require_writable
from goexplore.report import write_report
from goexplore.runs import RunDirectory


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Write one self-contained HTML page: curves, map, videos, verification, settings."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run directories of searches and trainings; searches that differ by their seed alone share a line."""
    out: Path | None = None
    """File to write. Default: report.html in the first run directory."""
    videos: int = 3
    """Videos of the best trajectories."""


def run_report(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = tyro.cli(_Arguments, prog="goexplore report", args=arguments)
    require_runs(chosen.runs)
    if chosen.videos < 0:
        raise ConfigError(f"expected --videos to be 0 or more, got {chosen.videos}: change it")
    first = chosen.runs[0]
    file = chosen.out or (first if is_training(first) else RunDirectory.open(first).path) / "report.html"
    require_writable(file)
    write_report(chosen.runs, file, videos=chosen.videos, progress=tell)
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB; open it in a browser")
    return 0
