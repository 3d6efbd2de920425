"""Looking at what was found: videos, maps, curves, and the page that shows them all."""

from goexplore.report._comparison import comparison_note, comparison_table, write_comparison
from goexplore.report._deaths import (
    DeathMap,
    check_death_map,
    draw_deaths,
    photograph_rooms,
    require_room_map,
    write_death_maps,
)
from goexplore.report._failures import Failure, play_failures, typical_failures
from goexplore.report._map import LevelMap, draw_levels, draw_poster, has_map
from goexplore.report._page import run_names, write_report
from goexplore.report._picture import picture_of
from goexplore.report._policies import PolicyResult, TrainedRun
from goexplore.report._preview import preview_cells, write_preview
from goexplore.report._recorded import recorded_moments
from goexplore.report._training import draw_training
from goexplore.report._video import Film, Moment, check_video, play_episode, play_moments, show, write_video
from goexplore.report._view import COLOURINGS, MEANING, ArchiveView, Colouring, photograph

__all__ = [
    "COLOURINGS",
    "MEANING",
    "ArchiveView",
    "Colouring",
    "DeathMap",
    "Failure",
    "Film",
    "LevelMap",
    "Moment",
    "PolicyResult",
    "TrainedRun",
    "check_death_map",
    "check_video",
    "comparison_note",
    "comparison_table",
    "draw_deaths",
    "draw_levels",
    "draw_poster",
    "draw_training",
    "has_map",
    "photograph",
    "photograph_rooms",
    "picture_of",
    "play_episode",
    "play_failures",
    "play_moments",
    "preview_cells",
    "recorded_moments",
    "require_room_map",
    "run_names",
    "show",
    "typical_failures",
    "write_comparison",
    "write_death_maps",
    "write_preview",
    "write_report",
    "write_video",
]
