"""Problems: environment, cells, selection and exploration as one thing; and problems by name."""

from goexplore.problems._cells_text import cells_from_text
from goexplore.problems._chosen_cells import Grid, Rendering
from goexplore.problems._gymnasium import Gymnasium
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
    NAMED_CELLS,
    CellsSpec,
    Combination,
    DefaultCells,
    DownscaledConfig,
    DynamicConfig,
    EngineBinding,
    EnvironmentSpec,
    FactorySpec,
    FunctionCellsSpec,
    as_cells,
    path_of,
)

__all__ = [
    "NAMED_CELLS",
    "CellsSpec",
    "Combination",
    "DefaultCells",
    "DownscaledConfig",
    "DynamicConfig",
    "EngineBinding",
    "EnvironmentSpec",
    "FactorySpec",
    "Family",
    "FunctionCellsSpec",
    "Grid",
    "Gymnasium",
    "Problem",
    "Rendering",
    "as_cells",
    "as_problem",
    "cells_from_text",
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
