"""Cell representations: which states count as the same, and an environment seen through one."""

from goexplore.cells._cell_env import CellEnvironment, CellStep, End, Ends, unpack_snapshot, validate_step
from goexplore.cells._combined import CombinedCells
from goexplore.cells._downscaled import DownscaledCells, RenderedCells, grey_frame
from goexplore.cells._dynamic import (
    PAPER_DOWNSCALING,
    Downscaling,
    DynamicCells,
    choose_downscaling,
    objective,
)
from goexplore.cells._frames import pack_frame, unpack_frame
from goexplore.cells._function import FunctionCells, encode
from goexplore.cells._grid import WHOLE, GridAxis, GridCells
from goexplore.cells._representation import CellKey, CellRepresentation, Neighbours
from goexplore.cells._state_functions import CRASH, HANG, EventRule, Objective, require_event_rules

__all__ = [
    "CRASH",
    "HANG",
    "PAPER_DOWNSCALING",
    "WHOLE",
    "CellEnvironment",
    "CellKey",
    "CellRepresentation",
    "CellStep",
    "CombinedCells",
    "DownscaledCells",
    "Downscaling",
    "DynamicCells",
    "End",
    "Ends",
    "EventRule",
    "FunctionCells",
    "GridAxis",
    "GridCells",
    "Neighbours",
    "Objective",
    "RenderedCells",
    "choose_downscaling",
    "encode",
    "grey_frame",
    "objective",
    "pack_frame",
    "require_event_rules",
    "unpack_frame",
    "unpack_snapshot",
    "validate_step",
]
