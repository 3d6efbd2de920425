"""What both phases ask of a simulator: reset, step, snapshot, restore (paper section 2.1.3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from goexplore.errors import EnvironmentContractError

MAX_ACTIONS = 65_536
"""Actions are stored in one byte each, or in two where an environment has more than 256."""


class Location(NamedTuple):
    """Where a state lies on the game's map, for metrics, level weights and maps.

    It is never part of a cell unless the cell representation itself read it from the observation.
    """

    level: int
    room: int


NOWHERE = Location(-1, -1)
"""The location of a state in an environment that has no rooms."""


class Step(NamedTuple):
    """What one training frame brought."""

    reward: float
    terminated: bool = False
    """Whether the episode came to an end of its own: a goal, a death, the end of the game."""
    truncated: bool = False
    """Whether it was cut off from outside: a time limit."""

    @property
    def ended(self) -> bool:
        """Whether the episode is over, for either reason."""
        return self.terminated or self.truncated


class Palette(Protocol):
    """Turns palette indices into grey levels."""

    grey: NDArray[np.int16]
    """The grey level of each of 256 indices; below 0 where it is not known yet."""

    def learn_colours(self) -> None:
        """Find out the grey levels of all indices on the current screen."""
        ...


@dataclass(frozen=True, kw_only=True)
class RoomMap:
    """How the rooms of a game lie beside each other, for drawing."""

    rows: tuple[Sequence[int], ...]
    """The rooms of a level from top to bottom; each row is centred."""
    playfield_top: int = 0
    """The first row of the picture that belongs to the room: above it are score and lives."""


class Environment(ABC):
    """A deterministic simulator that can be put back into an earlier state.

    `restore(snapshot())` followed by the same actions must lead to the same rewards, observations and
    snapshots, in this process and in any other. `goexplore.check_env` tests that. Five methods and
    `action_count` are required; everything else has a default.
    """

    action_count: int
    """Actions are the integers from 0 up to, not including, this: at most 65,536."""

    frame_skip: int = 1
    """Game frames that one `step` plays: the length of a training frame."""

    no_op: int | None = None
    """The action that does nothing, or None where there is no such action."""

    stale_after_restore: bool = False
    """Whether observation, picture and location are those of before until the next step after `restore`."""

    replayed: int = 0
    """Training frames that were played in `restore` in order to return to states: none where states are put
    back."""

    ends_at_life_loss: bool = False
    """Whether the search's episodes end with the first life that is lost (paper appendix A.2)."""

    palette: Palette | None = None
    """What an observation's bytes mean where they are palette indices; None where they are grey levels."""

    has_rooms: bool = False
    """Whether `location` tells rooms apart."""

    has_levels: bool = False
    """Whether `location` tells levels apart."""

    pixel_aspect: float = 1.0
    """How wide a pixel of `picture` is shown, as a multiple of its height."""

    room_map: RoomMap | None = None
    """How the rooms lie beside each other, if that is known."""

    @abstractmethod
    def reset(self) -> None:
        """Go to the initial state: always the same one."""

    @abstractmethod
    def step(self, action: int) -> Step:
        """Play one training frame."""

    @abstractmethod
    def observation(self) -> Any:
        """Return what cells are computed from, and what a policy sees. Valid until the next `step`.

        A policy needs an image (rows x columns bytes, or rows x columns x RGB) or a vector of numbers.
        """

    def info(self) -> Mapping[str, Any]:
        """Return what else is known of the current state, by name, for cells, events and people.

        A policy never sees it. Valid as long as the observation is.
        """
        return {}

    @property
    def unwrapped(self) -> Any:
        """The environment as its author knows it, for cells and events that look behind the observation."""
        return self

    @abstractmethod
    def snapshot(self) -> bytes:
        """Return all that `restore` needs to come back here: after equal actions, equal bytes."""

    @abstractmethod
    def restore(self, snapshot: bytes) -> None:
        """Go back to the state that `snapshot` returned."""

    def play(self, actions: Sequence[int]) -> Step:
        """Play several training frames until the episode ends; return their rewards' sum and how it ended.

        Nobody looks at what happens in between, so an environment that draws may skip drawing.
        """
        total = 0.0
        for action in actions:
            step = self.step(action)
            total += float(step.reward)  # of NumPy's numbers, the sum would have their precision
            if step.ended:
                return Step(total, step.terminated, step.truncated)
        return Step(total)

    def frame_by_frame(self) -> Environment:
        """Return the same game, played one game frame per step, that ends only when the game is over.

        The stochastic game of Phase 2 draws sticky actions for every game frame. By default a step is the
        smallest unit that there is: sticky actions are drawn for whole steps.
        """
        return self

    def location(self) -> Location:
        """Return level and room of the current state, or `NOWHERE`."""
        return NOWHERE

    def position(self) -> tuple[int, int] | None:
        """Return column and row of the character in the picture, where they are known: for maps only."""
        return None

    def location_after(self, before: Location) -> Location:
        """Return the location of the current state, given the one before the last training frame.

        It counts levels that a single state does not tell apart.
        """
        return self.location()

    def lives(self) -> int | None:
        """Return the lives that are left, or None where there are none to lose."""
        return None

    def picture(self) -> NDArray[np.uint8] | None:
        """Return the current state for people to look at, rows x columns x RGB, or None.

        By default, that is the observation where it is an image.
        """
        seen = self.observation()
        if isinstance(seen, np.ndarray) and seen.dtype == np.uint8 and self.palette is None:
            if seen.ndim == 2:
                return np.repeat(seen[:, :, None], 3, axis=2)
            if seen.ndim == 3 and seen.shape[2] == 3:
                return seen.copy()
        return None

    def close(self) -> None:
        """Free what the simulator holds."""
        return


def require_actions(env: Environment) -> None:
    """Refuse an environment whose `action_count` is missing or out of range."""
    count = getattr(env, "action_count", None)
    if isinstance(count, np.integer):
        count = int(count)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_ACTIONS:
        raise EnvironmentContractError(
            f"expected {type(env).__name__}.action_count to be a whole number from 1 to {MAX_ACTIONS:,}, got "
            f"{count!r}: let each integer stand for one action, or for a combination of fewer"
        )
