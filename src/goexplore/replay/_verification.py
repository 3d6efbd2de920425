"""Proof by replay: every trajectory, played from the initial state, must end where the archive says."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import NamedTuple

from goexplore.archive import Archive, Claim, Entry, Replay, ScoreLength, plan_replays
from goexplore.cells import CellEnvironment, End, unpack_snapshot
from goexplore.envs import AtariEnvironment, observation_bytes
from goexplore.errors import EngineError, SnapshotError, WorkerError
from goexplore.problems import Problem
from goexplore.random import SplitMix64
from goexplore.replay._crash import crash_reason

_PLAYED_ON = 20
"""Training frames by which it is told whether two snapshots stand for the same state."""


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """A claim that the replay did not confirm."""

    number: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a verification found."""

    checked: int
    """Entries."""
    game_frames: int
    """Game frames replayed."""
    mismatches: tuple[Mismatch, ...]
    crashes: int = 0
    """Entries whose last action killed the child process that it was played in, as they say."""
    unplayed: int = 0
    """Entries whose last action hangs: it was not played, all before it was."""

    @property
    def passed(self) -> bool:
        """Whether everything was confirmed."""
        return not self.mismatches


def check_replay(cell_env: CellEnvironment, replay: Replay, *, own_snapshots: bool = True) -> list[Mismatch]:
    """Play one trajectory and return the claims that do not hold.

    An action that crashes or hangs is not played: what is claimed is compared with the state before it.

    `own_snapshots`: whether the archive's snapshots are of the engine that replays. If not, the game's memory
    is compared instead.
    """
    mismatches = []
    waiting = list(reversed(replay.claims))
    cell: bytes | None = cell_env.reset()
    here, score, end = cell or b"", 0.0, End.NONE
    for position in range(len(replay.actions) + 1):
        while waiting and waiting[-1].position == position:
            claim = waiting.pop()
            way = _Way(here, ScoreLength(score, position), end)
            if cell is None and not claim.entry.event:
                reason: str | None = f"the episode ends at training frame {position}"
            else:
                reason = _compare(claim, way, cell_env, own_snapshots)
            if reason:
                mismatches.append(Mismatch(number=claim.entry.number, reason=reason))
        if (cell is None or end) and waiting:
            return mismatches + _lost(waiting, f"the episode ends at training frame {position}")
        if position < len(replay.actions):
            action = replay.actions[position]
            if action >= cell_env.action_count:
                return mismatches + _lost(waiting, f"action {action} at training frame {position} is unknown")
            if waiting and waiting[-1].entry.end.is_fatal and waiting[-1].position == position + 1:
                way = _Way(here, ScoreLength(score, position + 1), waiting[-1].entry.end)
                return mismatches + _check_fatal(waiting, way, cell_env, action)
            try:
                reward, cell, end = cell_env.step(action)
            except EngineError as error:
                return mismatches + _lost(waiting, f"at training frame {position + 1}: {error}")
            score += reward
            here = here if cell is None else cell
    return mismatches


class _Way(NamedTuple):
    """What a replay has come to."""

    cell: bytes
    """Where the last action led to no cell, the one before."""
    score_length: ScoreLength
    end: End


def _check_fatal(
    claims: Iterable[Claim], way: _Way, cell_env: CellEnvironment, action: int
) -> list[Mismatch]:
    """Compare what is claimed of an action that has no result; play it if it only raises an exception."""
    reasons = {claim.entry.number: _compare_way(claim.entry, way) for claim in claims}
    raising = [claim.entry for claim in claims if claim.entry.end is End.RAISED]
    if raising:
        raised: list[str] = []
        what = "no exception"
        try:
            cell_env.step(action)
        except Exception as error:  # of the user's code: any
            raised, what = cell_env.events.raised_by(error), f"{type(error).__name__}: {error}"
        for entry in raising:
            if entry.event not in raised:
                reasons[entry.number] = (
                    f"expected the last action to raise the event {entry.event}, got {what}"
                )
    return [Mismatch(number=number, reason=reason) for number, reason in reasons.items() if reason]


def _compare_way(entry: Entry, way: _Way) -> str | None:
    score, length, _ = way.score_length
    if way.cell != entry.cell:
        return f"expected cell {entry.cell.hex()}, got {way.cell.hex()}"
    if score != entry.score:
        return f"expected score {entry.score:g}, got {score:g}"
    if length != entry.length:
        return f"expected a length of {entry.length} training frames, got {length}"
    if way.end != entry.end:
        return f"expected an episode that is {_ENDS[entry.end]}, got one that is {_ENDS[way.end]}"
    return None


