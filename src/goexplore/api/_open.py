"""Opening what is there already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goexplore.api._policies import PolicyRun
from goexplore.api._run import read_run
from goexplore.problems import given_problem
from goexplore.runs import is_training


def open_run(path: Path | str, problem: Any | None = None) -> Any:
    """Return a search (`Run`) or a training (`PolicyRun`) as its run directory has it.

    A file never makes us import code: the `problem` has to be given where it comes from an import path, and
    no installed package registers it.
    """
    given = given_problem(problem)
    if is_training(Path(path)):
        return PolicyRun(path=Path(path), problem=given)
    return read_run(path, given)
