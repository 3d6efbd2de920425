"""A combination lock: ten buttons, twelve of which must be pressed in the right order.

Whoever presses at random opens it once in a million million tries. Go-Explore comes back to how far it got.
"""

import numpy as np
from numpy.typing import NDArray

import goexplore

CODE = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8)
NOTCH = 16
"""Pixels of a notch in the picture."""


class Lock(goexplore.Environment):
    """The right button moves the lock on by a notch, a wrong one closes it. To open it is worth a point."""

    action_count = 10

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Close the lock."""
        self.notches = 0

    def step(self, action: int) -> goexplore.Step:
        """Press a button."""
        self.notches = self.notches + 1 if action == CODE[self.notches] else 0
        is_open = self.notches == len(CODE)
        return goexplore.Step(reward=float(is_open), terminated=is_open)

    def observation(self) -> int:
        """Return how far the lock is; this is its cell too."""
        return self.notches

    def snapshot(self) -> bytes:
        """Return everything needed to come back."""
        return bytes([self.notches])

    def restore(self, snapshot: bytes) -> None:
        """Come back."""
        (self.notches,) = snapshot

    def picture(self) -> NDArray[np.uint8]:
        """Return a bar that grows, for reports and videos."""
        picture = np.full((NOTCH, NOTCH * len(CODE), 3), 60, np.uint8)
        picture[:, : NOTCH * self.notches] = (240, 196, 48)
        return picture


# Buttons are pressed one by one, so the last one is never repeated on purpose.
LOCK = goexplore.Problem(
    env=Lock,
    exploration=goexplore.ExplorationConfig(batch_size=20, training_frames=5, repeat_probability=0.0),
)
