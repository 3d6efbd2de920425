"""Proof by replay: every trajectory, played from the initial state, must end where the archive says."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from goexplore.archive import START, Archive, Branch, Standing
from goexplore.build import build_world
from goexplore.config import SearchConfig
from goexplore.engines import Engine
from goexplore.envs import AtariEnv, NativeAtariEnv
from goexplore.errors import EngineError, WorkerError
from goexplore.exploration import World, take_apart


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What the archive says of one entry."""

    number: int
    position: int
    """Actions of the replayed trajectory after which it must hold."""
    cell: bytes
    standing: Standing
    snapshot: bytes


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A trajectory to play and the claims that lie on it, in order."""

    actions: bytes
    claims: tuple[Claim, ...]


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


def plan_replays(archive: Archive, entries: Sequence[int]) -> list[Replay]:
    """Return trajectories that pass through all these entries, the longest first.

    Entries that lie on the way to others are checked on that way, so each trajectory is played once.
    """
    here: dict[int, list[int]] = {}  # entries by segment
    for number in entries:
        here.setdefault(archive[number].branch.segment, []).append(number)
    ahead: dict[int, int] = {}  # how far each segment is played on the way to others
    waiting, known = list(here), set(here)
    while waiting:
        parent, offset = archive.segments.parent(waiting.pop())
        ahead[parent] = max(offset, ahead.get(parent, 0))
        if parent not in known:
            known.add(parent)
            waiting.append(parent)
    replays, done = [], set[int]()
    for segment, numbers in here.items():
        end = Branch(segment, max(archive[number].branch.offset for number in numbers))
        if end.offset > ahead.get(segment, -1):
            replays.append(_replay_to(archive, end, here, done))
    if not replays:
        replays.append(_replay_to(archive, START, here, done))  # the initial state alone
    return sorted(replays, key=lambda replay: len(replay.actions), reverse=True)


def _replay_to(archive: Archive, end: Branch, here: dict[int, list[int]], done: set[int]) -> Replay:
    actions = archive.segments.trajectory(end)
    claims = []
    position, (segment, offset) = len(actions), end
    while True:
        for number in here.get(segment, ()):
            entry = archive[number]
            if number not in done and entry.branch.offset <= offset:
                done.add(number)
                claims.append(
                    Claim(
                        number=number,
                        position=position - offset + entry.branch.offset,
                        cell=entry.cell,
                        standing=entry.standing,
                        snapshot=entry.snapshot,
                    )
                )
        if position == 0:
            return Replay(actions=actions, claims=tuple(sorted(claims, key=lambda claim: claim.position)))
        position -= offset
        segment, offset = archive.segments.parent(segment)


def play(world: World, replay: Replay, engine: Engine = "ale") -> list[Mismatch]:
    """Play one trajectory and return the claims that do not hold; `engine` made the snapshots."""
    mismatches = []
    waiting = list(reversed(replay.claims))
    cell: bytes | None = world.reset()
    score = 0.0
    for position in range(len(replay.actions) + 1):
        while waiting and waiting[-1].position == position:
            claim = waiting.pop()
            reason = _compare(claim, cell, Standing(score, position), world, engine)
            if reason:
                mismatches.append(Mismatch(number=claim.number, reason=reason))
        if position < len(replay.actions):
            action = replay.actions[position]
            if action >= world.action_count:
                return mismatches + _lost(waiting, f"action {action} at training frame {position} is unknown")
            try:
                reward, cell = world.step(action)
            except EngineError as error:
                return mismatches + _lost(waiting, f"at training frame {position + 1}: {error}")
            score += reward
            if cell is None:
                return mismatches + _lost(waiting, f"the episode ends at training frame {position + 1}")
    return mismatches


def _compare(
    claim: Claim, cell: bytes | None, standing: Standing, world: World, engine: Engine
) -> str | None:
    if cell != claim.cell:
        return f"expected cell {claim.cell.hex()}, got {cell.hex() if cell else None}"
    if standing.score != claim.standing.score:
        return f"expected score {claim.standing.score:g}, got {standing.score:g}"
    if standing.length != claim.standing.length:
        return f"expected a length of {claim.standing.length} training frames, got {standing.length}"
    other = engine == "native" and isinstance(world.env, AtariEnv)  # whose snapshots are of another kind
    if not (_same_memory(claim, world) if other else world.snapshot() == claim.snapshot):
        return "the simulator's state differs from the saved snapshot"
    return None


def _same_memory(claim: Claim, world: World) -> bool:
    """Whether ale-py has the game's memory, and the cells the tracked state, that a native snapshot has."""
    tracked, state = take_apart(claim.snapshot[1:])
    env = world.env
    return (
        isinstance(env, AtariEnv)
        and tracked == world.cells.state()
        and NativeAtariEnv.memory_of(state) == env.memory()
    )


def _lost(claims: Iterable[Claim], reason: str) -> list[Mismatch]:
    return [Mismatch(number=claim.number, reason=reason) for claim in claims]


def verify(
    archive: Archive,
    config: SearchConfig,
    entries: Sequence[int],
    *,
    engine: Engine = "ale",
    judge: Engine = "ale",
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Verdict:
    """Replay the trajectories of these entries on worker processes; `progress` hears of entries done.

    ale-py is the judge that replays, whatever `engine` explored; with that one as its own judge, only the
    archive is on trial.
    """
    replays = plan_replays(archive, entries)
    mismatches: list[Mismatch] = []
    checked = 0
    with ProcessPoolExecutor(workers, initializer=_begin, initargs=(config, engine, judge)) as pool:
        try:
            for claims, found in pool.map(_play, replays):
                checked += claims
                mismatches += found
                progress(checked, len(entries))
        except BrokenProcessPool as error:
            raise WorkerError(
                "a process that replayed trajectories died: the emulator may have crashed on one of them; "
                "narrow it down with --sample"
            ) from error
    return Verdict(
        checked=checked,
        game_frames=sum(len(replay.actions) for replay in replays) * config.env.frame_skip,
        mismatches=tuple(sorted(mismatches, key=lambda mismatch: mismatch.number)),
    )


_world: World
_engine: Engine


def _begin(config: SearchConfig, engine: Engine, judge: Engine) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    global _world, _engine
    _world, _engine = build_world(config, judge), engine


def _play(replay: Replay) -> tuple[int, list[Mismatch]]:
    return len(replay.claims), play(_world, replay, _engine)
