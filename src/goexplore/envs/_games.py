"""What is known of single Atari games: their names, and where one of them differs from the others."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goexplore.envs._environment import NOWHERE, Place
from goexplore.errors import ConfigError

TWO_MAZES: Literal["two-mazes"] = "two-mazes"
"""The game that is no Atari game."""

EpisodeEnd: TypeAlias = Literal["life-loss", "game-over"]


@dataclass(frozen=True, kw_only=True)
class Game:
    """Facts about one game."""

    episode_end: EpisodeEnd = "game-over"
    """What ends an episode of the search (paper appendix A.2)."""

    room_address: int | None = None
    """RAM byte that differs between rooms: for metrics and maps only, never for cells."""

    room_numbers: bytes = bytes(range(256))
    """The number of the room for each value of that byte."""

    level_address: int | None = None
    """RAM byte with the level: for metrics and maps only, never for cells."""

    way_to_next_level: tuple[int, int] | None = None
    """The rooms between which a level ends, where the byte does not count all levels."""

    room_rows: tuple[Sequence[int], ...] = ()
    """How the rooms of a level lie on the map: from top to bottom, each row centred."""

    playfield_top: int = 0
    """The first row of the screen that belongs to the room; above it are score and lives."""

    score_limit: int | None = None
    """Where the score counter starts again at 0; the emulator then reports a reward of about -score_limit."""

    @property
    def has_map(self) -> bool:
        """Whether it is known where in memory the room is."""
        return self.room_address is not None

    def place(self, memory: Sequence[int] | NDArray[np.uint8]) -> Place:
        """Return level and room in a game's memory, where they are known."""
        if self.room_address is None:
            return NOWHERE
        level = 0 if self.level_address is None else int(memory[self.level_address])
        return Place(level, self.room_numbers[int(memory[self.room_address])])

    def place_after(self, before: Place, here: Place) -> Place:
        """Return where a training frame led, with levels counted from `before` on."""
        if self.way_to_next_level is None:
            return here
        return Place(before.level + ((before.room, here.room) == self.way_to_next_level), here.room)


def _pitfall_rooms() -> bytes:
    """Return the number of each byte's room: going right, Pitfall's shift register makes one of the last."""
    numbers, byte = bytearray(256), 0xC4
    for number in range(255):
        numbers[byte] = number
        byte = (byte << 1 | (byte >> 3 ^ byte >> 4 ^ byte >> 5 ^ byte >> 7) & 1) & 255
    numbers[0] = 255  # no room
    return bytes(numbers)


GAMES: dict[str, Game] = {
    "montezuma_revenge": Game(
        episode_end="life-loss",
        room_address=3,
        level_address=57,  # counts to 2 and stays there: all further levels are played like the third
        way_to_next_level=(15, 1),
        room_rows=(range(3), range(3, 8), range(8, 15), range(15, 24)),
        playfield_top=50,
        score_limit=1_000_000,
    ),
    "pitfall": Game(
        room_address=1,
        room_numbers=_pitfall_rooms(),
        # A ring, cut on the side opposite to the start and laid out in rows.
        room_rows=tuple([room % 255 for room in range(first, first + 17)] for first in range(-127, 128, 17)),
        playfield_top=50,
    ),
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


def read_rom(rom: str) -> bytes:
    """Return the ROM of a game, given by its name, as it comes with ale-py."""
    from ale_py import roms

    return Path(str(roms.get_rom_path(rom))).read_bytes()


def gymnasium_id(rom: str) -> str:
    """Return the id that Gymnasium users know a ROM by."""
    return f"ALE/{''.join(part.capitalize() for part in rom.split('_'))}-v5"
