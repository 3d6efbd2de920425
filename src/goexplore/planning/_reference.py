"""Demonstrations as a measure of progress: which of their training frames is a state most like?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from goexplore.archive import Actions

BACK, AHEAD = 5, 14
"""Training frames around the last place in which the next one is looked for first."""
NEAR_ENOUGH = 10
"""Distance up to which one of those is taken."""
LOST = 14
"""Distance beyond which a state is like none of them."""
PATIENCE = 14
"""Training frames without a new place after which the action there is tried from the beginning."""
LEAP = 40
"""No character moves so far within a training frame: it is at a room's edge, and its position is in doubt."""
_SAME_PLACE = 2
"""Distance up to which two places are one."""
KINDS = 32
"""Kinds of gains of one level that are told apart, at most."""
_MOST_OF_A_KIND = 255
_AROUND = 50
"""Training frames before and after a reward in which others are counted."""
_FEW = 10
"""As many rewards around one are few. If there are more, it is usual there, ..."""
_LARGE = 10
"""... unless it is so many times as large as their median."""
_SHORTEST_LOOP = 8
"""Training frames. Shorter loops are kept, because a jump passes the same places twice."""


class Place(NamedTuple):
    """Where in the game a state is."""

    key: Hashable
    """States with different keys are never alike."""
    position: tuple[float, ...] = ()
    """How far apart two states with equal keys are, summed over all axes."""
    level: int = 0
    """Gains count from the beginning of a level on: the next level can be solved without them."""
    room: int = 0
    """The room's number, where positions are those in a room."""
    column: int = 0
    """How far to the right in the room, if there are rooms."""

    def is_in_doubt(self, room: int, column: int) -> bool:
        """Return whether the position may be that in another room, after one with this room and column.

        Games do not change the room's number and the position in the same frame. In between, a character that
        leaves a room on one side seems to be on its other side.
        """
        return self.room != room or abs(self.column - column) > LEAP


class Kind(NamedTuple):
    """Gains that count as the same: equally large, and won in the same room."""

    least: float
    """Points. Gains are of the largest kind that they are worth."""
    key: Hashable
    """Where it is won; None is anywhere."""


class Row(NamedTuple):
    """One training frame of a demonstration."""

    place: Place
    stage: int
    """Gains of the demonstration since the level began."""
    action: int
    """What it does there; -1 at its end."""
    progress: int
    """Counted so that all demonstrations end with the same progress."""
    stretch: int
    """The number of its stretch."""


class Stretch(NamedTuple):
    """A level of a demonstration."""

    rows: range
    end: int
    """The last row of the whole demonstration."""
    gains: list[int]
    """The kind of each gain."""


class Tracker(NamedTuple):
    """Where in the reference a game is."""

    row: int = 0
    stall: int = 0
    """For how many training frames it has been there."""
    score: float = 0.0
    """What has been won so far."""
    won: bytes = bytes(KINDS)
    """How many gains of each kind were won since the level began."""
    room: int = 0
    """Where it was seen last."""
    column: int = 0
    """In that room."""


@dataclass(frozen=True)
class Trajectory:
    """A demonstration as it was played: the places before every action, and the last one."""

    actions: Actions
    rewards: Sequence[float]
    places: Sequence[Place]

    def settled(self) -> Trajectory:
        """Return it with all positions in the room that a place says.

        In the first training frame in a room, the character is where it is in the second one. If there is no
        second one, because it went back at once and won nothing, it never left. Where its position leaps
        within a room, it is where it was before.
        """
        places = list(self.places)
        for index in range(1, len(places) - 1):
            before, now, after = places[index - 1], self.places[index], self.places[index + 1]
            if before.room != now.room == after.room:
                places[index] = now._replace(position=after.position, column=after.column)
            elif before.room == after.room != now.room and before.level == now.level:
                places[index] = now if self.rewards[index - 1] > 0 else before
            elif before.room == now.room and now.is_in_doubt(before.room, before.column):
                places[index] = now._replace(position=before.position, column=before.column)
        return Trajectory(self.actions, self.rewards, places)

    def without_loops(self) -> Trajectory:
        """Return it without what leads back to where it began and brings nothing.

        While a player waits, it may walk back and forth. That is not part of the route: whoever follows it
        must find out when to wait.
        """
        kept, step = [], 0
        won = np.cumsum([0, *(reward != 0 for reward in self.rewards)])
        positions = np.array([place.position for place in self.places], np.float64)
        alike: dict[Hashable, list[int]] = {}
        for index, place in enumerate(self.places):
            alike.setdefault((place.key, place.level, int(won[index])), []).append(index)
        while step < len(self.actions) and positions.shape[1] > 0:
            place = self.places[step]
            later = np.array(alike[place.key, place.level, int(won[step])])
            later = later[later >= step]
            far = np.abs(positions[later] - positions[step]).sum(axis=1)
            near = later[far <= _SAME_PLACE]
            has_left = len(near) <= near[-1] - step  # else it moves slowly, or not at all
            back = int((near if has_left else later[far == 0])[-1])
            step = back if back - step >= _SHORTEST_LOOP else step
            kept.append(step)
            step += 1
        kept = [each for each in kept if each < len(self.actions)]
        if not kept:
            return self
        return Trajectory(
            type(self.actions)(self.actions[each] for each in kept),
            [self.rewards[each] for each in kept],
            [*(self.places[each] for each in kept), self.places[-1]],
        )


