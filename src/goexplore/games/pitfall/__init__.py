"""Pitfall: facts, cells from pixels, the paper's settings."""

from goexplore.games.pitfall._cells import PitfallCells, PitfallCellsConfig
from goexplore.games.pitfall._facts import CERTIFICATE, FACTS
from goexplore.games.pitfall._presets import PITFALL, PITFALL_PIXELS, PITFALL_PIXELS_FINE

__all__ = [
    "CERTIFICATE",
    "FACTS",
    "PITFALL",
    "PITFALL_PIXELS",
    "PITFALL_PIXELS_FINE",
    "PitfallCells",
    "PitfallCellsConfig",
]
