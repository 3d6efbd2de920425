"""Cell representations: which states count as the same, and an environment seen through one."""

from goexplore.cells._cell_env import CellEnvironment, CellStep, End, Ends, unpack_snapshot, validate_step
from goexplore.cells._downscaled import DownscaledCells, grey_frame
from goexplore.cells._dynamic import (
    PAPER_DOWNSCALING,
    Downscaling,
    DynamicCells,
    choose_downscaling,
    objective,
)
from goexplore.cells._frames import pack_frame, unpack_frame
from goexplore.cells._function import FunctionCells, encode
from goexplore.cells._representation import CellKey, CellRepresentation, Neighbours

__all__ = [
    "PAPER_DOWNSCALING",
    "CellEnvironment",
    "CellKey",
    "CellRepresentation",
    "CellStep",
    "DownscaledCells",
    "Downscaling",
    "DynamicCells",
    "End",
    "Ends",
    "FunctionCells",
    "Neighbours",
    "choose_downscaling",
    "encode",
    "grey_frame",
    "objective",
    "pack_frame",
    "unpack_frame",
    "unpack_snapshot",
    "validate_step",
]
