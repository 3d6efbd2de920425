"""Which emulator runs a game: the native engine where it is certified, ale-py everywhere else.

ale-py is the reference. `goexplore certify` plays both in lock step; a game in which no difference was found
has a certificate in its folder (`goexplore.games`). `goexplore verify` replays on ale-py whatever engine
explored, and a difference that it finds ends the use of the native engine for that game on this machine.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from goexplore import _native as native
from goexplore._native.version import game_version
from goexplore.envs import read_rom
from goexplore.errors import ConfigError, OutputError
from goexplore.files import is_file, state_folder

Engine: TypeAlias = Literal["native", "ale", "python", "state", "copies", "replay"]
"""What plays, and how it returns to states: an emulator of Atari games, an environment's own Python code, or
one of three ways for a Gymnasium environment."""
EngineWish: TypeAlias = Literal["auto", "native", "ale", "python", "state", "copies", "replay"]


@dataclass(frozen=True)
class Certificate:
    """Proof that the native engine plays a game as ale-py does."""

    md5: str
    """Of the ROM."""
    version: str
    """Of the engine, as far as it plays this game."""
    game_frames: int
    """Compared without a difference."""


@dataclass(frozen=True)
class EngineChoice:
    """The engine that runs, and why."""

    engine: Engine
    reason: str


def choose_engine(rom: str, wish: EngineWish, certificate: Certificate | None) -> EngineChoice:
    """Return the engine for a game. `auto` trusts the native one only where it is certified."""
    if wish not in ("auto", "native", "ale"):
        raise ConfigError(f"expected `engine` auto, native or ale for {rom}, got {wish}: it has an emulator")
    if wish == "ale":
        return EngineChoice("ale", "ale-py, as asked for")
    if wish == "native":
        require_compiled("set `engine` to ale")
    if native.is_outdated():
        return EngineChoice(
            "ale", "ale-py: the native engine's sources changed since it was compiled; reinstall goexplore"
        )
    if native.atari is None:
        return EngineChoice("ale", f"ale-py: there is no native engine, {native.missing_because}")
    if is_distrusted(rom):
        if wish == "native":
            raise ConfigError(
                f"expected an engine that plays {rom} as ale-py does, got the native one, which was seen to "
                f"differ: start a run with `engine` ale, or see {distrust_file(rom)}"
            )
        return EngineChoice("ale", f"ale-py: the native engine was seen to differ, see {distrust_file(rom)}")
    if wish == "native":
        return EngineChoice("native", "native, as asked for")
    if certificate is None:
        return EngineChoice("ale", f"ale-py: the native engine is not certified for {rom}")
    if certificate.md5 != rom_checksum(rom):
        return EngineChoice("ale", f"ale-py: the native engine is certified for another ROM of {rom}")
    if certificate.version != version_for(rom):
        return EngineChoice("ale", f"ale-py: the native engine was changed since it was certified for {rom}")
    return EngineChoice("native", f"native: equal to ale-py in {certificate.game_frames:,} game frames")


def require_compiled(instead: str = "do without it") -> None:
    """Refuse to go on without the native engine, or with an outdated one; say what can be done instead."""
    if native.is_outdated():
        raise ConfigError(
            "expected a native engine that matches its sources, got one compiled before they changed: "
            f"reinstall goexplore, or {instead}"
        )
    native.require_atari(instead)


def version_for(rom: str) -> str:
    """Return the version of the compiled engine, as far as it plays a game."""
    atari = native.require_atari()
    if native.is_outdated() or rom not in atari.GAMES:
        return atari.VERSION  # what was compiled is not what is here, or has no such game
    machine = atari.Machine(atari.Cartridge(read_rom(rom), rom))
    return game_version(rom, machine.snapshot() + bytes(machine))


def rom_checksum(rom: str) -> str:
    """Return the MD5 of a game's ROM: the name by which ale-py knows it."""
    return hashlib.md5(read_rom(rom), usedforsecurity=False).hexdigest()


def distrust_file(rom: str) -> Path:
    """Return the file whose existence keeps this version of the native engine from being used for a game."""
    return state_folder() / "distrusted" / f"{rom}-{rom_checksum(rom)}-{version_for(rom)}.txt"


def is_distrusted(rom: str) -> bool:
    """Return whether the native engine was seen to play a game otherwise than ale-py, on this machine."""
    return is_file(distrust_file(rom))


def distrust(rom: str, reason: str) -> Path:
    """Stop the use of the native engine for a game; return the file that says why."""
    file = distrust_file(rom)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{reason}\nDelete this file to trust the native engine with {rom} again.\n")
    except OSError as error:
        raise OutputError(
            f"expected to note in {file} that the native engine plays {rom} otherwise than ale-py, got "
            f"{error.strerror or error}: set `engine` to ale"
        ) from error
    return file
