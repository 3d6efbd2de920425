"""What Atari games have in common, whichever engine plays them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goexplore.envs._environment import NOWHERE, Environment, Location, RoomMap

EpisodeEnd: TypeAlias = Literal["life-loss", "game-over"]


@dataclass(frozen=True, kw_only=True)
class AtariFacts:
    """What is known of one game beyond its ROM. The defaults hold for a game of which nothing is known."""

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

    room_map: RoomMap | None = None
    """How the rooms lie beside each other."""

    position_addresses: tuple[int, int] | None = None
    """RAM bytes with the character's column and row: for planning with the simulator, never for cells."""

    position_on_screen: tuple[int, int, int] | None = None
    """Where these bytes are on the screen: what to add to the column; 1, or -1 where rows count upwards; what
    to add to the row. Measured along demonstrations; for maps only."""

    grounded: tuple[tuple[int, int], ...] = ()
    """RAM bytes that have these values while the character stands or walks: for planning only."""

    score_limit: int | None = None
    """Where the score counter starts again at 0; the emulator then reports a reward of about -score_limit."""

    def location(self, memory: Sequence[int] | NDArray[np.uint8]) -> Location:
        """Return level and room in a game's memory, where they are known."""
        if self.room_address is None:
            return NOWHERE
        level = 0 if self.level_address is None else int(memory[self.level_address])
        return Location(level, self.room_numbers[int(memory[self.room_address])])

    def position(self, memory: Sequence[int] | NDArray[np.uint8]) -> tuple[int, int] | None:
        """Return the character's column and row on the screen, where a game's memory tells them."""
        if self.position_addresses is None or self.position_on_screen is None:
            return None
        x, y = (int(memory[address]) for address in self.position_addresses)
        right, direction, down = self.position_on_screen
        return x + right, direction * y + down

    def location_after(self, before: Location, here: Location) -> Location:
        """Return where a training frame led, with levels counted from `before` on."""
        if self.way_to_next_level is None:
            return here
        return Location(before.level + ((before.room, here.room) == self.way_to_next_level), here.room)

    def reward(self, reported: int) -> float:
        """Return what was won: where the score counter rolled over, the points were still won."""
        if self.score_limit is not None and reported < -self.score_limit // 2:
            reported += self.score_limit
        return float(reported)


class AtariEnvironment(Environment):
    """One Atari game. Observations are the screen as palette indices, 210 x 160 bytes.

    The screen is the last raw frame of the training frame: no maximum over two frames. Palette indices cost
    a tenth of what RGB or grey frames cost.
    """

    no_op = 0
    """The first action of every game's action set is to do nothing."""
    stale_after_restore = True
    pixel_aspect = 1.75
    """A television shows the 160 x 210 pixels in a shape of 4 to 3."""

    def __init__(
        self, *, rom: str, frame_skip: int, episode_end: EpisodeEnd | None, facts: AtariFacts
    ) -> None:
        """`episode_end` None means what the paper used for that game, else game over."""
        self.rom = rom
        self.frame_skip = frame_skip
        self.facts = facts
        self.ends_at_life_loss = (episode_end or facts.episode_end) == "life-loss"
        self.has_rooms = facts.room_address is not None
        self.has_levels = facts.level_address is not None
        self.room_map = facts.room_map

    def require_action(self, action: int) -> None:
        """Refuse an action that the game does not have."""
        if not 0 <= action < self.action_count:
            raise ValueError(f"expected an action from 0 to {self.action_count - 1}, got {action}")

    @abstractmethod
    def memory(self) -> bytes:
        """Return the game's 128 bytes of memory."""

    @staticmethod
    def native_memory(snapshot: bytes) -> bytes:
        """Return the game's memory in a state of the native engine, which begins with it."""
        return snapshot[:128]

    def location(self) -> Location:
        """Return level and room as the game's memory has them, where they are known."""
        return self.facts.location(self.memory())

    def position(self) -> tuple[int, int] | None:
        """Return the character's column and row on the screen, where they are known."""
        return self.facts.position(self.memory())

    def location_after(self, before: Location) -> Location:
        """Return level and room, with all levels counted."""
        return self.facts.location_after(before, self.location())
