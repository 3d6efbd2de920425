"""The contract of environments as a list of checks.

The *first process* makes one environment, then a second beside it, and lets both play the same *walk*: each
action once, then random ones, with a `reset` after each end of an episode. It restores *checkpoints* of that
walk and compares how the walk goes on. The *second process* gets what the first one saw, as *evidence*, and
compares it with what it sees itself. Before each play, the global random generators get another seed: an
environment that draws from them does not play the same twice.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from time import perf_counter, process_time
from typing import Any

import numpy as np

from goexplore.cells import CellEnvironment, CellKey, validate_step
from goexplore.checks._cells import judge_cells
from goexplore.checks._evidence import CellCheckpoint, Check, Evidence, Measured, Plan, WalkCells, WalkState
from goexplore.checks._subject import (
    Call,
    Difference,
    Fault,
    Marks,
    Moment,
    Subject,
    explain,
    find_lie,
    first_difference,
    name_error,
    until_end,
)
from goexplore.envs import Environment, describe_observation, require_actions
from goexplore.errors import ConfigError, EngineError, ProblemError, ReturnError
from goexplore.problems import Problem
from goexplore.random import SplitMix64, stream_state

CHECKS: dict[str, tuple[str, ...]] = {
    "construction": (),
    "actions": ("construction",),
    "step": ("actions",),
    "reset": ("step",),
    "determinism": ("reset",),
    "snapshot": ("determinism",),
    "second instance": ("determinism",),
    "restore": ("snapshot",),
    "restore elsewhere": ("restore", "second instance"),
    "snapshot bytes": ("restore", "second instance"),
    "episode end": ("restore",),
    "cells": ("determinism",),
    "cells after restore": ("cells", "restore"),
    "play": ("determinism",),
    "picture": ("step",),
    "another process": ("determinism",),
}
"""The names of all checks in their order, each with those that must have passed before it can be made."""

RETURNING = frozenset(
    {
        "snapshot",
        "restore",
        "restore elsewhere",
        "snapshot bytes",
        "episode end",
        "cells after restore",
        "another process",
    }
)
"""The checks that fail where an environment does not return to its states; another way to return may help."""

_LEAST_STEPS = 8
"""The walk has this many, however slow they are."""
_CHECKPOINTS = 6
"""States of the walk that are restored, beside the initial one."""
_LAG = 5
"""Steps by which a second environment is behind the first where both play by turns."""
_LONGER = 10
"""An episode that does not end within the walk is played this many times as long, to see whether it ends."""
_MEASURE_SECONDS = 0.2

_GLOBAL_GENERATORS = "draws from the global generators of `random` or `numpy.random`; instead, "
_OWN_GENERATOR = "draw from a generator of the environment's own, with a fixed seed, that is in the snapshot"


class Examination:
    """What a process does with a problem, to find out whether it keeps the contract."""

    def __init__(
        self, problem: Problem, plan: Plan, marks: Marks, send: Callable[[tuple[str, Any]], None]
    ) -> None:
        self._problem, self._plan, self._marks, self._send = problem, plan, marks, send
        self._seed = 0
        self._evidence = Evidence()
        self._passed: set[str] = set()
        self._observation: str | None = None
        self._lie: str | None = None
        self._state: bytes | None = None
        self._byte_difference = ""
        self._other: Subject | None = None

    # The first process

    def run(self) -> None:
        """Make all checks that one process can make; send them, the evidence, and what was measured."""
        for name, needed in CHECKS.items():
            check = getattr(self, f"_check_{name.replace(' ', '_')}", None)
            if check is not None and self._passed.issuperset(needed):
                self._make(name, check)
        evidence = self._evidence
        measured = self._measure_sizes()
        if "restore" not in self._passed:
            evidence.checkpoints = []
        if evidence.cells is not None and "cells after restore" not in self._passed:
            evidence.cells = evidence.cells._replace(checkpoints=[])
        evidence.equal_bytes = "snapshot bytes" in self._passed
        self._send(("evidence", evidence if "determinism" in self._passed else None))
        self._send(("begin", "speed"))
        self._send(("measured", self._measure_speeds(measured)))

    def _make(self, name: str, check: Callable[[], str]) -> None:
        self._send(("begin", name))
        try:
            made = Check(name, True, check())
        except Exception as error:  # of the user's code: any
            known = isinstance(error, ConfigError | ProblemError | EngineError | ReturnError)
            detail = explain(error, Call(self._marks[0]))
            made = Check(name, False, detail, type(error).__name__ if known else "")
        if made.passed:
            self._passed.add(name)
        self._send(("check", made))

    def _reseed(self, seed: int | None = None) -> None:
        """Give the global random generators a seed that they did not have yet, or a certain one."""
        if seed is None:
            self._seed += 1
            seed = self._seed
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(seed)

    def _is_global(self, look: Callable[[], object]) -> bool:
        """Return whether what is seen depends on the global generators, and on nothing else."""
        seen = []
        for seed in (0, 0, 1, 2, 3):
            self._reseed(seed)
            seen.append(look())
        return seen[0] == seen[1] and any(each != seen[0] for each in seen)

    def _draw_actions(self) -> Iterator[int]:
        """Yield each action once, for up to a quarter of the walk, then random ones without end."""
        number = int(self._one.env.action_count)
        yield from range(min(number, self._plan.steps // 4))
        draws = SplitMix64(stream_state(0, 1))
        action = draws.index(number)
        while True:
            if not draws.happens(0.5):
                action = draws.index(number)
            yield action

    def _check_construction(self) -> str:
        self._reseed()
        self._one = Subject(self._problem, self._marks)
        return f"{type(self._one.env).__name__} can be made"

    def _check_actions(self) -> str:
        env = self._one.env
        require_actions(env)
        last, no_op, frame_skip = int(env.action_count) - 1, env.no_op, env.frame_skip
        if no_op is not None and (not isinstance(no_op, int | np.integer) or not 0 <= no_op <= last):
            raise Fault(f"expected `no_op` to be an action from 0 to {last} or None, got {no_op!r}: set it")
        if not isinstance(frame_skip, int | np.integer) or frame_skip < 1:
            raise Fault(f"expected `frame_skip` to be 1 or more, got {frame_skip!r}: set it")
        return f"actions are 0 to {last}"

    def _check_step(self) -> str:
        evidence, one = self._evidence, self._one
        self._reseed()
        evidence.initial, self._state = one.reset(), one.try_snapshot()
        self._observation = describe_observation(one.env.observation())
        space = getattr(one.env, "observation_space", None)
        self._lie = find_lie(space, one.env.observation())
        is_late = _clock(self._plan.seconds)
        for action in self._draw_actions():
            evidence.moments += one.play([action])
            evidence.actions.append(action)
            self._lie = self._lie or find_lie(space, one.env.observation())
            played = len(evidence.actions)
            if played >= self._plan.steps or (played >= _LEAST_STEPS and is_late()):
                break
        ends = sum(moment.ended for moment in evidence.moments)
        return f"rewards and ends are valid in {played:,} steps with {ends:,} ends of episodes"

    def _check_reset(self) -> str:
        one, evidence = self._one, self._evidence
        for when in ("after some steps", "the second time"):
            self._reseed()
            seen = one.reset()
            if seen != evidence.initial:
                raise self._reset_fault(f"another {evidence.initial.name_difference(seen)} {when}")
            if one.try_snapshot() != self._state:
                # Another way to return may have other snapshots.
                raise ReturnError(str(self._reset_fault(f"another snapshot {when}")))
        return "the initial state is the same each time"

    def _reset_fault(self, got: str) -> Fault:
        if self._is_global(lambda: (self._one.reset(), self._one.try_snapshot())):
            advice = f"it {_GLOBAL_GENERATORS}{_OWN_GENERATOR}"
        else:
            advice = "give it a fixed seed, and let it set everything back that `step` changes"
        return Fault(f"expected `reset` to lead to the same state each time, got {got}: {advice}")

    def _check_determinism(self) -> str:
        evidence, one = self._evidence, self._one
        self._reseed()
        found = first_difference(evidence.moments, one.play_from_start(evidence.actions))
        if found is None:
            return "the same actions lead to the same results"
        if self._is_global(lambda: one.play_from_start(evidence.actions)):
            advice = f"`step` {_GLOBAL_GENERATORS}{_OWN_GENERATOR}"
        else:
            advice = (
                "let `reset` set everything back, and `step` depend on state and action alone; for random "
                f"events, {_OWN_GENERATOR}"
            )
        raise Fault(
            f"expected the same results from the same actions after `reset`, got {found.text}: {advice}"
        )

    def _check_snapshot(self) -> str:
        evidence, one = self._evidence, self._one
        self._reseed()
        checkpoints: list[WalkState] = []
        moments = list(self._play_with_snapshots(one, checkpoints))
        found = first_difference(evidence.moments, moments)
        if found is not None:
            raise Fault(
                f"expected `snapshot` to change nothing, got {found.text} of a walk with snapshots: let it "
                "copy the state and no more"
            )
        evidence.checkpoints = checkpoints
        return f"snapshots have up to {max(len(each.snapshot) for each in checkpoints):,} bytes"

    def _play_with_snapshots(self, subject: Subject, checkpoints: list[WalkState]) -> Iterator[Moment]:
        """Play the walk and add a snapshot at each checkpoint."""
        actions = self._evidence.actions
        places = {len(actions) * number // (_CHECKPOINTS + 1) for number in range(_CHECKPOINTS + 1)}
        seen, ended = subject.reset(), False
        for at, action in enumerate(actions):
            if ended:
                seen = subject.reset()
            if at in places:
                snapshot = subject.snapshot()
                if subject.snapshot() != snapshot:
                    self._byte_difference = "other bytes from a second `snapshot` of the same state"
                checkpoints.append(WalkState(at, snapshot, seen))
            moment = subject.step(action)
            seen, ended = moment.seen, moment.ended
            yield moment

    def _check_second_instance(self) -> str:
        evidence, one = self._evidence, self._one
        self._reseed()
        try:
            self._other = other = Subject(self._problem, self._marks)
            initial = other.reset()
        except Exception as error:  # of the user's code: any
            raise Fault(
                f"expected to make a second environment in the same process, got {name_error(error)}: the "
                "search and its workers need one each; let two live side by side"
            ) from error
        checkpoints: list[WalkState] = []
        one.reset()
        plays = [
            one.play(evidence.actions),
            self._play_with_snapshots(other, checkpoints)
            if "snapshot" in self._passed
            else other.play(evidence.actions),
        ]
        moments, others = _play_by_turns(*plays)
        for mine, theirs in zip(evidence.checkpoints, checkpoints, strict=False):
            if mine.snapshot != theirs.snapshot:
                self._byte_difference = f"other bytes from a second environment after {mine.at} steps"
        advice = "keep all state in the environment itself, not in its class or module, and use a fixed seed"
        if initial != evidence.initial:
            what = evidence.initial.name_difference(initial)
            raise Fault(
                f"expected the same initial state in a second environment, got another {what}: {advice}"
            )
        for played, which in ((others, "the second"), (moments, "the first, beside a second")):
            found = first_difference(evidence.moments, played)
            if found is not None:
                raise Fault(
                    "expected the same results from the same actions in two environments, got "
                    f"{found.text} from {which}: {advice}"
                )
        return "two environments side by side play alike"

    def _check_restore(self) -> str:
        checkpoints = self._evidence.checkpoints
        # Backward, then forward: each is restored from another state, ends of episodes among them.
        self._restore_each(self._one, [*checkpoints[::-2], *checkpoints[::2]], "")
        return "restored states go on as before"

    def _check_restore_elsewhere(self) -> str:
        assert self._other is not None
        self._restore_each(self._other, self._evidence.checkpoints[::3], " in another environment")
        return "they do so in another environment too"

    def _restore_each(self, subject: Subject, checkpoints: Sequence[WalkState], where: str) -> None:
        """Restore checkpoints and compare how the walk goes on, up to the end of the episode."""
        evidence = self._evidence
        longest = max(1, len(evidence.actions) // 3)
        for checkpoint in checkpoints:
            self._reseed()
            subject.restore(checkpoint.snapshot)
            if not subject.env.stale_after_restore:
                seen = subject.see()
                if seen != checkpoint.seen:
                    raise Fault(
                        f"expected the {checkpoint.seen.name_difference(seen)} of the restored state right "
                        f"after `restore`{where}, got another: put what it comes from into the snapshot, or "
                        "set `stale_after_restore` if it is right from the next step on"
                    )
            if not self._byte_difference and subject.snapshot() != checkpoint.snapshot:
                self._byte_difference = f"other bytes from `snapshot` right after `restore`{where}"
            expected = until_end(evidence.moments[checkpoint.at : checkpoint.at + longest])
            actions = evidence.actions[checkpoint.at : checkpoint.at + len(expected)]
            found = first_difference(expected, list(subject.play(actions)))
            if found is not None:
                raise _restore_fault(found, where)

    def _check_snapshot_bytes(self) -> str:
        if self._byte_difference:
            raise Fault(
                f"expected equal states to give equal bytes, got {self._byte_difference}: write the state's "
                "values in a fixed order, with struct, json or numpy.tobytes; pickle writes equal objects in "
                "more than one way, but pickle.dumps(pickle.loads(pickle.dumps(state))) mostly does not"
            )
        return "equal states give equal bytes"

    def _check_episode_end(self) -> str:
        evidence, one, plan = self._evidence, self._one, self._plan
        if any(moment.ended for moment in evidence.moments):
            return "restored episodes end when they ended before"
        # The walk has no end: play on without a look until there is one, and again from the last checkpoint.
        self._reseed()
        one.reset()
        is_late, draws, actions = _clock(plan.seconds), self._draw_actions(), list(evidence.actions)
        moments = [one.step(action, look=False) for action in actions]
        while not moments[-1].ended and len(actions) < _LONGER * plan.steps and not is_late():
            actions.append(next(draws))
            moments.append(one.step(actions[-1], look=False))
        checkpoint = evidence.checkpoints[-1]
        self._reseed()
        one.restore(checkpoint.snapshot)
        again: list[Moment] = []
        for action in actions[checkpoint.at :]:
            again.append(one.step(action, look=False))
            if again[-1].ended:
                break
        found = first_difference(moments[checkpoint.at :][: len(again)], again)
        if found is not None:
            raise _restore_fault(found, "")
        if not moments[-1].ended:
            return f"no episode ended within {len(actions):,} steps"
        return f"a restored episode ends when it ended before, after {len(actions):,} steps"

    # Cells

    def _check_cells(self) -> str:
        self._reseed()
        cells = self._play_cells(self._one)
        self._reseed()
        self._require_same_cells(cells, self._play_cells(self._one), "the second time")
        if self._other is not None and "second instance" in self._passed:
            self._reseed()
            self._require_same_cells(cells, self._play_cells(self._other), "in another environment")
        self._evidence.cells = cells
        return f"{cells.found():,} cells, the same each time"

    def _make_cell_env(self, subject: Subject) -> CellEnvironment:
        subject.mark(Call.CELLS)
        return self._problem.with_cells(subject.env)

    def _play_cells(self, subject: Subject) -> WalkCells:
        """Play the walk and return its cells, as a search would see them."""
        evidence = self._evidence
        cell_env = self._make_cell_env(subject)
        initial = cell_env.reset()
        for event in cell_env.events.happening(subject.env):
            raise Fault(
                f"expected the event {event} not to happen yet in the initial state, got that it does: let "
                "its function tell apart what you look for"
            )
        judged: list[object] = [cell_env.objective()]
        places = {checkpoint.at for checkpoint in evidence.checkpoints}
        keys: list[CellKey | None] = []
        checkpoints = []
        lost = False
        for at, action in enumerate(evidence.actions):
            if at and evidence.moments[at - 1].ended:
                lost = False
                if cell_env.reset() != initial:
                    raise Fault(
                        "expected the same cell for the initial state each time, got another: let `reset` of "
                        "the cell representation forget what was tracked"
                    )
            if at in places and not lost:
                checkpoints.append(CellCheckpoint(at, cell_env.snapshot(), cell_env.cells.state()))
            keys.append(self._cell_after(subject, cell_env, action, lost=lost))
            lost = keys[-1] is None
            judged.append(
                None if lost else (cell_env.objective(), tuple(cell_env.events.happening(subject.env)))
            )
        return WalkCells(initial, keys, checkpoints, judged)

    def _cell_after(
        self, subject: Subject, cell_env: CellEnvironment, action: int, *, lost: bool
    ) -> CellKey | None:
        """Return the cell after an action; once the episode is lost, nobody asks for one until a reset."""
        subject.mark(Call.CELLS, action)
        try:
            if not lost:
                return cell_env.step(action).cell
            subject.env.step(action)
        except subject.raised:
            pass  # the episode ends here
        return None

    def _require_same_cells(self, expected: WalkCells, got: WalkCells, where: str) -> None:
        pairs = zip([expected.initial, *expected.keys], [got.initial, *got.keys], strict=True)
        for number, (one, other) in enumerate(pairs):
            if one != other:
                raise Fault(
                    f"expected the same cells on the same walk, got another one {where} after step {number}: "
                    "let cells depend on the observations of the episode alone; hash() and the order of sets "
                    "differ between processes"
                )
        for number, (mine, theirs) in enumerate(zip(expected.judged, got.judged, strict=True)):
            if mine != theirs:
                raise Fault(
                    f"expected the same objective and events on the same walk, got others {where} after step "
                    f"{number}: let them depend on observation and info alone"
                )

    def _check_cells_after_restore(self) -> str:
        cells = self._evidence.cells
        assert cells is not None
        self._reseed()
        self._restore_cells(self._one, cells, cells.checkpoints[::-2])
        if self._other is not None and "restore elsewhere" in self._passed:
            self._restore_cells(self._other, cells, cells.checkpoints[-2:-1])
        return "they are the same after `restore`"

    def _restore_cells(
        self, subject: Subject, cells: WalkCells, checkpoints: Sequence[CellCheckpoint]
    ) -> None:
        evidence = self._evidence
        longest = max(1, len(evidence.actions) // 4)
        cell_env = self._make_cell_env(subject)
        advice = "let `state` return everything that is tracked, and `restore` put it back"
        for checkpoint in checkpoints:
            subject.mark(Call.CELLS)
            cell_env.restore(checkpoint.snapshot)
            if cell_env.cells.state() != checkpoint.tracked:
                raise Fault(f"expected the tracked state of the cells after `restore`, got another: {advice}")
            lost = False
            moments = until_end(evidence.moments[checkpoint.at : checkpoint.at + longest])
            for at in range(checkpoint.at, checkpoint.at + len(moments)):
                cell = self._cell_after(subject, cell_env, evidence.actions[at], lost=lost)
                lost = cell is None
                if cell != cells.keys[at]:
                    raise Fault(
                        "expected a restored state to lead through the same cells, got another one "
                        f"{at + 1 - checkpoint.at} steps after `restore`: {advice}"
                    )

    # Methods that have a default

    def _check_play(self) -> str:
        evidence, one = self._evidence, self._one
        if type(one.env).play is Environment.play:
            return "is the default"
        self._reseed()
        one.reset()
        moments = until_end(evidence.moments[:50])
        one.mark(Call.PLAY)
        step = one.env.play(evidence.actions[:50])
        validate_step(step)
        total, last = sum(moment.reward for moment in moments), moments[-1]
        ends_alike = (step[1], step[2]) == (last.terminated, last.truncated)
        if not math.isclose(step[0], total) or not ends_alike or one.see() != last.seen:
            raise Fault(
                f"expected `play` to lead where `step` leads, with rewards of {total:g} in all, got "
                f"{str(tuple(step))[:60]}: add up the rewards, and stop where the episode ends"
            )
        return "leads where `step` leads"

    def _check_picture(self) -> str:
        one = self._one
        one.reset()
        for moves in range(4):
            list(one.play(self._evidence.actions[:moves]))
            one.mark(Call.PICTURE)
            picture: Any = one.env.picture()
            if picture is None:
                why = getattr(one.env, "why_no_picture", None)
                return "there is none" if why is None else f"there is none, for rendering failed: {why}"
            if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or picture.shape[2:] != (3,):
                is_array = isinstance(picture, np.ndarray)
                what = f"{picture.shape} {picture.dtype}" if is_array else type(picture).__name__
                raise Fault(
                    f"expected a picture of rows x columns x 3 bytes (uint8), or None, got {what}: convert it"
                )
        return f"{picture.shape[0]} x {picture.shape[1]} x RGB"

    # Sizes and speeds

    def _measure_sizes(self) -> Measured:
        evidence = self._evidence
        note = None
        if evidence.cells is not None:
            verdict = judge_cells(evidence.cells.counts(evidence))
            if verdict.kind != "fine":
                note = f"cells of the random walk: {verdict.text}; goexplore cells-preview shows them"
        return Measured(
            cells_note=note,
            observation=self._observation,
            lie=self._lie,
            steps=len(evidence.moments),
            cells_found=None if evidence.cells is None else evidence.cells.found(),
            snapshot_bytes=max((len(each.snapshot) for each in evidence.checkpoints), default=None),
        )

    def _measure_speeds(self, measured: Measured) -> Measured:
        evidence = self._evidence
        if not self._plan.measure or not evidence.checkpoints:
            return measured
        one, numbers = self._one, count()
        one.reset()

        def step() -> None:
            action = evidence.actions[next(numbers) % len(evidence.actions)]
            one.mark(Call.STEP, action)
            try:
                ended = one.env.step(action).ended
            except one.raised:
                ended = True
            if ended:
                one.env.reset()

        def restore() -> None:
            one.restore(evidence.checkpoints[next(numbers) % len(evidence.checkpoints)].snapshot)

        return replace(
            measured,
            steps_per_second=1 / _seconds_of(step),
            snapshot_microseconds=1e6 * _seconds_of(one.snapshot),
            restore_microseconds=1e6 * _seconds_of(restore),
        )

    # The second process

    def prepare(self) -> None:
        """Make the environment while the first process is at work."""
        self._seed = 10**6  # other seeds than those of the first process
        self._reseed()
        self._one = Subject(self._problem, self._marks)

    def compare(self, evidence: Evidence) -> str:
        """See what the first process saw, or raise a fault."""
        self._evidence = evidence
        one, where = self._one, " in another process"
        advice = (
            "let nothing depend on the process: neither time, nor memory addresses, hash() or the order of "
            "sets; give `reset` a fixed seed"
        )
        initial = one.reset()
        if initial != evidence.initial:
            what = evidence.initial.name_difference(initial)
            raise Fault(f"expected the same initial state{where}, got another {what}: {advice}")
        if evidence.equal_bytes and one.snapshot() != evidence.checkpoints[0].snapshot:
            raise Fault(f"expected the same initial state{where}, got another snapshot: {advice}")
        found = first_difference(evidence.moments, one.play_from_start(evidence.actions))
        if found is not None:
            raise Fault(f"expected the same results from the same actions{where}, got {found.text}: {advice}")
        self._restore_each(one, evidence.checkpoints[::-3], where)
        if evidence.cells is None:
            return "play and snapshots are the same there"
        self._reseed()
        self._require_same_cells(evidence.cells, self._play_cells(one), where.strip())
        self._restore_cells(one, evidence.cells, evidence.cells.checkpoints[-1:])
        return "play, snapshots and cells are the same there"


def _play_by_turns(first: Iterator[Moment], second: Iterator[Moment]) -> tuple[list[Moment], list[Moment]]:
    """Play two walks step by step, the second some steps behind."""
    moments = list(islice(first, _LAG))
    others: list[Moment] = []
    for moment in first:
        moments.append(moment)
        others += islice(second, 1)
    return moments, [*others, *second]


def _restore_fault(found: Difference, where: str) -> Fault:
    if found.is_end:
        advice = "a time limit or counter goes on counting; put it into the snapshot, and set it in `restore`"
    else:
        advice = "`snapshot` leaves out something that `step` depends on; put everything into it"
    return Fault(
        f"expected a restored state to go on{where} as before, got {found.text} after `restore`: {advice}"
    )


def _clock(seconds: float) -> Callable[[], bool]:
    """Return what tells whether this process has worked for so long, or waited twenty times as long."""
    work, wall = process_time() + seconds, perf_counter() + 20 * seconds
    return lambda: process_time() > work or perf_counter() > wall


def _seconds_of(call: Callable[[], object]) -> float:
    """Return the mean time of a call, over many."""
    start, calls = perf_counter(), 0
    while calls < 10_000 and perf_counter() - start < _MEASURE_SECONDS:
        call()
        calls += 1
    return (perf_counter() - start) / calls
