"""Problems: environment, cells, selection and exploration as one thing; and problems by name."""

from goexplore.problems._problem import Problem, as_problem, differences
from goexplore.problems._registry import (
    Family,
    environment_from_file,
    family,
    find_problem,
    find_registered,
    given_problem,
    problem_from_file,
    problem_names,
    register,
)
from goexplore.problems._specs import (
    NAMED_CELLS,
    CellsSpec,
    DefaultCells,
    DownscaledConfig,
    DynamicConfig,
    EngineBinding,
    EnvironmentSpec,
    FactorySpec,
    FunctionCellsSpec,
    cells_named,
    path_of,
)

__all__ = [
    "NAMED_CELLS",
    "CellsSpec",
    "DefaultCells",
    "DownscaledConfig",
    "DynamicConfig",
    "EngineBinding",
    "EnvironmentSpec",
    "FactorySpec",
    "Family",
    "FunctionCellsSpec",
    "Problem",
    "as_problem",
    "cells_named",
    "differences",
    "environment_from_file",
    "family",
    "find_problem",
    "find_registered",
    "given_problem",
    "path_of",
    "problem_from_file",
    "problem_names",
    "register",
]
