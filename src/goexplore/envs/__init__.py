"""Environments: simulators that can be reset, stepped, saved and put back."""

from goexplore.envs._atari import AtariEnv
from goexplore.envs._environment import NOWHERE, Environment, Place, Step
from goexplore.envs._games import TWO_MAZES, EpisodeEnd, facts, gymnasium_id, read_rom, rom_name
from goexplore.envs._mazes import TwoMazes
from goexplore.envs._native_atari import (
    NativeAtariEnv,
    action_numbers,
    explain_fault,
    load_cartridge,
    why_interpreted,
)

__all__ = [
    "NOWHERE",
    "TWO_MAZES",
    "AtariEnv",
    "Environment",
    "EpisodeEnd",
    "NativeAtariEnv",
    "Place",
    "Step",
    "TwoMazes",
    "action_numbers",
    "explain_fault",
    "facts",
    "gymnasium_id",
    "load_cartridge",
    "read_rom",
    "rom_name",
    "why_interpreted",
]