def _compare(claim: Claim, way: _Way, cell_env: CellEnvironment, own_snapshots: bool) -> str | None:
    entry = claim.entry
    reason = _compare_way(entry, way)
    if reason is not None:
        return reason
    if entry.event:
        there = entry.event in cell_env.events.happening(cell_env.env)
        return None if there else f"expected the event {entry.event}, got a state in which it does not happen"
    objective = cell_env.objective()
    if objective != entry.score_length.objective:
        return f"expected an objective of {entry.score_length.objective}, got {objective}"
    if way.end:  # nothing is explored from there, so there is no state to compare
        kept = cell_env.end_snapshot() == entry.snapshot or not own_snapshots
        return None if kept else "what is kept of the end differs from what the archive has"
    if not own_snapshots:
        return (
            None if _same_memory(claim, cell_env) else "the game's memory differs from the saved snapshot's"
        )
    here = cell_env.snapshot()
    if here == entry.snapshot:
        return None
    if _play_alike(cell_env, here, entry.snapshot):
        return (
            "the snapshot's bytes differ from the saved ones, although both play on alike: snapshots of this "
            "environment are not canonical (equal states must give equal bytes), see `goexplore check-env`"
        )
    return "the simulator's state differs from the saved snapshot"


_ENDS = {end: "not over" if end is End.NONE else end.name.lower() for end in End}


def _same_memory(claim: Claim, cell_env: CellEnvironment) -> bool:
    """Whether ale-py has the game's memory, and the cells the tracked state, that a native snapshot has."""
    tracked, state = unpack_snapshot(claim.entry.snapshot[1:])
    env = cell_env.env
    return (
        isinstance(env, AtariEnvironment)
        and tracked == cell_env.cells.state()
        and AtariEnvironment.native_memory(state) == env.memory()
    )


def _play_alike(cell_env: CellEnvironment, one: bytes, other: bytes) -> bool:
    """Whether the same actions bring the same from both snapshots; the environment is back at `one` then."""

    def play_on(snapshot: bytes) -> list[object]:
        cell_env.restore(snapshot)
        random = SplitMix64(0)
        seen: list[object] = []
        for _ in range(_PLAYED_ON):
            step = cell_env.env.step(random.index(cell_env.action_count))
            seen.append((tuple(step), observation_bytes(cell_env.env.observation())))
            if step.ended:
                break
        return seen

    try:
        return play_on(other) == play_on(one)
    except (SnapshotError, EngineError):
        return False
    finally:
        cell_env.restore(one)


def _lost(claims: Iterable[Claim], reason: str) -> list[Mismatch]:
    return [Mismatch(number=claim.entry.number, reason=reason) for claim in claims]


def verify_archive(
    archive: Archive,
    problem: Problem,
    entries: Sequence[int],
    *,
    on_reference: bool = True,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Verdict:
    """Replay the trajectories of these entries on worker processes; `progress` is called with entries done.

    `problem` is on the engine that explored. The reference engine replays, whatever explored; on the engine
    that explored itself, only the archive is tested. A trajectory whose last action crashes is played to its
    end by a process of its own; the last action of one that hangs is not played.
    """
    problem.require_functions()
    replays = plan_replays(archive, entries)
    mismatches: list[Mismatch] = []
    checked = 0
    judge = problem.reference() if on_reference else problem
    own_snapshots = judge.env.engine == problem.env.engine
    context = get_context(
        "fork" if sys.platform == "linux" else "spawn"
    )  # users' code need not be importable
    with ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(judge, own_snapshots)) as pool:
        try:
            frame_skip = pool.submit(_frame_skip).result()
            for claims, found in pool.map(_play, replays):
                checked += claims
                mismatches += found
                progress(checked, len(entries))
        except BrokenProcessPool as error:
            raise WorkerError(
                "a process that replayed trajectories died: the environment may have crashed on one of them; "
                "narrow it down with a smaller `sample`"
            ) from error
    fatal = [archive[number] for number in entries if archive[number].end.is_fatal]
    crashing = [entry.number for entry in fatal if entry.end is End.CRASHED]
    for number in crashing:
        reason = crash_reason(context, judge, archive.trajectory(number))
        if reason is not None:
            mismatches.append(Mismatch(number=number, reason=reason))
    wrong = {mismatch.number for mismatch in mismatches}
    return Verdict(
        checked=checked,
        game_frames=sum(len(replay.actions) for replay in replays) * frame_skip,
        mismatches=tuple(sorted(mismatches, key=lambda mismatch: mismatch.number)),
        crashes=sum(number not in wrong for number in crashing),
        unplayed=sum(entry.end is End.HUNG for entry in fatal),
    )


_cell_env: CellEnvironment
_own_snapshots: bool


def _begin(judge: Problem, own_snapshots: bool) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    global _cell_env, _own_snapshots
    _cell_env, _own_snapshots = judge.make_cell_env(), own_snapshots


def _frame_skip() -> int:
    return _cell_env.frame_skip


def _play(replay: Replay) -> tuple[int, list[Mismatch]]:
    return len(replay.claims), check_replay(_cell_env, replay, own_snapshots=_own_snapshots)
