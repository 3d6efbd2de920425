"""Evaluation: how well a policy plays the unmodified, stochastic game (paper section 2.3)."""

from goexplore.evaluation._episodes import Episode, EpisodeInPlay, EvaluationConfig, play_repetition
from goexplore.evaluation._players import OpenLoopPlayer, Player, PolicyPlayer, RandomPlayer
from goexplore.evaluation._protocol import Evaluation, evaluate

__all__ = [
    "Episode",
    "EpisodeInPlay",
    "Evaluation",
    "EvaluationConfig",
    "OpenLoopPlayer",
    "Player",
    "PolicyPlayer",
    "RandomPlayer",
    "evaluate",
    "play_repetition",
]
