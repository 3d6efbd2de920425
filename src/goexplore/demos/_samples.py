"""Small real demonstrations and a policy that are included, for a first try without a search."""

from __future__ import annotations

from pathlib import Path

from goexplore.demos._demonstration import SUFFIX, Demonstration, parse_demonstration
from goexplore.demos._verification import verify_demonstration
from goexplore.errors import DemonstrationError
from goexplore.files import is_file, is_folder, whole_files
from goexplore.problems import Problem

_FOLDER = Path(__file__).parent.parent / "samples"


def sample_names() -> list[str]:
    """Return the names of all demonstrations that are included."""
    return sorted(file.name.removesuffix(SUFFIX) for file in _FOLDER.glob(f"*{SUFFIX}"))


def sample_file(name: str, suffix: str) -> Path:
    """Return the file that a sample of this name would have."""
    return _FOLDER / f"{name}{suffix}"


def demonstration_files(name: str) -> list[Path]:
    """Return the files that a path, a folder or a sample's name stands for."""
    for file in (Path(name), sample_file(name, SUFFIX)):
        if is_file(file):
            return [file]
    if not is_folder(name):
        raise DemonstrationError(
            f"expected a demonstration's file, a folder of them or a sample, got {name!r}: samples are "
            f"{', '.join(sample_names())}"
        )
    files = whole_files(Path(name), f"*{SUFFIX}")
    if not files:
        raise DemonstrationError(
            f"expected *{SUFFIX} files in the folder {name}, got none: make them with `goexplore demos`"
        )
    return files


def find_demonstrations(
    name: str, problem: Problem | None = None, *, verify: bool = True
) -> list[Demonstration]:
    """Read what a path, a folder or a sample's name stands for; verify it by replay unless told otherwise."""
    found = [parse_demonstration(file, problem) for file in demonstration_files(name)]
    if verify:
        for each in found:
            verify_demonstration(each)
    return found
