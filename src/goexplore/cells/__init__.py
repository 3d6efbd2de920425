"""Cell representations: which states count as the same place."""

from goexplore.cells._downscaled import DownscaledCells, Palette
from goexplore.cells._function import FunctionCells
from goexplore.cells._montezuma import MontezumaCells
from goexplore.cells._pitfall import PitfallCells
from goexplore.cells._representation import CellKey, CellRepresentation

__all__ = [
    "CellKey",
    "CellRepresentation",
    "DownscaledCells",
    "FunctionCells",
    "MontezumaCells",
    "Palette",
    "PitfallCells",
]
