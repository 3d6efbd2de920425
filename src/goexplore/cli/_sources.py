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


def is_folder(name: str) -> bool:
    """Return whether a name is that of a folder; names that no file can have are not."""
    try:
        return Path(name).is_dir()
    except (OSError, ValueError):
        return False


def is_file(name: str) -> bool:
    """Return whether a name is that of a file."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def require_runs(paths: Sequence[Path]) -> None:
    """Refuse a command without a run."""
    if not paths:
        raise ConfigError("expected at least one run directory, got none: name one")
