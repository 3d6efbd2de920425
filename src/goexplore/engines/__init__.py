"""Engines: which emulator plays an Atari game, and the proof that the native one plays as ale-py does."""

from goexplore.engines._certification import Certification, LockStep, Play, certify, every_room_first, plays
from goexplore.engines._choice import (
    Certificate,
    Engine,
    EngineChoice,
    EngineWish,
    choose_engine,
    distrust,
    distrust_file,
    is_distrusted,
    require_compiled,
    rom_checksum,
    version_for,
)

__all__ = [
    "Certificate",
    "Certification",
    "Engine",
    "EngineChoice",
    "EngineWish",
    "LockStep",
    "Play",
    "certify",
    "choose_engine",
    "distrust",
    "distrust_file",
    "every_room_first",
    "is_distrusted",
    "plays",
    "require_compiled",
    "rom_checksum",
    "version_for",
]
