"""Evaluation: how well a policy plays the unmodified, stochastic game (paper section 2.3)."""

from goexplore.evaluation._baselines import BY_REPLAY, MEANING, OURS, by_replay, up_to, variants
from goexplore.evaluation._choice import PolicyCandidate, PolicyChoice, candidates, choose
from goexplore.evaluation._episodes import Death, Episode, EpisodeInPlay, EvaluationConfig, play_episodes
from goexplore.evaluation._players import OpenLoopPlayer, Player, PolicyPlayer, RandomPlayer
from goexplore.evaluation._protocol import (
    Evaluation,
    MakePlayer,
    describe,
    digest,
    evaluate,
    whole_repetitions,
)
from goexplore.evaluation._records import default_folder, read_episodes, write_episodes
from goexplore.evaluation._statistics import Estimate, caution, mean_with_interval, share_with_interval
from goexplore.evaluation._table import check_table, protocol_note, write_table

__all__ = [
    "BY_REPLAY",
    "MEANING",
    "OURS",
    "Death",
    "Episode",
    "EpisodeInPlay",
    "Estimate",
    "Evaluation",
    "EvaluationConfig",
    "MakePlayer",
    "OpenLoopPlayer",
    "Player",
    "PolicyCandidate",
    "PolicyChoice",
    "PolicyPlayer",
    "RandomPlayer",
    "by_replay",
    "candidates",
    "caution",
    "check_table",
    "choose",
    "default_folder",
    "describe",
    "digest",
    "evaluate",
    "mean_with_interval",
    "play_episodes",
    "protocol_note",
    "read_episodes",
    "share_with_interval",
    "up_to",
    "variants",
    "whole_repetitions",
    "write_episodes",
    "write_table",
]
