"""Environments: simulators that can be reset, stepped, saved and put back. The contract, and Atari games."""

from goexplore.envs._ale import AtariEnv
from goexplore.envs._atari import AtariEnvironment, AtariFacts, EpisodeEnd
from goexplore.envs._environment import (
    MAX_ACTIONS,
    NOWHERE,
    Environment,
    Location,
    Palette,
    RoomMap,
    Step,
    require_actions,
)
from goexplore.envs._native_atari import (
    NativeAtariEnv,
    action_numbers,
    explain_fault,
    load_cartridge,
    why_interpreted,
)
from goexplore.envs._observations import describe_observation, digest, is_image, observation_bytes
from goexplore.envs._roms import gymnasium_id, read_rom, rom_name

__all__ = [
    "MAX_ACTIONS",
    "NOWHERE",
    "AtariEnv",
    "AtariEnvironment",
    "AtariFacts",
    "Environment",
    "EpisodeEnd",
    "Location",
    "NativeAtariEnv",
    "Palette",
    "RoomMap",
    "Step",
    "action_numbers",
    "describe_observation",
    "digest",
    "explain_fault",
    "gymnasium_id",
    "is_image",
    "load_cartridge",
    "observation_bytes",
    "read_rom",
    "require_actions",
    "rom_name",
    "why_interpreted",
]
