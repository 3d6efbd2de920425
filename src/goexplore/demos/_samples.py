"""Small real demonstrations that come with goexplore, for a first try without a search."""

from __future__ import annotations

from pathlib import Path

from goexplore.demos._demonstration import SUFFIX, Demonstration
from goexplore.demos._replay import read_demonstration
from goexplore.errors import DemonstrationError
from goexplore.files import is_file

_FOLDER = Path(__file__).parent.parent / "samples"


def sample_names() -> list[str]:
    """Return the names of all samples."""
    return sorted(file.name.removesuffix(SUFFIX) for file in _FOLDER.glob(f"*{SUFFIX}"))


def find_demonstration(name: str) -> Demonstration:
    """Read a demonstration, given as a file's path or a sample's name, and verify it by replay."""
    for file in (Path(name), _FOLDER / f"{name}{SUFFIX}"):
        if is_file(file):
            return read_demonstration(file)
    raise DemonstrationError(
        f"expected a demonstration's file or a sample, got {name!r}: samples are {', '.join(sample_names())}"
    )
