"""Montezuma's Revenge: facts, cells from pixels, the paper's settings."""

from goexplore.games.montezuma_revenge._cells import MontezumaCells, MontezumaCellsConfig
from goexplore.games.montezuma_revenge._facts import CERTIFICATE, FACTS
from goexplore.games.montezuma_revenge._presets import MONTEZUMA, MONTEZUMA_2021, MONTEZUMA_PIXELS

__all__ = [
    "CERTIFICATE",
    "FACTS",
    "MONTEZUMA",
    "MONTEZUMA_2021",
    "MONTEZUMA_PIXELS",
    "MontezumaCells",
    "MontezumaCellsConfig",
]