class Reference:
    """The training frames of one or several demonstrations, one after the other."""

    def __init__(self, trajectories: Sequence[Trajectory], *, deficit: float = 0.0) -> None:
        """`deficit` is by how many points a gain may be smaller and still be of the same kind."""
        self.kinds = _kinds(trajectories, deficit)
        """Kinds of gains of each level, the smallest first."""
        self.rows: list[Row] = []
        self.stretches: list[Stretch] = []
        self.deficit = deficit
        self.goal = max(len(each.actions) for each in trajectories)
        """The progress with which every demonstration ends."""
        for each in trajectories:
            self._add(each)
        self._positions = np.array([row.place.position for row in self.rows], np.float64)
        self._by_key: dict[Hashable, list[int]] = {}
        for index, row in enumerate(self.rows):
            self._by_key.setdefault(row.place.key, []).append(index)

    def _add(self, trajectory: Trajectory) -> None:
        begin, length = len(self.rows), len(trajectory.actions)
        levels = [place.level for place in trajectory.places]
        firsts = [0, *(step for step in range(1, length + 1) if levels[step] > levels[step - 1]), length + 1]
        for first, after in pairwise(firsts):
            gains, stage = [], 0
            for step in range(first, after):
                action = int(trajectory.actions[step]) if step < length else -1
                progress = self.goal - length + step
                row = Row(trajectory.places[step], stage, action, progress, len(self.stretches))
                self.rows.append(row)
                if step == after - 1:
                    break
                kind = self._kind(trajectory.rewards[step], trajectory.places[step + 1])
                if kind is not None:
                    gains.append(kind)
                    stage += 1
            self.stretches.append(Stretch(range(begin + first, begin + after), begin + length, gains))

    def begin(self) -> Tracker:
        """Return where every game begins: with the demonstration that is the shortest."""
        starts = [0, *(each.end + 1 for each in self.stretches if each.end + 1 < len(self.rows))]
        return Tracker(max(starts, key=lambda row: self.rows[row].progress))

    def _kind(self, reward: float, place: Place) -> int | None:
        """Return the kind of a gain: the largest that it is worth, of those that are won there."""
        worth = [
            number
            for number, (least, key) in enumerate(self.kinds.get(place.level, ()))
            if least <= reward + self.deficit and key in (None, place.key)
        ]
        return worth[-1] if reward > 0 and worth else None

    def _stage(self, stretch: int, won: bytes) -> int:
        """Return how many gains of a stretch, from its first on, are among those that were won.

        What counts is which gains were won, not how many points: whoever leaves out a key is not where the
        demonstration has it, however much was won since.
        """
        left = bytearray(won)
        for stage, kind in enumerate(self.stretches[stretch].gains):
            if left[kind] == 0:
                return stage
            left[kind] -= 1
        return len(self.stretches[stretch].gains)

    def _win(self, reward: float, place: Place, won: bytes) -> bytes:
        """Return what was won with one more reward."""
        kind = self._kind(reward, place)
        if kind is None or won[kind] == _MOST_OF_A_KIND:
            return won
        return won[:kind] + bytes([won[kind] + 1]) + won[kind + 1 :]

    def _level(self, level: int, row: int) -> int:
        """Return the row with which a demonstration begins a later level; the same row if it never does."""
        end = self.stretches[self.rows[row].stretch].end
        begins = (each.rows.start for each in self.stretches if each.end == end)
        return next((first for first in begins if self.rows[first].place.level == level), row)

    def follow(self, place: Place, score: float, before: Tracker) -> Tracker:
        """Return where a game is after one more training frame."""
        earlier = before.row
        if place.level > self.rows[earlier].place.level:
            row = self._level(place.level, before.row)
            before = Tracker(row, score=score, room=before.room, column=before.column)
        won = self._win(score - before.score, place, before.won)
        in_doubt = place.is_in_doubt(before.room, before.column)
        before = before._replace(score=score, won=won, room=place.room, column=place.column)
        if in_doubt:
            return before
        last = self.rows[before.row]
        rows = self.stretches[last.stretch].rows
        around = range(max(before.row - BACK, rows.start), min(before.row + AHEAD, rows.stop - 1) + 1)
        stages = {last.stretch: self._stage(last.stretch, won)}
        found, nearest = self._nearest(around, place, stages, before.row)
        if found is None or nearest > NEAR_ENOUGH:
            candidates = self._by_key.get(place.key, ())
            for stretch in {self.rows[index].stretch for index in candidates}:
                stages[stretch] = self._stage(stretch, won)
            elsewhere, distance = self._nearest(candidates, place, stages, before.row)
            if elsewhere is not None and (found is None or distance <= nearest):
                found, nearest = elsewhere, distance
        if found is None or nearest > LOST or found == earlier:
            return before._replace(stall=before.stall + 1 if before.stall < PATIENCE else 0)
        return before._replace(row=found, stall=0)

    def _nearest(
        self, candidates: Sequence[int], place: Place, stages: dict[int, int], before: int
    ) -> tuple[int | None, float]:
        """Return the nearest row of these and its distance: of equally near ones the last.

        Where places have no position, all rows with the same key are equally near; then it is the one that
        comes next, or the nearest to that.
        """
        rows = self.rows
        alike = [
            index
            for index in candidates
            if rows[index].place.key == place.key and rows[index].stage == stages[rows[index].stretch]
        ]
        if not alike:
            return None, 0
        if not place.position:
            return min(reversed(alike), key=lambda index: abs(index - before - 1)), 0
        far = np.abs(self._positions[alike] - np.array(place.position)).sum(axis=1)
        nearest = float(far.min())
        return alike[int(np.flatnonzero(far == nearest)[-1])], nearest

    def action(self, tracker: Tracker) -> int:
        """Return what the demonstration does there, or after so many training frames without moving on."""
        last = self.stretches[self.rows[tracker.row].stretch].end - 1
        return self.rows[min(tracker.row + tracker.stall, last)].action

    def stretch_of_actions(self, tracker: Tracker, offset: int, length: int) -> list[int]:
        """Return actions of the demonstration from some training frames before or after a place on."""
        stretch = self.stretches[self.rows[tracker.row].stretch]
        begin = max(stretch.rows.start, tracker.row + offset)
        return [self.rows[index].action for index in range(begin, min(begin + length, stretch.end))]

    def has(self, tracker: Tracker) -> bool:
        """Return whether a game can be there."""
        row, stall, score, won, room, column = tracker
        is_a_place = 0 <= row < len(self.rows) and 0 <= stall <= PATIENCE
        is_seen = 0 <= room < 2**31 and 0 <= column < 2**31
        return is_a_place and is_seen and abs(score) < 2**31 and len(won) == KINDS

    def progress(self, tracker: Tracker) -> int:
        """Return how far a game has come."""
        return self.rows[tracker.row].progress

    def is_at_the_end(self, tracker: Tracker) -> bool:
        """Return whether a game has come as far as the demonstrations."""
        return self.progress(tracker) >= self.goal


