"""goexplore check-env: does an environment keep its contract?"""

from __future__ import annotations

from dataclasses import dataclass

import tyro

from goexplore.checks import check_env
from goexplore.cli._arguments import parse
from goexplore.engines import EngineWish
from goexplore.problems import find_problem


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Test an environment and its cells: determinism, snapshots, cells, speed and sizes."""

    target: tyro.conf.Positional[str]
    """A registered problem, an id, or an import path, as for `goexplore explore`."""
    steps: int = 500
    """Training frames of the walks that are compared."""
    timeout_seconds: float = 120.0
    """How long one call of the environment may take."""
    engine: EngineWish = "auto"
    """The emulator of an Atari game."""


def run_check_env(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = parse(_Arguments, arguments, prog="goexplore check-env")
    problem, _ = find_problem(chosen.target).with_engine(chosen.engine)
    report = check_env(problem, steps=chosen.steps, timeout_seconds=chosen.timeout_seconds)
    print(report.text())
    return 0 if report.passed else 1
