"""Demonstrations as a command takes them."""

from __future__ import annotations

from pathlib import Path

from goexplore.demos import SUFFIX, Demonstration, find_demonstration
from goexplore.errors import DemonstrationError
from goexplore.files import is_folder


def find_all(name: str) -> list[Demonstration]:
    """Read the demonstrations that a file, a folder or a sample's name stands for; verify them by replay."""
    if not is_folder(name):
        return [find_demonstration(name)]
    files = sorted(Path(name).glob(f"*{SUFFIX}"))
    if not files:
        raise DemonstrationError(
            f"expected a folder with *{SUFFIX} files, got {name} without any: make them with "
            "`goexplore demos`"
        )
    return [find_demonstration(str(file)) for file in files]
