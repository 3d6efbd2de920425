"""A user's environment of real numbers: a car, and a gate that it must not drive through too fast."""

import struct

import numpy as np

from goexplore.envs import Environment, Step


class Driving(Environment):
    """Brake, roll, accelerate. The gate is after 5 metres; after 14 the way is over."""

    action_count = 3
    no_op = 1
    push = 0.2
    gate, end = 5.0, 14.0
    limit = 0.9

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.place = self.speed = 0.0

    def step(self, action: int) -> Step:
        self.speed = min(max(self.speed + self.push * (action - 1), 0.0), 1.6)
        before, self.place = self.place, self.place + self.speed
        if before < self.gate <= self.place:
            too_fast = self.speed > self.limit
            return Step(0.0 if too_fast else 1.0, terminated=too_fast)
        arrived = self.place >= self.end
        return Step(float(arrived), terminated=arrived)

    def observation(self) -> dict[str, object]:
        return {"place": self.place, "speed": np.array([self.speed, 7.0])}

    def snapshot(self) -> bytes:
        return struct.pack("<2d", self.place, self.speed)

    def restore(self, snapshot: bytes) -> None:
        self.place, self.speed = struct.unpack("<2d", snapshot)


WAY = bytes([2] * 4 + [1] * 4 + [2] * 7)
"""It accelerates to 0.8, rolls through the gate, and accelerates again."""
