"""The names of Atari games, and their ROMs, which come with ale-py."""

import difflib
import re
from functools import cache
from pathlib import Path

from goexplore.errors import ConfigError


@cache
def _roms_by_plain_name() -> dict[str, str]:
    from ale_py import roms

    return {rom.replace("_", ""): rom for rom in roms.get_all_rom_ids()}


def rom_name(game: str) -> str:
    """Return the ROM's name for a game given as `ALE/MontezumaRevenge-v5` or `montezuma_revenge`."""
    plain = re.sub(r"^ALE/|-v\d+$", "", game).replace("_", "").lower()
    roms = _roms_by_plain_name()
    if plain in roms:
        return roms[plain]
    near = difflib.get_close_matches(plain, roms, n=1, cutoff=0.5)
    hint = f" Did you mean {gymnasium_id(roms[near[0]])}?" if near else ""
    raise ConfigError(
        f"no Atari game is called {game!r}: expected an id such as ALE/MontezumaRevenge-v5.{hint}"
    )


def read_rom(rom: str) -> bytes:
    """Return the ROM of a game, given by its name, as ale-py includes it."""
    from ale_py import roms

    return Path(str(roms.get_rom_path(rom))).read_bytes()


def gymnasium_id(rom: str) -> str:
    """Return the id that Gymnasium users know a ROM by."""
    return f"ALE/{''.join(part.capitalize() for part in rom.split('_'))}-v5"
