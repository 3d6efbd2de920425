"""Proof by replay: every trajectory, played from the initial state, must end where the archive says."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context

from goexplore.archive import Archive, Claim, Replay, ScoreLength, plan_replays
from goexplore.cells import CellEnvironment, End, unpack_snapshot
from goexplore.envs import AtariEnvironment, observation_bytes
from goexplore.errors import EngineError, SnapshotError, WorkerError
from goexplore.problems import Problem
from goexplore.random import SplitMix64

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

    @property
    def passed(self) -> bool:
        """Whether everything was confirmed."""
        return not self.mismatches


def check_replay(cell_env: CellEnvironment, replay: Replay, *, own_snapshots: bool = True) -> list[Mismatch]:
    """Play one trajectory and return the claims that do not hold.

    `own_snapshots`: whether the archive's snapshots are of the engine that replays. If not, the game's memory
    is compared instead.
    """
    mismatches = []
    waiting = list(reversed(replay.claims))
    cell: bytes | None = cell_env.reset()
    score, end = 0.0, End.NONE
    for position in range(len(replay.actions) + 1):
        while waiting and waiting[-1].position == position:
            claim = waiting.pop()
            reason = _compare(claim, cell, end, ScoreLength(score, position), cell_env, own_snapshots)
            if reason:
                mismatches.append(Mismatch(number=claim.entry.number, reason=reason))
        if position < len(replay.actions):
            action = replay.actions[position]
            if action >= cell_env.action_count:
                return mismatches + _lost(waiting, f"action {action} at training frame {position} is unknown")
            try:
                reward, cell, end = cell_env.step(action)
            except EngineError as error:
                return mismatches + _lost(waiting, f"at training frame {position + 1}: {error}")
            score += reward
            if cell is None or (end and position + 1 < len(replay.actions)):
                return mismatches + _lost(waiting, f"the episode ends at training frame {position + 1}")
    return mismatches


def _compare(
    claim: Claim,
    cell: bytes | None,
    end: End,
    score_length: ScoreLength,
    cell_env: CellEnvironment,
    own_snapshots: bool,
) -> str | None:
    entry = claim.entry
    if cell != entry.cell:
        return f"expected cell {entry.cell.hex()}, got {cell.hex() if cell else None}"
    if score_length.score != entry.score:
        return f"expected score {entry.score:g}, got {score_length.score:g}"
    if score_length.length != entry.length:
        return f"expected a length of {entry.length} training frames, got {score_length.length}"
    if end != entry.end:
        return f"expected an episode that is {_ENDS[entry.end]}, got one that is {_ENDS[end]}"
    if end:  # nothing is explored from there, so there is no state to compare
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


_ENDS = {End.NONE: "not over", End.TERMINATED: "terminated", End.TRUNCATED: "truncated"}


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
    that explored itself, only the archive is tested.
    """
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
    return Verdict(
        checked=checked,
        game_frames=sum(len(replay.actions) for replay in replays) * frame_skip,
        mismatches=tuple(sorted(mismatches, key=lambda mismatch: mismatch.number)),
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
