"""What Phase 1 asks of a simulator: reset, step, snapshot, restore (paper section 2.1.3)."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Place(NamedTuple):
    """Where a state lies on the game's map, for metrics, level weights and maps.

    It is never part of a cell unless the cell representation itself read it from the pixels.
    """

    level: int
    room: int


NOWHERE = Place(-1, -1)
"""The place of a state in an environment that has no map."""


class Step(NamedTuple):
    """What one training frame brought."""

    reward: float
    ended: bool
    """Whether the episode ended (paper appendix A.2)."""


class Environment(Protocol):
    """A deterministic simulator that can be put back into an earlier state.

    `restore(snapshot())` followed by the same actions must lead to the same rewards, observations and
    snapshots, in this process and in any other. Inherit from this class to get the defaults.
    """

    action_count: int
    """Actions are the integers from 0 up to, not including, this: at most 256."""

    frame_skip: int = 1
    """Game frames that one `step` plays: the length of a training frame."""

    def reset(self) -> None:
        """Go to the initial state: always the same one."""
        ...

    def step(self, action: int) -> Step:
        """Play one training frame."""
        ...

    def play(self, actions: bytes) -> Step:
        """Play training frames, one per byte, until the episode ends; return all that they brought.

        What is seen in between is nobody's business: an environment that draws may leave that out.
        """
        total = Step(0.0, ended=False)
        for action in actions:
            step = self.step(action)
            total = Step(total.reward + step.reward, step.ended)
            if step.ended:
                break
        return total

    def observation(self) -> Any:
        """Return what cells are computed from. Valid until the next `step`, stale right after `restore`."""
        ...

    def snapshot(self) -> bytes:
        """Return the whole state of the simulator: equal states give equal bytes."""
        ...

    def restore(self, snapshot: bytes) -> None:
        """Go back to the state that `snapshot` returned."""
        ...

    def place(self) -> Place:
        """Return the place of the current state, or `NOWHERE`. Stale right after `restore`."""
        return NOWHERE

    def place_after(self, before: Place) -> Place:
        """Return the place of the current state, given the one before the last training frame.

        For who plays on from the initial state: it counts levels that a single state does not tell apart.
        """
        return self.place()

    def lives(self) -> int | None:
        """Return the lives that are left, or None where there is no such thing."""
        return None

    def picture(self) -> NDArray[np.uint8] | None:
        """Return the current state for people to look at, rows x columns x RGB, or None where there is none.

        Stale right after `restore`.
        """
        return None

    def close(self) -> None:
        """Free what the simulator holds."""
        return
