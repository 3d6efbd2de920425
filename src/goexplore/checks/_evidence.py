"""What a check of an environment plays, and what it sees and hands on: values without behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from goexplore.cells import CellKey
from goexplore.checks._cells import CellCounts
from goexplore.checks._subject import UNSEEN, Moment, Seen


@dataclass(frozen=True)
class Check:
    """One promise of the contract, and whether it is kept."""

    name: str
    passed: bool
    detail: str
    """What was compared; where it failed, what was expected, what came and what to do."""
    error: str = ""
    """The name of the error to raise where that is not EnvironmentContractError, such as ConfigError."""
    in_step: bool = False
    """Whether it failed because the process died or hung in a step."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much to play."""

    steps: int
    """Training frames of the walk."""
    seconds: float
    """Of work: the walk is shorter if it would take longer than this."""
    measure: bool
    """Whether to measure speeds."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Sizes and speeds of an environment; None where they were not measured."""

    observation: str | None = None
    """What an observation is, and whether a policy can see it."""
    lie: str | None = None
    """Where the observation space says something else than the observations."""
    steps: int = 0
    """Training frames of the random walk that was compared."""
    cells_found: int | None = None
    """Cells on that walk."""
    cells_note: str | None = None
    """Why they are too few or too many to be of use, if they are."""
    steps_per_second: float | None = None
    snapshot_microseconds: float | None = None
    restore_microseconds: float | None = None
    snapshot_bytes: int | None = None
    """Size of the largest snapshot."""


class WalkState(NamedTuple):
    """A state of the walk."""

    at: int
    """How many of its actions were played."""
    snapshot: bytes
    seen: Seen


class CellCheckpoint(NamedTuple):
    """A state of the walk, with what the cell representation tracks."""

    at: int
    snapshot: bytes
    tracked: bytes


class WalkCells(NamedTuple):
    """The cells of the walk."""

    initial: CellKey
    keys: list[CellKey | None]
    """After each action; None from where the episode is lost until it ends."""
    checkpoints: list[CellCheckpoint]
    judged: list[object]
    """What objective and events say, of the initial state and after each action."""

    def found(self) -> int:
        """Return the number of different cells."""
        return len({self.initial, *self.keys} - {None})

    def counts(self, evidence: Evidence) -> CellCounts:
        """Return what the walk shows of the cells."""
        cells = [self.initial, *self.keys]
        seen = [evidence.initial, *(moment.seen for moment in evidence.moments)]
        visits = (pair for pair in zip(cells, seen, strict=True) if pair[0] is not None)
        return CellCounts.of(visits, len(evidence.moments))


@dataclass(kw_only=True)
class Evidence:
    """What the first process saw: what the second must see too."""

    actions: list[int] = field(default_factory=list)
    initial: Seen = UNSEEN
    moments: list[Moment] = field(default_factory=list)
    checkpoints: list[WalkState] = field(default_factory=list)
    """Empty where restored states did not go on as before."""
    equal_bytes: bool = False
    """Whether equal states gave equal bytes."""
    cells: WalkCells | None = None
