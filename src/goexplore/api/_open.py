"""Opening what is there already."""

from __future__ import annotations

from pathlib import Path

from goexplore.api._policies import PolicyRun
from goexplore.api._run import Run, read_run
from goexplore.problems import Problem
from goexplore.runs import is_training


def open_run(path: Path | str, problem: Problem | None = None) -> Run | PolicyRun:
    """Return a search or a training as its run directory has it.

    A file never makes us import code: the `problem` has to be given where it comes from an import path, and
    no installed package registers it.
    """
    if is_training(Path(path)):
        return PolicyRun(path=Path(path), problem=problem)
    return read_run(path, problem)
