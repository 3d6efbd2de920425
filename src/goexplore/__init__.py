"""Go-Explore for hard-exploration problems: explore until solved, then robustify.

Names are imported when they are first used, so that `import goexplore` and `goexplore --help` cost nothing.
"""

from typing import TYPE_CHECKING

from goexplore._lazy import lazy

if TYPE_CHECKING:
    from goexplore.archive import Archive, Entry, Standing
    from goexplore.cells import (
        CellRepresentation,
        DownscaledCells,
        FunctionCells,
        MontezumaCells,
        PitfallCells,
    )
    from goexplore.config import SearchConfig
    from goexplore.demos import (
        Cuts,
        Demonstration,
        Rules,
        Source,
        extract,
        find_demonstration,
        read_demonstration,
        sample_names,
        write_demonstration,
    )
    from goexplore.envs import NOWHERE, AtariEnv, Environment, Place, Step
    from goexplore.exploration import (
        ProcessExecutor,
        PythonKernel,
        RandomRepeat,
        Search,
        SerialExecutor,
        Status,
        World,
    )
    from goexplore.presets import PRESETS, preset
    from goexplore.report import write_report
    from goexplore.running import Limits, explore
    from goexplore.runs import RunDirectory
    from goexplore.selection import (
        CountScore,
        NeighbourScore,
        RankScore,
        UniformSelection,
        WeightedSelection,
    )
    from goexplore.verification import verify

_HOMES = {
    "archive": ("Archive", "Entry", "Standing"),
    "cells": ("CellRepresentation", "DownscaledCells", "FunctionCells", "MontezumaCells", "PitfallCells"),
    "config": ("SearchConfig",),
    "demos": (
        "Cuts",
        "Demonstration",
        "Rules",
        "Source",
        "extract",
        "find_demonstration",
        "read_demonstration",
        "sample_names",
        "write_demonstration",
    ),
    "envs": ("NOWHERE", "AtariEnv", "Environment", "Place", "Step"),
    "exploration": (
        "ProcessExecutor",
        "PythonKernel",
        "RandomRepeat",
        "Search",
        "SerialExecutor",
        "Status",
        "World",
    ),
    "presets": ("PRESETS", "preset"),
    "report": ("write_report",),
    "runs": ("RunDirectory",),
    "running": ("Limits", "explore"),
    "selection": ("CountScore", "NeighbourScore", "RankScore", "UniformSelection", "WeightedSelection"),
    "verification": ("verify",),
}

__all__ = [
    "NOWHERE",
    "PRESETS",
    "Archive",
    "AtariEnv",
    "CellRepresentation",
    "CountScore",
    "Cuts",
    "Demonstration",
    "DownscaledCells",
    "Entry",
    "Environment",
    "FunctionCells",
    "Limits",
    "MontezumaCells",
    "NeighbourScore",
    "PitfallCells",
    "Place",
    "ProcessExecutor",
    "PythonKernel",
    "RandomRepeat",
    "RankScore",
    "Rules",
    "RunDirectory",
    "Search",
    "SearchConfig",
    "SerialExecutor",
    "Source",
    "Standing",
    "Status",
    "Step",
    "UniformSelection",
    "WeightedSelection",
    "World",
    "explore",
    "extract",
    "find_demonstration",
    "preset",
    "read_demonstration",
    "sample_names",
    "verify",
    "write_demonstration",
    "write_report",
]


__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
