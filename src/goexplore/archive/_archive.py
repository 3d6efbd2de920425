"""The archive: one entry per cell, with the best trajectory to it (paper section 2.1.5)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from mmap import mmap
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from goexplore.archive._byte_store import ByteStore, space_for
from goexplore.archive._entries import AddStatus, Candidate, Entry, ExplorationResult
from goexplore.archive._memory_limit import MemoryLimit
from goexplore.archive._native_update import native_update
from goexplore.archive._packed import PackedResults
from goexplore.archive._score_index import END, UNKNOWN, ScoreIndex, ScoreLength, event_tag
from goexplore.archive._segments import START, Actions, Branch, SegmentTree
from goexplore.archive._update import Update
from goexplore.cells import CellKey, End
from goexplore.envs import NOWHERE, Location

VALUES = (
    "score",
    "length",
    "level",
    "room",
    "times_seen",
    "times_chosen",
    "times_chosen_since_new",
    "found_at_game_frame",
    "end",
    "event",
    "segment",
    "offset",
    "objective",
)
"""What `Archive.values` gives."""


class Chosen(Sequence[Entry]):
    """Entries of an archive, as they are until its next update; objects are made when one is asked for."""

    def __init__(self, archive: Archive, numbers: Iterable[int]) -> None:
        """Name the entries by number; one may come more than once."""
        self.archive = archive
        self.numbers: NDArray[np.int32] = np.array(numbers, np.int32)

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        return self._entries[index]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    @cached_property
    def _entries(self) -> list[Entry]:
        return [self.archive[number] for number in self.numbers.tolist()]

    @property
    def are_explorable(self) -> bool:
        """Whether each of them can be explored from."""
        return bool(self.archive.explorable(self.numbers).all())

    @property
    def training_frames(self) -> int:
        """The lengths of all their trajectories together."""
        return int(self.archive.values("length", self.numbers).sum(dtype=np.int64))


class Archive:
    """All cells found so far. It changes by whole batches only, and entries only ever get better.

    Where an episode ended and ends are kept, the cell has an *end entry* too (the follow-up's end-of-episode
    cell): it counts for `best` and can become a demonstration, but nothing is explored from it. Where an
    event happened, the cell has an *event entry* too, with the shortest trajectory to it: nothing is explored
    from there either, and it counts neither as a cell nor for `best`.
    """

    def __init__(
        self, *, reset_seen: bool = False, action_bytes: int = 1, memory_limit: MemoryLimit | None = None
    ) -> None:
        """`reset_seen`: whether an improved cell's count of visits starts again too.

        The paper keeps it (section 2.1.5), its follow-up resets it. `action_bytes` is the size of one stored
        action. `memory_limit` changes nothing but where byte strings are.
        """
        self.memory_limit = memory_limit
        self.score_index = ScoreIndex()
        self.segments = SegmentTree(action_bytes=action_bytes)
        self.locations: set[Location] = set()
        """All locations that an entry was ever at."""
        self.best = 0
        """The entry with the highest score, the shortest of these, the first of these.

        Only results count where there are any: trajectories that have won something, and ends of episodes in
        which steps cost something. So with a cost per step the goal is the best, not the start."""
        self.events: dict[str, list[int]] = {}
        """The entries of each event that was found, the events in the order of their discovery."""
        self._event_names = [""]
        self.reset_seen = reset_seen
        self._bytes = ByteStore()
        self._columns = {
            "cell": array("i"),  # handles of byte strings
            "snapshot": array("i"),
            "segment": array("i"),
            "offset": array("H"),
            "level": array("h"),
            "room": array("h"),
            "times_seen": array("i"),
            "times_chosen": array("i"),
            "times_chosen_since_new": array("i"),
            "found_at_game_frame": array("q"),
            "end": array("B"),
            "event": array("H"),  # numbers of names
        }

    def __len__(self) -> int:
        return len(self.score_index)

    def __getitem__(self, number: int) -> Entry:
        column = self._columns
        return Entry(
            number=number,
            cell=self.cell(number),
            score_length=self.score_index.score_length(number),
            branch=Branch(column["segment"][number], column["offset"][number]),
            snapshot=self._bytes.get(column["snapshot"][number]),
            end=End(column["end"][number]),
            event=self._event_names[column["event"][number]],
        )

    def __iter__(self) -> Iterator[Entry]:
        return map(self.__getitem__, range(len(self)))

    def cell(self, number: int) -> CellKey:
        """Return the cell of an entry."""
        return self._bytes.get(self._columns["cell"][number])

    def values(self, name: str, entries: NDArray[np.integer] | slice = slice(None)) -> NDArray[np.generic]:
        """Return a copy of some entries' values: a counter, `score`, `length`, `level`, `room`, `end` ...

        Without an objective, `objective` has no values.
        """
        if name not in VALUES:
            near = get_close_matches(name, VALUES, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise KeyError(f"expected one of {', '.join(VALUES)}, got {name!r}.{hint}")
        if name in ("score", "length", "objective"):
            column: array[float] | array[int] = self.score_index.column(name)
        else:
            column = self._columns[name]
        values = np.frombuffer(column, np.dtype(column.typecode))
        chosen = values[entries].copy() if isinstance(entries, slice) else values[entries]
        return np.array(self._event_names)[chosen] if name == "event" else chosen

    def set_counter(self, name: str, values: NDArray[np.int32]) -> None:
        """Set one counter of all entries."""
        self._columns[name] = array("i", values.tobytes())

    def has_ended(self, number: int) -> bool:
        """Return whether an entry's trajectory ends an episode."""
        return self._columns["end"][number] != End.NONE

    def is_event(self, number: int) -> bool:
        """Return whether an entry is that of an event."""
        return self._columns["event"][number] != 0

    def is_explorable(self, number: int) -> bool:
        """Return whether an entry can be explored from: it is neither an end nor an event."""
        return not (self.has_ended(number) or self.is_event(number))

    def explorable(self, entries: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which of some entries can be explored from."""
        ends = np.frombuffer(self._columns["end"], np.uint8)[entries]
        events = np.frombuffer(self._columns["event"], np.uint16)[entries]
        return np.asarray((ends == End.NONE) & (events == 0), np.bool_)

    @property
    def cells(self) -> int:
        """How many entries there are without those of events."""
        return len(self) - sum(map(len, self.events.values()))

    @property
    def ends(self) -> int:
        """How many end entries there are: a pass over all entries."""
        ends = np.frombuffer(self._columns["end"], np.uint8)
        events = np.frombuffer(self._columns["event"], np.uint16)
        return int(np.count_nonzero((ends != End.NONE) & (events == 0)))

    @property
    def best_is_a_result(self) -> bool:
        """Whether the best entry is a result: see `best`."""
        return self.is_result(self.best)

    def gather(
        self, name: Literal["cell", "snapshot"], entries: slice = slice(None)
    ) -> tuple[NDArray[np.int64], bytes]:
        """Return cells or snapshots of entries, one after the other, and where each begins and ends."""
        return self._bytes.gather(np.frombuffer(self._columns[name], np.int32)[entries])

    def relieve(self, *others: Archive, while_read: bool = False) -> None:
        """Let byte strings leave the memory if its limit is near; see `MemoryLimit`.

        `others` have the same limit, and theirs leave at the same time.
        """
        if self.memory_limit is not None:
            stores = [store for each in (self, *others) for store in (each._bytes, each.segments.strings)]
            self.memory_limit.relieve(stores, while_read=while_read)

    def require_memory(self) -> None:
        """Let byte strings leave the memory if its limit is near; raise an error if that is not enough."""
        if self.memory_limit is not None:
            self.relieve()
            self.memory_limit.require(len(self))

    @property
    def spilled(self) -> int:
        """Bytes of cells, snapshots and actions on the disk instead of in memory."""
        return self._bytes.spilled + self.segments.strings.spilled

    def chosen(self, numbers: Iterable[int]) -> Chosen:
        """Return some entries, of which one may come more than once."""
        return Chosen(self, numbers)

    def memory(self) -> tuple[array[int], array[int], bytearray | mmap]:
        """Return the handles of cells and of snapshots, and the strings behind them, for readers in C.

        Not to be changed.
        """
        return self._columns["cell"], self._columns["snapshot"], self._bytes.memory()

    def trajectory(self, number: int) -> Actions:
        """Return the actions from the initial state to an entry."""
        return self.segments.trajectory(self[number].branch)

    def playable(self, number: int) -> Actions:
        """Return the actions to an entry without a last one that crashes, hangs or raises an exception."""
        actions = self.trajectory(number)
        return actions[:-1] if End(self._columns["end"][number]).is_fatal else actions

    def add_root(
        self,
        cell: CellKey,
        snapshot: bytes,
        location: Location,
        objective: float | None = None,
        *,
        actions: Actions = b"",
        score: float = 0.0,
    ) -> Update:
        """Begin with one state alone: the initial one (paper section 2.1), or the one that `actions` lead to.

        `score` is what these actions win. They become segments that no exploration has played.
        """
        branch = self.segments.add_actions(START, actions)
        self.insert(cell, snapshot, ScoreLength(score, len(actions), objective), branch, location, found_at=0)
        self._columns["times_seen"][0] = 1
        return Update(added=range(1), touched={0})

    def update(
        self, batch: Sequence[Entry], results: Sequence[ExplorationResult], *, game_frame: int
    ) -> Update:
        """Take in what the explorations from `batch` found, in order.

        `batch` holds the entries as they were when they were chosen: new trajectories branch from those, not
        from what an earlier exploration of the same batch has put in their place meanwhile. Packed results
        from entries of this archive are taken in by C where it is there, with the same outcome.
        """
        if isinstance(results, PackedResults) and isinstance(batch, Chosen) and batch.archive is self:
            updated = native_update(self, batch.numbers, results, game_frame=game_frame)
            if updated is not None:
                return updated
        self._reserve(results)
        column = self._columns
        update = Update(added=range(len(self), len(self)))
        for start in batch:
            self.segments.hold(start.branch.segment)
            column["times_chosen"][start.number] += 1
            column["times_chosen_since_new"][start.number] += 1
            update.touched.add(start.number)
        for start, found in zip(batch, results, strict=True):
            self._take_in(start, found, update, game_frame)
            seen = [*found.seen, *map(self.score_index.find, found.seen_new)]
            if found.ended_in is not None:
                seen.append(self.score_index.find(found.ended_in, END))
            seen += [self.score_index.find(cell, event_tag(event)) for event, cell in found.events_seen]
            for number in seen:
                column["times_seen"][number] += 1
            update.touched.update(seen)
        for start in batch:
            self.segments.release(start.branch.segment)
        self.compact()
        return update

    def compact(self) -> None:
        """Number the segments anew once most of their numbers are of segments that are gone."""
        if self.segments.worth_compacting:
            renumbered = self.segments.compact()
            self._columns["segment"] = array("i", renumbered[self.values("segment")].tobytes())

    def release(self) -> None:
        """Let go of all segments, for an archive that takes this one's place."""
        for segment in self._columns["segment"]:
            self.segments.release(segment)

    def _reserve(self, results: Iterable[ExplorationResult]) -> None:
        """Make sure of room for all that results can add: where the disk has none, nothing has changed."""
        strings = actions = 0
        for found in results:
            for each in found.candidates:
                strings += space_for(len(each.cell)) + space_for(len(each.snapshot))
            actions += space_for(len(found.actions))
        self._bytes.reserve(strings)
        self.segments.strings.reserve(actions)

    def _take_in(self, start: Entry, found: ExplorationResult, update: Update, game_frame: int) -> None:
        taken = []
        for candidate in found.candidates:
            number = candidate.number
            if number == UNKNOWN:
                number = self.score_index.find(candidate.cell, candidate.tag)
            status = self._compare(number, candidate)
            if status is not AddStatus.REJECTED:
                taken.append((candidate, number, status))
        if not taken:
            return
        used = max(candidate.offset for candidate, _, _ in taken) * self.segments.action_bytes
        segment = self.segments.add(start.branch, found.actions[:used])
        for candidate, number, status in taken:
            branch = Branch(segment, candidate.offset)
            if status is AddStatus.NEW:
                number = self.insert(
                    candidate.cell,
                    candidate.snapshot,
                    candidate.score_length,
                    branch,
                    candidate.location,
                    found_at=game_frame,
                    end=candidate.end,
                    event=candidate.event,
                )
                update.added = range(update.added.start, number + 1)
            else:
                self._improve(number, candidate, branch)
                update.improved.add(number)
            update.touched.add(number)
        self._columns["times_chosen_since_new"][start.number] = 0

    def _compare(self, number: int, candidate: Candidate) -> AddStatus:
        if number == UNKNOWN:
            return AddStatus.NEW
        better = candidate.beats(self.score_index.score_length(number))
        return AddStatus.IMPROVED if better else AddStatus.REJECTED

    def extend(
        self,
        digests: NDArray[np.uint64],
        columns: Mapping[str, NDArray[Any]],
        strings: Mapping[str, tuple[NDArray[np.int64], bytes | memoryview]],
        events: Sequence[str] | None = None,
        objectives: NDArray[np.float64] | None = None,
    ) -> None:
        """Add many entries at once, for cells that have none yet; `best` is found by `find_best` at the end.

        `strings` are cells and snapshots as `gather` returns them, `columns` all other columns but those of
        events. Segments are held.
        """
        first = len(self)
        self.score_index.extend(digests.tobytes(), columns["score"], columns["length"], objectives)
        for name, column in self._columns.items():
            if name in strings:
                column.frombytes(self._bytes.put_all(*strings[name]).tobytes())
            elif name != "event":
                column.frombytes(columns[name].tobytes())
        numbers = [0] * (len(self) - first) if events is None else list(map(self._event_number, events))
        self._columns["event"].extend(numbers)
        for number, event in enumerate(events or (), first):
            if event:
                self.events.setdefault(event, []).append(number)
        self.segments.hold_all(columns["segment"])
        levels, rooms = columns["level"], columns["room"]
        here = np.unique(np.stack((levels, rooms), 1)[np.array(numbers) == 0], axis=0)
        self.locations.update({Location(*each) for each in here.tolist()} - {NOWHERE})

    def insert(
        self,
        cell: CellKey,
        snapshot: bytes,
        score_length: ScoreLength,
        branch: Branch,
        location: Location,
        *,
        found_at: int,
        end: End = End.NONE,
        event: str = "",
    ) -> int:
        """Add an entry for a cell that has none yet, with all counters at 0; return its number."""
        tag = event_tag(event) if event else END if end else ""
        number = self.score_index.add(cell, score_length, tag)
        row = (
            self._bytes.put(cell),
            self._bytes.put(snapshot),
            branch.segment,
            branch.offset,
            location.level,
            location.room,
            0,
            0,
            0,
            found_at,
            end,
            self._event_number(event),
        )
        for column, value in zip(self._columns.values(), row, strict=True):
            column.append(value)
        self.segments.hold(branch.segment)
        if event:
            self.events.setdefault(event, []).append(number)
        self._record(number, location)
        return number

    def _event_number(self, event: str) -> int:
        if event not in self._event_names:
            self._event_names.append(event)
        return self._event_names.index(event)

    def _improve(self, number: int, candidate: Candidate, branch: Branch) -> None:
        column = self._columns
        rank = self._result_rank(number) if number == self.best else None
        self.score_index.improve(number, candidate.score_length)
        self._bytes.discard(column["snapshot"][number])
        column["snapshot"][number] = self._bytes.put(candidate.snapshot)
        self.segments.hold(branch.segment)
        self.segments.release(column["segment"][number])
        column["segment"][number], column["offset"][number] = branch
        column["level"][number], column["room"][number] = candidate.location
        column["end"][number] = candidate.end
        column["times_chosen"][number] = 0
        column["times_chosen_since_new"][number] = 0
        if self.reset_seen:
            column["times_seen"][number] = 0
        if rank is not None and self._result_rank(number) < rank:
            self.find_best()
        self._record(number, candidate.location)

    def _record(self, number: int, location: Location) -> None:
        """Keep track of locations and of the best entry."""
        if self.is_event(number):
            return  # it lies beside the cell's other entries, and is no result
        if location != NOWHERE:
            self.locations.add(location)
        if number != self.best and self._result_rank(number) > self._result_rank(self.best):
            self.best = number

    def find_best(self) -> None:
        """Find the best entry anew: with an objective, the best score can be given up for something else."""
        score = np.frombuffer(self.score_index.column("score"), np.float64)
        length = np.frombuffer(self.score_index.column("length"), np.int32)
        eligible = np.frombuffer(self._columns["event"], np.uint16) == 0
        ended = np.frombuffer(self._columns["end"], np.uint8) != End.NONE
        results = eligible & ((score > 0) | ((score < 0) & ended))
        if results.any():
            eligible = results
        eligible = eligible & (score == score[eligible].max())
        self.best = int((eligible & (length == length[eligible].min())).argmax())

    def _result_rank(self, number: int) -> tuple[bool, float, int, int]:
        """Return what decides which entry is the best, the highest: always the score, never an objective."""
        score, length, _ = self.score_index.score_length(number)
        return score > 0 or (score < 0 and self.has_ended(number)), score, -length, -number

    def is_result(self, number: int) -> bool:
        """Whether an entry has won something, or ended an episode in which steps cost something.

        An end without any reward is as likely a death as a goal: it is kept, and counts for nothing. So does
        an event.
        """
        return not self.is_event(number) and self._result_rank(number)[0]