def _kinds(trajectories: Sequence[Trajectory], deficit: float) -> dict[int, list[Kind]]:
    """Return the kinds of gains of each level, the smallest first; a gain may be smaller by the `deficit`.

    Where keys are cells, a reward may be won in the cell beside: there it counts everywhere. So it does where
    there are too many kinds, and if there still are, those with about equally many points become one.

    What is won all the time is no gain, nor what is as small, such as a point for every step or dots to eat:
    nobody could go on who left out one of them.
    """
    levels: dict[int, set[Kind]] = {}
    usual: dict[tuple[int, Hashable], float] = {}
    for each in trajectories:
        counts: Counter[tuple[int, Kind]] = Counter()
        for step, is_usual in _gains(each.rewards):
            place = each.places[step + 1]
            kind = Kind(each.rewards[step], place.key if place.position else None)
            levels.setdefault(place.level, set()).add(kind)
            counts[place.level, kind] += 1
            if is_usual or counts[place.level, kind] > _MOST_OF_A_KIND:
                where = place.level, kind.key
                usual[where] = max(kind.least, usual.get(where, 0.0))
    found = {}
    for level, kinds in levels.items():
        kinds = {kind for kind in kinds if kind.least - deficit > usual.get((level, kind.key), 0.0)}
        if len(kinds) > KINDS:
            usual_anywhere = max((most for (at, _), most in usual.items() if at == level), default=0.0)
            kinds = {Kind(kind.least, None) for kind in kinds if kind.least - deficit > usual_anywhere}
        found[level] = _at_most(KINDS, kinds)
    return found


def _gains(rewards: Sequence[float]) -> Iterator[tuple[int, bool]]:
    """Yield the training frames in which something was won, and whether that is usual around there."""
    won = np.array([step for step, reward in enumerate(rewards) if reward > 0], np.int64)
    points = np.array(rewards, np.float64)[won]
    first, after = np.searchsorted(won, won - _AROUND), np.searchsorted(won, won + _AROUND)
    for index, step in enumerate(won.tolist()):
        around = points[first[index] : after[index]]
        yield step, len(around) > _FEW and bool(points[index] <= _LARGE * np.median(around))


def _at_most(count: int, kinds: set[Kind]) -> list[Kind]:
    """Return kinds in order; if there are too many, fewer that stand for them."""
    ordered = sorted(kinds, key=lambda kind: (kind.least, repr(kind.key)))
    every = max(1.0, len(ordered) / count)
    return [ordered[int(number * every)] for number in range(min(count, len(ordered)))]
