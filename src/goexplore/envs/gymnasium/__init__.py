"""Gymnasium's environments as ours: their actions as numbers, and three ways to return to a state."""

from goexplore.envs.gymnasium._actions import ActionTable, Draw
from goexplore.envs.gymnasium._adapter import GymnasiumEnv, open_simulation
from goexplore.envs.gymnasium._returning import WAYS, CopyCache, Way
from goexplore.envs.gymnasium._states import ByteState, find_state

__all__ = [
    "WAYS",
    "ActionTable",
    "ByteState",
    "CopyCache",
    "Draw",
    "GymnasiumEnv",
    "Way",
    "find_state",
    "open_simulation",
]
