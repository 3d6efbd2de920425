"""The paper's settings for Pitfall (appendix A.6)."""

from dataclasses import replace

from goexplore.exploration import ExplorationConfig
from goexplore.games._atari import AtariGame
from goexplore.games.pitfall._cells import PitfallCellsConfig
from goexplore.problems import DownscaledConfig, Problem
from goexplore.selection import PAPER_SELECTION

_GAME = AtariGame(game="ALE/Pitfall-v5", episode_end="game-over")

# With domain knowledge: paper table 2.
PITFALL = Problem(
    env=_GAME,
    cells=PitfallCellsConfig(),
    selection=replace(PAPER_SELECTION, chosen_weight=1, chosen_since_new_weight=0.5, horizontal_weight=1),
    exploration=ExplorationConfig(batch_size=1000, ends="drop"),
)

# Without: paper table 1.
PITFALL_PIXELS = Problem(
    env=_GAME,
    cells=DownscaledConfig(),
    selection=replace(PAPER_SELECTION, chosen_weight=1, chosen_since_new_weight=1),
    exploration=ExplorationConfig(batch_size=1000, ends="drop"),
)

# Appendix A.10: 16 intensities instead of 8.
PITFALL_PIXELS_FINE = replace(PITFALL_PIXELS, cells=DownscaledConfig(levels=16))
