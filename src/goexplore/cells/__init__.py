"""Cell representations: which states count as the same, and an environment seen through one."""

from goexplore.cells._cell_env import CellEnvironment, CellStep, End, Ends, unpack_snapshot, validate_step
from goexplore.cells._combined import CombinedCells
from goexplore.cells._downscaled import DownscaledCells, RenderedCells, grey_frame
from goexplore.cells._function import FunctionCells, encode
from goexplore.cells._grid import WHOLE, GridAxis, GridCells
from goexplore.cells._representation import CellKey, CellRepresentation, Neighbours
from goexplore.cells._state_functions import CRASH, HANG, EventRule, Objective, require_event_rules

__all__ = [
    "CRASH",
    "HANG",
    "WHOLE",
    "CellEnvironment",
    "CellKey",
    "CellRepresentation",
    "CellStep",
    "CombinedCells",
    "DownscaledCells",
    "End",
    "Ends",
    "EventRule",
    "FunctionCells",
    "GridAxis",
    "GridCells",
    "Neighbours",
    "Objective",
    "RenderedCells",
    "encode",
    "grey_frame",
    "require_event_rules",
    "unpack_snapshot",
    "validate_step",
]
