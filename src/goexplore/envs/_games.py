"""What is known of single Atari games: their names, and where one of them differs from the others."""

import difflib
import re
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from goexplore.errors import ConfigError

EpisodeEnd: TypeAlias = Literal["life-loss", "game-over"]


@dataclass(frozen=True, kw_only=True)
class Game:
    """Facts about one game."""

    episode_end: EpisodeEnd = "game-over"
    """What ends an episode of the search (paper appendix A.2)."""

    room_address: int | None = None
    """RAM byte that differs between rooms: for metrics only, never for cells."""

    level_address: int | None = None
    """RAM byte with the level: for metrics only, never for cells."""

    score_limit: int | None = None
    """Where the score counter starts again at 0; the emulator then reports a reward of about -score_limit."""


GAMES: dict[str, Game] = {
    "montezuma_revenge": Game(
        episode_end="life-loss", room_address=3, level_address=57, score_limit=1_000_000
    ),
    "pitfall": Game(room_address=1),
}


def facts(game: str) -> Game:
    """Return what is known of `game`, a ROM name."""
    return GAMES.get(game, Game())


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


def gymnasium_id(rom: str) -> str:
    """Return the id that Gymnasium users know a ROM by."""
    return f"ALE/{''.join(part.capitalize() for part in rom.split('_'))}-v5"
