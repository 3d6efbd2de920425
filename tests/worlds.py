"""A tiny environment for tests: a field of cells with walls, a pit that ends the episode, and points."""

import struct
from dataclasses import dataclass

from goexplore.archive import Archive, Branch, Findings, Offer, Standing
from goexplore.cells import FunctionCells
from goexplore.envs import NOWHERE, Environment, Place, Step
from goexplore.exploration import PythonKernel, RandomRepeat, World
from goexplore.selection import CountScore, WeightedSelection

MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))


class Field(Environment):
    """Right, left, down, up on a 12 x 12 field. The pit ends the episode; treasures give points once."""

    action_count = 4
    frame_skip = 4
    size = 12
    pit = (3, 3)
    treasures = ((5, 0), (11, 11))

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.x = self.y = self.taken = 0

    def step(self, action: int) -> Step:
        right, down = MOVES[action]
        self.x = min(max(self.x + right, 0), self.size - 1)
        self.y = min(max(self.y + down, 0), self.size - 1)
        reward = 0.0
        for bit, treasure in enumerate(self.treasures):
            if (self.x, self.y) == treasure and not self.taken & 1 << bit:
                self.taken |= 1 << bit
                reward += 10.0
        return Step(reward, (self.x, self.y) == self.pit)

    def observation(self) -> tuple[int, int]:
        return self.x, self.y

    def snapshot(self) -> bytes:
        return struct.pack("<3B", self.x, self.y, self.taken)

    def restore(self, snapshot: bytes) -> None:
        self.x, self.y, self.taken = struct.unpack("<3B", snapshot)


def position(observation: tuple[int, int]) -> tuple[int, int]:
    return observation


def make_world() -> World:
    return World(Field(), FunctionCells(position))


def make_kernel() -> PythonKernel:
    return PythonKernel(make_world(), RandomRepeat(0.5), training_frames=20)


def make_selection() -> WeightedSelection:
    return WeightedSelection([CountScore("times_seen", weight=1.0)])


def offer(
    cell: bytes,
    *,
    score: float = 0.0,
    length: int = 1,
    offset: int = 1,
    number: int = -1,
    place: Place = NOWHERE,
) -> Offer:
    return Offer(
        number=number,
        cell=cell,
        offset=offset,
        standing=Standing(score, length),
        snapshot=b"state of " + cell,
        place=place,
    )


def findings(*offers: Offer, actions: bytes = bytes(10), seen: tuple[int, ...] = ()) -> Findings:
    from array import array

    return Findings(
        actions=actions,
        training_frames=len(actions),
        seen=array("i", seen),
        seen_new=tuple(offer.cell for offer in offers if offer.number == -1),
        offers=offers,
    )


def planted(**settings: bool) -> Archive:
    archive = Archive(**settings)
    archive.plant(b"start", b"state of start", NOWHERE)
    return archive


@dataclass(frozen=True)
class Line:
    """An archive whose entries 0, 1, 2, ... are the cells b"0", b"1", ...: for tests of selection."""

    size: int

    def build(self) -> Archive:
        archive = Archive()
        for number in range(self.size):
            archive.insert(
                str(number).encode(), b"", Standing(0.0, number), Branch(0, 0), NOWHERE, found_at=0
            )
        return archive
