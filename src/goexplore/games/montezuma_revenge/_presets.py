"""The paper's settings for Montezuma's Revenge (appendix A.6), and its follow-up's simpler weights."""

from dataclasses import replace

from goexplore.exploration import ExplorationConfig
from goexplore.games._atari import AtariGame
from goexplore.games.montezuma_revenge._cells import MontezumaCellsConfig
from goexplore.problems import DownscaledConfig, Problem
from goexplore.selection import PAPER_SELECTION, SelectionConfig

_GAME = AtariGame(game="ALE/MontezumaRevenge-v5", episode_end="life-loss")

# With domain knowledge: paper table 2.
MONTEZUMA = Problem(
    env=_GAME,
    cells=MontezumaCellsConfig(),
    selection=replace(PAPER_SELECTION, horizontal_weight=0.3, vertical_weight=0.1, rank_weight=10),
    exploration=ExplorationConfig(batch_size=1000, ends="drop"),
)

# Without: paper table 1.
MONTEZUMA_PIXELS = Problem(
    env=_GAME,
    cells=DownscaledConfig(),
    selection=replace(PAPER_SELECTION, chosen_weight=0.1, seen_weight=0.3),
    exploration=ExplorationConfig(batch_size=100, ends="drop"),
)

# The follow-up's weights ("First return, then explore", 2021): 1/sqrt(seen + 1), no constant, no epsilon.
MONTEZUMA_2021 = Problem(
    env=_GAME,
    cells=MontezumaCellsConfig(),
    selection=SelectionConfig(horizontal_weight=0.1, rank_weight=1),
    exploration=ExplorationConfig(batch_size=100, ends="drop"),
)
