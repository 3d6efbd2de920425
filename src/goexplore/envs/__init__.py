"""Environments: simulators that can be reset, stepped, saved and put back."""

from goexplore.envs._atari import AtariEnv
from goexplore.envs._environment import NOWHERE, Environment, Place, Step
from goexplore.envs._games import EpisodeEnd, gymnasium_id, rom_name

__all__ = [
    "NOWHERE",
    "AtariEnv",
    "Environment",
    "EpisodeEnd",
    "Place",
    "Step",
    "gymnasium_id",
    "rom_name",
]
