"""Go-Explore for hard-exploration problems: explore until solved, then robustify.

    run = goexplore.explore("montezuma-2021", minutes=3)
    print(run.best.score, len(run.best.actions))

These names are the front door; the parts are public in their packages (`goexplore.selection`,
`goexplore.exploration`, ...). Names are imported when they are first used, so that `import goexplore` and
`goexplore --help` cost nothing.
"""

from typing import TYPE_CHECKING, Any

from goexplore._lazy import lazy

if TYPE_CHECKING:
    __version__: str
    from goexplore.api import PolicyRun, Run, Trajectory, evaluate, explore, open_run, robustify
    from goexplore.cells import CellRepresentation, DownscaledCells, FunctionCells
    from goexplore.checks import check_env
    from goexplore.demos import Demonstration, Truncation, read_demonstration
    from goexplore.envs import NOWHERE, Environment, Location, Step
    from goexplore.errors import GoExploreError
    from goexplore.exploration import ExplorationConfig
    from goexplore.problems import Grid, Gymnasium, Problem, Rendering, problem_names, register
    from goexplore.report import preview_cells, write_report
    from goexplore.selection import SelectionConfig

_HOMES = {
    "api": ("PolicyRun", "Run", "Trajectory", "evaluate", "explore", "open_run", "robustify"),
    "cells": ("CellRepresentation", "DownscaledCells", "FunctionCells"),
    "checks": ("check_env",),
    "demos": ("Demonstration", "Truncation", "read_demonstration"),
    "envs": ("NOWHERE", "Environment", "Location", "Step"),
    "errors": ("GoExploreError",),
    "exploration": ("ExplorationConfig",),
    "problems": ("Grid", "Gymnasium", "Problem", "Rendering", "problem_names", "register"),
    "report": ("preview_cells", "write_report"),
    "selection": ("SelectionConfig",),
}

__all__ = [
    "NOWHERE",
    "CellRepresentation",
    "Demonstration",
    "DownscaledCells",
    "Environment",
    "ExplorationConfig",
    "FunctionCells",
    "GoExploreError",
    "Grid",
    "Gymnasium",
    "Location",
    "PolicyRun",
    "Problem",
    "Rendering",
    "Run",
    "SelectionConfig",
    "Step",
    "Trajectory",
    "Truncation",
    "check_env",
    "evaluate",
    "explore",
    "open_run",
    "preview_cells",
    "problem_names",
    "read_demonstration",
    "register",
    "robustify",
    "write_report",
]


_find = lazy(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name == "__version__":  # pyproject.toml has it, and pip remembers it
        from importlib.metadata import version

        return version(__name__)
    return _find(name)


def __dir__() -> list[str]:
    return __all__
