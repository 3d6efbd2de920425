"""goexplore report: one page about one or several runs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import tyro

from goexplore.errors import ConfigError
from goexplore.report import write_report
from goexplore.runs import clear_errors


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Write one self-contained HTML page: curves, map, videos, verification, settings."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run directories; runs that differ by their seed alone share a line with a band."""
    out: Path | None = None
    """File to write. Default: report.html in the first run directory."""
    videos: int = 3
    """Videos of the best trajectories."""


def run_report(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = tyro.cli(_Arguments, prog="goexplore report", args=arguments)
    if not chosen.runs:
        raise ConfigError("expected at least one run directory, got none: name one")
    file = chosen.out or chosen.runs[0] / "report.html"

    def progress(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    with clear_errors(file):
        write_report(chosen.runs, file, videos=chosen.videos, progress=progress)
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB; open it in a browser")
    return 0
