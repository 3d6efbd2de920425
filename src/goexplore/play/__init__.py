"""Play: the stochastic game, and what a policy observes of it. Training and evaluation share both."""

from goexplore.play._preprocessing import Observation, PreprocessingConfig, Preprocessor, as_vector
from goexplore.play._stochastic import (
    MAX_NO_OPS,
    REPEAT_ACTION_PROBABILITY,
    GameState,
    Played,
    StochasticGame,
)

__all__ = [
    "MAX_NO_OPS",
    "REPEAT_ACTION_PROBABILITY",
    "GameState",
    "Observation",
    "Played",
    "PreprocessingConfig",
    "Preprocessor",
    "StochasticGame",
    "as_vector",
]
