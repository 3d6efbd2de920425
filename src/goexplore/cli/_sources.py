"""Opens the run directories that are named on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goexplore.cli._progress import log
from goexplore.errors import ConfigError
from goexplore.problems import Problem
from goexplore.runs import SavedRun


def open_saved_run(path: Path, problem: Problem | None) -> SavedRun:
    """Read a run, and say what is wrong with it."""
    run = SavedRun.open(path, problem)
    for warning in run.warnings:
        log(f"warning: {warning}")
    return run


def require_runs(paths: Sequence[Path]) -> None:
    """Refuse a command without a run."""
    if not paths:
        raise ConfigError("expected at least one run directory, got none: name one")
