"""A user's environment of real numbers: a car that has to stop at the right place."""

import struct

import numpy as np

from goexplore.envs import Environment, Step


class Parking(Environment):
    """Brake, roll, accelerate. Slow between 8 and 9 metres, the car is parked; beyond 10 it is in the wall."""

    action_count = 3
    no_op = 1
    push = 0.2
    slow = 0.3

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.place = self.speed = 0.0

    def step(self, action: int) -> Step:
        self.speed = min(max(self.speed + self.push * (action - 1), -1.0), 1.0)
        self.place = max(self.place + self.speed, 0.0)
        parked = 8 <= self.place <= 9 and abs(self.speed) < self.slow
        return Step(float(parked), terminated=parked or self.place > 10)

    def observation(self) -> dict[str, object]:
        return {"place": self.place, "speed": np.array([self.speed, 7.0])}

    def snapshot(self) -> bytes:
        return struct.pack("<2d", self.place, self.speed)

    def restore(self, snapshot: bytes) -> None:
        self.place, self.speed = struct.unpack("<2d", snapshot)


PARKED = bytes([2] * 4 + [1] * 7 + [0] * 3)
"""It accelerates to 0.8, rolls, and brakes."""
