"""Runs as a command takes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goexplore.cli._progress import tell
from goexplore.demos import Source
from goexplore.errors import ConfigError


def open_source(path: Path) -> Source:
    """Read a run, and say what is wrong with it."""
    source = Source.open(path)
    for warning in source.warnings:
        tell(f"warning: {warning}")
    return source


def require_runs(paths: Sequence[Path]) -> None:
    """Refuse a command without a run."""
    if not paths:
        raise ConfigError("expected at least one run directory, got none: name one")
