"""Checks: does an environment keep its contract, how large and fast is it, and are its cells of use?"""

from goexplore.checks._cells import CellCounts, Verdict, judge_cells, thresholds
from goexplore.checks._check import CheckReport, Proven, check_env, choose_way, require_env
from goexplore.checks._evidence import Check
from goexplore.checks._preview import CellsPreview, Choice, play_preview

__all__ = [
    "CellCounts",
    "CellsPreview",
    "Check",
    "CheckReport",
    "Choice",
    "Proven",
    "Verdict",
    "check_env",
    "choose_way",
    "judge_cells",
    "play_preview",
    "require_env",
    "thresholds",
]
