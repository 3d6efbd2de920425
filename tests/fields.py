"""Tiny environments, and archives made by hand, for tests."""

import os
import signal
import struct
from array import array

from goexplore.archive import END, UNKNOWN, Archive, Candidate, ExplorationResult, ScoreLength
from goexplore.cells import CellEnvironment, End, Ends, FunctionCells
from goexplore.envs import NOWHERE, Environment, Location, Step
from goexplore.exploration import PythonKernel, RandomRepeat
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
        return Step(reward, terminated=(self.x, self.y) == self.pit)

    def observation(self) -> tuple[int, int]:
        return self.x, self.y

    def snapshot(self) -> bytes:
        return struct.pack("<3B", self.x, self.y, self.taken)

    def restore(self, snapshot: bytes) -> None:
        self.x, self.y, self.taken = struct.unpack("<3B", snapshot)


class Buggy(Field):
    """A field with energy, which every step costs, and two bugs: an exception and a crash of the process."""

    size = 8
    broken = (5, 2)
    deadly = (6, 6)

    def reset(self) -> None:
        super().reset()
        self.energy = 200

    def step(self, action: int) -> Step:
        step = super().step(action)
        self.energy = max(self.energy - 1, 0)
        if (self.x, self.y) == self.broken:
            raise LookupError("nobody has thought of this place")
        if (self.x, self.y) == self.deadly:
            self.die()
        return step

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def info(self) -> dict[str, int]:
        return {"energy": self.energy}

    def snapshot(self) -> bytes:
        return struct.pack("<4B", self.x, self.y, self.taken, self.energy)

    def restore(self, snapshot: bytes) -> None:
        self.x, self.y, self.taken, self.energy = struct.unpack("<4B", snapshot)


class Corridor(Environment):
    """Left and right. Every step costs a point, and the goal, four steps to the right, ends the episode."""

    action_count = 2
    goal = 4
    limit = 255
    """Steps after which the episode is cut off."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.x = self.steps = 0

    def step(self, action: int) -> Step:
        self.x = max(self.x + (1 if action else -1), 0)
        self.steps += 1
        return Step(-1.0, terminated=self.x == self.goal, truncated=self.steps == self.limit)

    def observation(self) -> int:
        return self.x

    def snapshot(self) -> bytes:
        return bytes([self.x, self.steps])

    def restore(self, snapshot: bytes) -> None:
        self.x, self.steps = snapshot


class Lock(Environment):
    """A lock with ten wheels: the next one opens if the action, of three digits, begins with its number."""

    action_count = 1000

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.open = self.last = 0

    def step(self, action: int) -> Step:
        opens = action // 100 == 9 - self.open
        self.open += opens
        self.last = action
        return Step(float(opens))

    def observation(self) -> tuple[int, int]:
        return self.open, self.last // 100

    def snapshot(self) -> bytes:
        return struct.pack("<2H", self.open, self.last)

    def restore(self, snapshot: bytes) -> None:
        self.open, self.last = struct.unpack("<2H", snapshot)


def itself(observation: object) -> object:
    return observation


def cells_of(env: Environment, *, ends: Ends = "keep") -> CellEnvironment:
    """Return an environment whose observations are its cells."""
    return CellEnvironment(env, FunctionCells(itself), ends=ends)


def make_cell_env() -> CellEnvironment:
    return cells_of(Field())


def make_kernel() -> PythonKernel:
    return PythonKernel(make_cell_env(), RandomRepeat(0.5), training_frames=20)


def make_selection() -> WeightedSelection:
    return WeightedSelection([CountScore("times_seen", weight=1.0)])


def candidate(
    cell: bytes,
    *,
    score: float = 0.0,
    length: int = 1,
    offset: int = 1,
    number: int = UNKNOWN,
    location: Location = NOWHERE,
    end: End = End.NONE,
    event: str = "",
    objective: float | None = None,
) -> Candidate:
    return Candidate(
        number=number,
        cell=cell,
        offset=offset,
        score_length=ScoreLength(score, length, objective),
        snapshot=b"" if end or event else b"state of " + cell,
        location=location,
        end=end,
        event=event,
    )


def result(
    *candidates: Candidate, actions: bytes = bytes(10), seen: tuple[int, ...] = ()
) -> ExplorationResult:
    """Return what an exploration brought back that passed through these candidates and some known cells."""
    return ExplorationResult(
        actions=actions,
        training_frames=len(actions),
        seen=array("i", seen),
        seen_new=tuple(each.cell for each in candidates if each.number == UNKNOWN and not each.tag),
        candidates=candidates,
        ended_in=next((each.cell for each in candidates if each.tag == END), None),
        events_seen=tuple((each.event, each.cell) for each in candidates if each.event),
    )


def rooted(**settings: bool) -> Archive:
    """Return an archive of the initial state alone."""
    archive = Archive(**settings)
    archive.add_root(b"start", b"state of start", NOWHERE)
    return archive
