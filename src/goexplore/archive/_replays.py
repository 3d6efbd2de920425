"""Which trajectories to play so that all of some entries are passed through, each stretch once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from goexplore.archive._archive import Archive
from goexplore.archive._entries import Entry
from goexplore.archive._segments import START, Actions, Branch


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What the archive says of one entry."""

    entry: Entry
    position: int
    """Actions of the replayed trajectory after which it must hold."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A trajectory to play and the claims that lie on it, in order."""

    actions: Actions
    claims: tuple[Claim, ...]


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
                claims.append(Claim(entry=entry, position=position - offset + entry.branch.offset))
        if position == 0:
            return Replay(actions=actions, claims=tuple(sorted(claims, key=lambda claim: claim.position)))
        position -= offset
        segment, offset = archive.segments.parent(segment)
