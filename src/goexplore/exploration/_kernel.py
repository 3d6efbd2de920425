"""One exploration: return to a cell, act from there, note what is new or better."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import nan
from typing import NamedTuple, Protocol

from goexplore.archive import (
    END,
    NEVER,
    UNKNOWN,
    Candidate,
    Entry,
    ExplorationResult,
    ScoreIndex,
    ScoreLength,
    action_bytes,
    event_tag,
    pack_actions,
)
from goexplore.cells import CRASH, HANG, CellEnvironment, CellKey, DynamicCells, End
from goexplore.envs import NOWHERE, Location
from goexplore.errors import require_between
from goexplore.exploration._actions import ActionSource
from goexplore.random import SplitMix64, stream_state


class Fatal(NamedTuple):
    """The training frame of an exploration that kills the process that plays it, or never ends."""

    training_frame: int
    """The first one is 1."""
    end: End
    """Whether it crashes or hangs."""


class Task(NamedTuple):
    """An exploration to run: where from, and with which draws."""

    order: int
    """Its position in the batch: results are applied in this order."""
    start: Entry
    """The entry as it was when it was chosen."""
    random_state: int
    """State of the stream that all draws of this exploration come from."""
    fatal: Fatal | None = None
    """What kills the worker that plays on, where that is known: it becomes an event instead."""

    def sampled(self, limit: int) -> int:
        """Return the training frame, of 1 to `limit`, whose frame is kept for revisions of dynamic cells.

        So each training frame is kept with the probability 1 / `limit`: 1 %, as in the follow-up.
        """
        return 1 + SplitMix64(stream_state(self.random_state, 0)).index(limit)


class _Happening(NamedTuple):
    """An event that happened."""

    event: str
    cell: CellKey
    """Where it happened; where the last action led to no cell, the one before."""
    score: float
    length: int
    location: Location
    end: End
    snapshot: bytes
    """What dynamic cells need of it to be revised; else nothing, for nothing is explored from an event."""


class Kernel(Protocol):
    """Runs explorations. Whichever kernels run the tasks of a batch, the archive becomes the same.

    For that, a kernel must return every visit that the archive would take as a candidate. It may leave out a
    visit that is not better than a candidate of a task with a lower order of the same batch.
    """

    def run(self, task: Task, score_index: ScoreIndex) -> ExplorationResult:
        """Explore, comparing visits with `score_index`: what was known when the batch began."""
        ...

    def initial_digest(self) -> bytes:
        """Return a digest of the initial state: equal for all kernels of a search."""
        ...

    def close(self) -> None:
        """Free what the kernel holds."""
        ...


class PythonKernel:
    """The reference kernel: any environment, any cells, any source of actions."""

    def __init__(
        self, cell_env: CellEnvironment, actions: ActionSource, *, training_frames: int = 100
    ) -> None:
        """Explore for up to `training_frames` (k in paper section 2.1.4)."""
        require_between("training_frames", training_frames, 1, 65_535)
        self._cell_env, self._actions, self._limit = cell_env, actions, training_frames
        self._action_bytes = action_bytes(cell_env.action_count)
        self._sent: dict[tuple[CellKey, str], ScoreLength] = {}
        self._last_order = 0
        self.before_step: Callable[[int], None] | None = None
        """Called with each action before it is played, where it has to be known which one kills a process."""

    def run(self, task: Task, score_index: ScoreIndex) -> ExplorationResult:
        """Explore from the task's entry until the limit or the end of the episode."""
        if task.order <= self._last_order:
            self._sent.clear()  # it was for tasks that come after this one, or for another batch
        self._last_order = task.order
        cell_env, start, sent = self._cell_env, task.start, self._sent
        replayed = cell_env.env.replayed
        cell_env.restore(start.snapshot)
        replayed = cell_env.env.replayed - replayed
        score, length, _ = start.score_length
        has_objective, objective = cell_env.has_objective, None
        events, raised = cell_env.events, cell_env.events.exceptions
        watching = bool(events)
        numbers = {(start.cell, ""): start.number}
        best = {(start.cell, ""): start.score_length}
        candidates: dict[tuple[CellKey, str], Candidate] = {}
        happened: list[_Happening] = []
        taken: list[int] = []
        played, end, here, location, frame = 0, End.NONE, start.cell, NOWHERE, b""
        sampled = task.sampled(self._limit) if isinstance(cell_env.cells, DynamicCells) else 0
        source = self._actions.actions(cell_env, SplitMix64(task.random_state), self._limit)
        if self.before_step is not None:
            source = _reported(source, self.before_step)
        for action in source if task.fatal is None else islice(source, task.fatal.training_frame - 1):
            played += 1
            if raised:
                location = cell_env.location()  # while it can be asked
            try:
                reward, cell, end = cell_env.step(action)
            except raised as error:
                end, kept = End.RAISED, cell_env.end_snapshot()
                taken.append(action)
                happened += _happenings(events.raised_by(error), here, score, length + 1, location, end, kept)
                break
            if cell is None:  # the action that lost the episode has no destination cell
                now = events.happening(cell_env.env) if watching else ()
                if now:
                    taken.append(action)
                    location = cell_env.location()
                    happened += _happenings(
                        now, here, score + reward, length + 1, location, end, cell_env.end_snapshot()
                    )
                break
            if played == sampled:
                frame = cell_env.cells.state()
            taken.append(action)
            score += reward
            length += 1
            here = cell
            key = (cell, END if end else "")
            if key not in best:
                numbers[key] = number = score_index.find(cell, key[1])
                known = sent.get(key) or (score_index.score_length(number) if number != UNKNOWN else NEVER)
                best[key] = known
            else:
                known = best[key]
            if has_objective:
                objective = cell_env.objective()
                better = ScoreLength(score, length, objective).beats(known)
            else:
                better = score > known.score or (score == known.score and length < known.length)
            if better:
                best[key] = sent[key] = score_length = ScoreLength(score, length, objective)
                candidates[key] = Candidate(
                    number=numbers[key],
                    cell=cell,
                    offset=len(taken),
                    score_length=score_length,
                    snapshot=cell_env.end_snapshot() if end else cell_env.snapshot(),
                    location=cell_env.location(),
                    end=end,
                )
            if watching:
                now = events.happening(cell_env.env)
                if now:
                    happened += _happenings(
                        now, here, score, length, cell_env.location(), end, cell_env.end_snapshot()
                    )
            if end:
                break  # nothing follows
        else:
            if task.fatal is not None:
                played += 1
                taken.append(next(source))  # not to be played
                event = CRASH if task.fatal.end is End.CRASHED else HANG
                location = cell_env.location()
                happened.append(
                    _Happening(
                        event, here, score, length + 1, location, task.fatal.end, cell_env.end_snapshot()
                    )
                )
        ways = self._ways_to_events(happened, start, score_index) if happened else ()
        return ExplorationResult(
            actions=pack_actions(taken, self._action_bytes),
            training_frames=played,
            seen=array(
                "i", (number for (_, tag), number in numbers.items() if number != UNKNOWN and not tag)
            ),
            seen_new=tuple(cell for (cell, tag), number in numbers.items() if number == UNKNOWN and not tag),
            candidates=(*candidates.values(), *ways),
            ended_in=here if (here, END) in numbers else None,
            events_seen=tuple(dict.fromkeys((each.event, each.cell) for each in happened)),
            end=end if (here, END) in numbers else End.NONE,
            replayed=replayed,
            frame=frame,
        )

    def _ways_to_events(
        self, happened: Sequence[_Happening], start: Entry, score_index: ScoreIndex
    ) -> Iterator[Candidate]:
        """Yield the first, that is the shortest, way of this exploration to each event in each cell.

        Left out are those that are no shorter than what is known.
        """
        looked_up = set()
        for event, cell, score, length, location, end, snapshot in happened:
            key = (cell, event_tag(event))
            if key in looked_up:
                continue
            looked_up.add(key)
            number = score_index.find(*key)
            known = self._sent.get(key) or (score_index.score_length(number) if number != UNKNOWN else None)
            if known is None or length < known.length:
                objective = nan if self._cell_env.has_objective else None
                self._sent[key] = score_length = ScoreLength(score, length, objective)
                offset = length - start.length
                yield Candidate(number, cell, offset, score_length, snapshot, location, end, event)

    def initial_digest(self) -> bytes:
        """Return a digest of the initial state."""
        return self._cell_env.initial_digest()

    def close(self) -> None:
        """Close the environment."""
        self._cell_env.close()


def _happenings(
    events: Sequence[str],
    cell: CellKey,
    score: float,
    length: int,
    location: Location,
    end: End,
    snapshot: bytes,
) -> list[_Happening]:
    return [_Happening(event, cell, score, length, location, end, snapshot) for event in events]


def _reported(actions: Iterator[int], report: Callable[[int], None]) -> Iterator[int]:
    for action in actions:
        report(action)
        yield action
