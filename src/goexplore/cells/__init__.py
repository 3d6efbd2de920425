"""Cell representations: which states count as the same, and an environment seen through one."""

from goexplore.cells._cell_env import CellEnvironment, CellStep, End, Ends, unpack_snapshot, validate_step
from goexplore.cells._downscaled import DownscaledCells, grey_frame
from goexplore.cells._function import FunctionCells, encode
from goexplore.cells._representation import CellKey, CellRepresentation, Neighbours

__all__ = [
    "CellEnvironment",
    "CellKey",
    "CellRepresentation",
    "CellStep",
    "DownscaledCells",
    "End",
    "Ends",
    "FunctionCells",
    "Neighbours",
    "encode",
    "grey_frame",
    "unpack_snapshot",
    "validate_step",
]
