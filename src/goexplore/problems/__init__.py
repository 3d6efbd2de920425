"""Problems: environment, cells, selection and exploration as one thing; and problems by name."""

from goexplore.problems._problem import Problem, as_problem, differences
from goexplore.problems._registry import (
    Family,
    environment_from_file,
    family,
    find_problem,
    find_registered,
    given_problem,
    import_path,
    problem_from_file,
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
    "environment_from_file",
    "family",
    "find_problem",
    "find_registered",
    "given_problem",
    "import_path",
    "path_of",
    "problem_from_file",
    "problem_names",
    "register",
]
