"""Two mazes, for a first try of everything without Atari (paper, figure 1)."""

from goexplore.games.two_mazes._env import TwoMazes
from goexplore.games.two_mazes._presets import TWO_MAZES, TwoMazesConfig

__all__ = ["TWO_MAZES", "TwoMazes", "TwoMazesConfig"]
