"""Problems: environment, cells, selection and exploration as one thing; and problems by name."""

from goexplore.problems._problem import Problem, as_problem, differences
from goexplore.problems._registry import (
    Family,
    family,
    find_again,
    find_environment,
    find_problem,
    find_registered,
    problem_names,
    register,
)
from goexplore.problems._specs import (
    CellsSpec,
    DefaultCells,
    DownscaledConfig,
    EngineBinding,
    EnvironmentSpec,
    FactorySpec,
    FunctionCellsSpec,
    path_of,
)

__all__ = [
    "CellsSpec",
    "DefaultCells",
    "DownscaledConfig",
    "EngineBinding",
    "EnvironmentSpec",
    "FactorySpec",
    "Family",
    "FunctionCellsSpec",
    "Problem",
    "as_problem",
    "differences",
    "family",
    "find_again",
    "find_environment",
    "find_problem",
    "find_registered",
    "path_of",
    "problem_names",
    "register",
]
