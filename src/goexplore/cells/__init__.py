"""Cell representations: which states count as the same, and an environment seen through one."""

from goexplore.cells._cell_env import CellEnvironment, CellStep, End, Ends, unpack_snapshot, validate_step
from goexplore.cells._combined import CombinedCells
from goexplore.cells._downscaled import DownscaledCells, RenderedCells, grey_frame
from goexplore.cells._function import FunctionCells, encode
from goexplore.cells._grid import WHOLE, GridAxis, GridCells
from goexplore.cells._representation import CellKey, CellRepresentation, Neighbours

__all__ = [
    "WHOLE",
    "CellEnvironment",
    "CellKey",
    "CellRepresentation",
    "CellStep",
    "CombinedCells",
    "DownscaledCells",
    "End",
    "Ends",
    "FunctionCells",
    "GridAxis",
    "GridCells",
    "Neighbours",
    "RenderedCells",
    "encode",
    "grey_frame",
    "unpack_snapshot",
    "validate_step",
]
