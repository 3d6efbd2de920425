"""A user's environment, for the whole way: a lock whose wrong digits turn it back to the beginning."""

import numpy as np

from goexplore.envs import Environment, Step


class Combination(Environment):
    """Eight digits from 0 to 3 in a row open it, which ends the episode. Every step costs a point."""

    action_count = 4
    digits = (2, 0, 3, 1, 1, 3, 0, 2)

    def reset(self) -> None:
        self.right = 0

    def step(self, action: int) -> Step:
        self.right = self.right + 1 if action == self.digits[self.right] else 0
        return Step(-1.0, terminated=self.right == len(self.digits))

    def observation(self) -> dict[str, object]:
        """Return how many digits were right, and which are to come, far from mean 0 and deviation 1."""
        shown = np.zeros(len(self.digits) + 1)
        shown[self.right] = 1.0
        return {"right": 1000.0 * self.right, "lamps": shown}

    def snapshot(self) -> bytes:
        return bytes([self.right])

    def restore(self, snapshot: bytes) -> None:
        (self.right,) = snapshot


def by_digits(observation: dict[str, float]) -> int:
    """Return the cell: how many digits were right."""
    return int(observation["right"]) // 1000
