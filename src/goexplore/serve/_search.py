"""A search as the page sees it: its newest checkpoint as columns, and everything about a cell."""

from __future__ import annotations

import contextlib
import shlex
import tempfile
import time
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Actions
from goexplore.demos import SUFFIX
from goexplore.envs import Location
from goexplore.errors import GoExploreError
from goexplore.problems import Problem
from goexplore.runs import SearchDirectory, SearchMetrics, explore_again_command
from goexplore.serve import _jobs as jobs
from goexplore.serve._columns import Column, Table, pack_change
from goexplore.serve._film import CODECS, PICTURES_PER_PART, Film
from goexplore.serve._layout import Layout, different_locations, rooms_layout, tree_layout
from goexplore.serve._recent import Recent
from goexplore.serve._source import Helpers, NotThere, Outdated, Source

_KEPT = 2
"""Checkpoints in memory: the newest, and the one that pages are just turning from."""
_SHARE = 0.01
"""Of one core, at most, for reading checkpoints that nobody asked for; a helper may take as much again."""
_PICTURES_OF_ROOM, _ROOMS_AT_ONCE = 4, 32
"""States of a room to choose from, and rooms that are photographed together."""
_MOST_VIDEOS, _MOST_CELLS = 64, 256
"""Parts of videos that are kept, and cells that pages have opened."""


@dataclass(frozen=True, kw_only=True)
class OpenedCell:
    """A cell that a page has opened. Its video can be watched when its checkpoint is not kept any more."""

    row: dict[str, Any]
    actions: Actions
    fatal_action: int | None
    """The last action, if it has no result: it crashed, hung or raised an exception."""
    search_game_frames: int


class SearchSource(Source):
    """One search."""

    kind = "search"
    metrics_kind = SearchMetrics

    def __init__(self, path: Path, name: str, problem: Problem | None, helpers: Helpers) -> None:
        super().__init__(path, name, problem, helpers)
        self._tables: list[Table] = []
        self._photographing = Lock()
        self._begin()

    def _begin(self) -> None:
        self._damaged: str | None = None
        self._next_load = 0.0
        self._layouts: dict[tuple[str, str], Layout] = {}
        self._probabilities: dict[str, Column] = {}
        self._rooms: dict[Location, bytes | None] = {}
        self._parts: Recent[bytes] = Recent(_MOST_VIDEOS)
        self._cells: Recent[OpenedCell] = Recent(_MOST_CELLS)
        self._about: dict[str, Any] | None = None
        self._setting: jobs.Setting | None = None
        self._problem: Problem | None = None
        self._start_length = 0
        self._seed: int | None = None
        self._explore_again: list[str] = []
        self.unplayable: str | None = None
        """Why there are no pictures, if there are none."""

    def forget(self) -> None:
        """Drop everything that was read."""
        with self.lock:
            self.close()
            self._tables.clear()
            self._begin()

    def close(self) -> None:
        """Let go of files."""
        for table in self._tables:
            table.close()

    @property
    def version(self) -> str | None:
        """The checkpoint that is shown."""
        return self._tables[-1].version if self._tables else None

    # Reading

    def look_closer(self) -> dict[str, Any]:
        """Read a checkpoint that is new, unless the last one was read so recently that it would cost much."""
        with self.lock:
            name = _newest(self.path)
            waiting = name is not None and name != (self._tables[-1].folder.name if self._tables else None)
            if waiting and name != self._damaged and time.monotonic() >= self._next_load:
                self._load(name)
        return {"checkpoint": name, "shown": self._tables[-1].folder.name if self._tables else None}

    def _load(self, name: str | None) -> None:
        began = time.thread_time()
        try:
            directory = SearchDirectory.open(self.path)
            saved = directory.newest_files()
            if not self._tables or self._tables[-1].folder != saved.folder:
                table = Table(saved)
                self._settle(directory, table)
                for layout in self._layout_names():
                    self._layouts[table.version, layout] = self._lay_out(table, layout)
                self._tables.append(table)
                self._rooms = {room: shown for room, shown in self._rooms.items() if shown is not None}
        except GoExploreError:
            self._damaged = name  # not once more every second
            raise
        while len(self._tables) > _KEPT:
            old = self._tables.pop(0)
            old.close()
            self._layouts = {key: each for key, each in self._layouts.items() if key[0] != old.version}
            self._probabilities.pop(old.version, None)
        self._next_load = time.monotonic() + (time.thread_time() - began) / _SHARE

    def _settle(self, directory: SearchDirectory, table: Table) -> None:
        """Find the problem, which revisions may have changed, and what is to be known of its environment."""
        self.unplayable = None
        start = directory.start()
        self._start_length = 0 if start is None else len(start.actions)
        self._explore_again = explore_again_command(directory)
        with contextlib.suppress(GoExploreError):  # only demonstrations need it
            self._seed = directory.seed()
        try:
            problem = directory.problem(self.given).after_revisions(table.revisions)
            if problem != self._problem:
                self._setting = self.helpers.pictures.call(jobs.describe, problem.env)
                self._problem = problem
        except GoExploreError as error:
            self._problem, self._setting = None, None
            self.unplayable = " ".join(str(error).split())

    def table(self, version: str) -> Table:
        """Return a checkpoint that a page knows."""
        for table in self._tables:
            if table.version == version:
                return table
        raise Outdated(
            f"expected a checkpoint that is still known, got {version}: the search has written newer ones, "
            "click the cell again"
        )

    def _opened(self, version: str, entry: int) -> OpenedCell:
        def read() -> OpenedCell:
            table = self.table(version)
            return OpenedCell(
                row=table.row(entry),
                actions=table.actions(entry),
                fatal_action=int(table.last_action(entry)) if table.is_fatal(entry) else None,
                search_game_frames=table.status.game_frames,
            )

        return self._cells.get((version, entry), read)

    def _layout_names(self) -> list[str]:
        has_map = self._setting is not None and self._setting.plan is not None
        return ["map", "tree"] if has_map else ["tree"]

    def _lay_out(self, table: Table, name: str) -> Layout:
        if name == "tree":
            return tree_layout(*table.forest.places())
        assert self._setting is not None
        assert self._setting.plan is not None
        assert self._problem is not None
        areas = self.helpers.pictures.call(jobs.cell_areas, self._problem, table.cells)
        return rooms_layout(self._setting.plan, table["level"], table["room"], areas)

    # What pages ask for

    def about(self) -> dict[str, Any]:
        """Return what a page has to know to show the newest checkpoint."""
        with self.lock:
            if not self._tables:
                self.look()
            if not self._tables:
                message = self.sight.get("message") or f"{self.path} has no checkpoint yet"
                raise NotThere(str(message))
            table = self._tables[-1]
            if self._about is None or self._about["version"] != table.version:
                self._about = self._describe(table)
            return self._about

    def _describe(self, table: Table) -> dict[str, Any]:
        status = table.status
        return {
            "version": table.version,
            "rows": len(table),
            "revisions": len(table.revisions),
            "problem": self._name(),
            "status": {
                "game_frames": status.game_frames,
                "cells": status.cells,
                "rooms": status.rooms,
                "level": status.level,
                "best_score": status.best_score,
                "has_result": status.has_result,
            },
            "columns": [column.about() for column in table.columns.values()],
            "has_probabilities": self._problem is not None,
            "names": table.column_names,
            "layouts": {name: self._layouts[table.version, name].about() for name in self._layout_names()},
            "rooms": self._room_places(table),
            "best": _best(table),
            "unplayable": self.unplayable,
        }

    def _name(self) -> str:
        if self._problem is not None:
            return self._problem.name
        search = SearchDirectory(self.path).info().get("search", {})
        problem = search.get("problem", {}) if isinstance(search, dict) else {}
        return str(problem.get("name", "")) if isinstance(problem, dict) else ""

    def _room_places(self, table: Table) -> list[dict[str, Any]]:
        plan = None if self._setting is None else self._setting.plan
        if plan is None:
            return []
        locations, which = different_locations(table["level"], table["room"])
        first = np.full(len(locations), np.iinfo(np.int64).max)
        np.minimum.at(first, which, table["found_at_game_frame"].astype(np.int64))
        found = dict(zip(locations, first.tolist(), strict=True))
        corners = plan.corners(sorted({each.level for each in found}))
        return [
            {
                "level": level,
                "room": room,
                "found": Location(level, room) in found,
                "found_at": found.get(Location(level, room)),
                "box": [left, top, left + plan.shown_width, top + plan.height],
            }
            for (level, room), (left, top) in corners.items()
        ]

    def layout(self, version: str, name: str) -> bytes:
        """Return where the cells lie."""
        with self.lock:
            self.table(version)
            if (version, name) not in self._layouts:
                raise NotThere(f"expected a layout ({', '.join(self._layout_names())}), got {name!r}")
            return self._layouts[version, name].pack()

    def parents(self, version: str) -> bytes:
        """Return for each entry the last one before it on its trajectory, or -1."""
        return self.table(version).forest.entry_parents().astype("<i4").tobytes()

    def column(self, version: str, name: str, since: str | None) -> tuple[bytes, bool]:
        """Return a column, or only what changed since another checkpoint, and whether it is only that."""
        new = self._column(self.table(version), name)
        if since is not None:
            with self.lock:
                try:
                    old = self._column(self.table(since), name)
                except (Outdated, NotThere):
                    old = None
            if (
                old is not None
                and old.values.dtype == new.values.dtype
                and old.texts == new.texts
                and len(old.values) <= len(new.values)
            ):
                return pack_change(old.values, new.values), True
        return new.values.tobytes(), False

    def _column(self, table: Table, name: str) -> Column:
        if name == "probability":
            return self._probability(table)
        if name not in table.columns:
            raise NotThere(f"expected a column ({', '.join(table.columns)}), got {name!r}")
        return table.columns[name]

    def _probability(self, table: Table) -> Column:
        if table.version not in self._probabilities:
            with tempfile.TemporaryDirectory() as folder:
                table.copy_to(Path(folder))
                values = self.helpers.archives.call(
                    jobs.probabilities, Path(folder), self._playable(), table.action_bytes, table.locations
                )
            self._probabilities[table.version] = Column(name="probability", values=values.astype("<f8"))
        return self._probabilities[table.version]

    def matching(self, version: str, condition: str) -> bytes:
        """Return which entries a condition is true of, one bit each."""
        return _bits(self.table(version).matching(condition))

    def cell(self, version: str, entry: int) -> dict[str, Any]:
        """Return everything about a cell that is known without playing."""
        table = self.table(version)
        opened = self._opened(version, entry)
        chain = table.forest.chain(entry)
        shown: dict[str, Any] = {
            "entry": entry,
            "values": opened.row,
            "explorations": self._explorations(chain),
            "lineage": table.forest.lineage(entry).tolist(),
            "descendants": len(table.forest.descendants(entry)),
            "commands": self._commands(entry, can_start=len(chain) > 0 and bool(table.explorable[entry])),
            "film": None,
        }
        if self._setting is not None:
            film = Film(
                pictures=len(opened.actions) * self._setting.pictures_per_step + 1,
                pictures_per_step=self._setting.pictures_per_step,
            )
            shown["film"] = {
                "pictures": film.pictures,
                "pictures_per_step": film.pictures_per_step,
                "pictures_per_second": film.pictures_per_second,
                "pictures_per_part": PICTURES_PER_PART,
                "codecs": CODECS,
            }
        return shown

    def _explorations(self, chain: list[tuple[int, int]]) -> int:
        """Return how many explorations a trajectory is made of; what the search started from is none."""
        begins = accumulate((actions for _, actions in chain), initial=0)
        return sum(begin >= self._start_length for begin, _ in zip(begins, chain, strict=False))

    def _commands(self, entry: int, *, can_start: bool) -> dict[str, str]:
        """Return commands of goexplore that go on from here, ready for a shell."""
        run, cell = str(self.path), str(entry)
        more = [] if self.given is None else ["--problem", self.given.name]
        words = {
            "video": ["goexplore", "video", run, "--cell", cell, "--out", f"cell-{cell}.mp4"],
            "demonstration": ["goexplore", "demos", run, "--cell", cell, "--out", f"demos-{cell}"],
        }
        commands = {what: shlex.join([*command, *more]) for what, command in words.items()}
        if can_start:
            further = self.path.with_name(f"{self.path.name}-from-{cell}")
            there = ["--from", f"demos-{cell}", "--run-dir", str(further)]
            explore = shlex.join([*self._explore_again, *there])
            commands["explore"] = f"{commands['demonstration']} && {explore}"
        return commands

    def descendants(self, version: str, entry: int) -> bytes:
        """Return which entries' trajectories go on from this one's end, one bit each."""
        table = self.table(version)
        table.row(entry)
        mask = np.zeros(len(table), np.bool_)
        mask[table.forest.descendants(entry)] = True
        return _bits(mask)

    def picture(self, version: str, entry: int) -> bytes:
        """Return the state of a cell, as a PNG."""
        actions = self._opened(version, entry).actions
        return self.helpers.pictures.call(jobs.picture, self._playing().env, actions)

    def way(self, version: str, entry: int) -> dict[str, Any]:
        """Return the way to a cell: for each training frame the entry of its cell, or -1, and the score."""
        table, actions = self.table(version), self._opened(version, entry).actions
        found = self.helpers.pictures.call(jobs.way, self._playable(), actions)
        return {
            "entries": [table.entry_of.get(cell, -1) for cell in found.cells],
            "scores": list(found.scores),
        }

    def video_part(self, version: str, entry: int, number: int) -> bytes:
        """Return a part of the video of how a cell was reached."""
        actions = self._opened(version, entry).actions

        def render() -> bytes:
            return self.helpers.pictures.call(jobs.video_part, self._playing().env, actions, number)

        return self._parts.get((version, entry, number), render)

    def demonstration(self, version: str, entry: int) -> tuple[str, bytes]:
        """Return a name and the content of a demonstration's file: the way to a cell, replayed."""
        opened = self._opened(version, entry)
        if not len(opened.actions):
            raise NotThere("expected a trajectory of at least one training frame, got the initial state")
        problem = self._playable()
        provenance = {
            "run": self.path.name,
            "seed": SearchDirectory(self.path).seed() if self._seed is None else self._seed,
            "entry": entry,
            "cell": opened.row["cell"].removeprefix("0x"),
            "search_game_frames": opened.search_game_frames,
            "event": opened.row.get("event", ""),
        }
        content = self.helpers.pictures.call(
            jobs.demonstration,
            problem,
            opened.actions,
            opened.row["score"],
            opened.fatal_action,
            provenance,
        )
        return f"{problem.env.name}-cell-{entry}{SUFFIX}", content

    def room_picture(self, level: int, room: int) -> bytes | None:
        """Return a picture of a room in which there are cells."""
        location = Location(level, room)
        with self._photographing:  # all else goes on meanwhile
            if location not in self._rooms and self._tables:
                self._photograph(self._tables[-1], location)
            return self._rooms.setdefault(location, None)

    def _photograph(self, table: Table, asked: Location) -> None:
        """Take pictures of a room, and of others that have none yet: they will be asked for too."""
        problem = self._playable()
        locations, seen = _locations(table), table["times_seen"]
        order = np.flatnonzero(table.explorable)
        order = order[np.argsort(-seen[order].astype(np.int64), kind="stable")]
        wanted: dict[Location, list[int]] = {asked: []}
        for location, entry in zip(locations[order].tolist(), order.tolist(), strict=True):
            known = Location(*location)
            if known in self._rooms or (known not in wanted and len(wanted) == _ROOMS_AT_ONCE):
                continue
            if len(wanted.setdefault(known, [])) < _PICTURES_OF_ROOM:
                wanted[known].append(entry)
        states = {location: table.snapshots(entries) for location, entries in wanted.items() if entries}
        if states:
            self._rooms |= self.helpers.pictures.call(jobs.room_pictures, problem, states)

    def _playable(self) -> Problem:
        """Return the problem on the engine whose snapshots the archive has."""
        if self._problem is None:
            raise NotThere(self.unplayable or "expected a problem that can be played, got none")
        return self._problem

    def _playing(self) -> Problem:
        """Return the problem on the fastest engine: trajectories are the same on all of them."""
        problem, _ = self._playable().with_engine("auto")
        return problem


def _newest(path: Path) -> str | None:
    """Return the name of the newest checkpoint: whether it is whole is found out when it is read."""
    try:
        names = [each.name for each in (path / "checkpoints").iterdir()]
    except OSError:
        return None
    return max((name for name in names if name.isascii() and name.isdigit()), key=int, default=None)


def _locations(table: Table) -> NDArray[np.int64]:
    return np.stack([table["level"].astype(np.int64), table["room"].astype(np.int64)], axis=1)


def _best(table: Table) -> int:
    """Return the entry to show first: the best result, or else what was found last, the longest of these."""
    score, length = table["score"].astype(np.float64), table["length"].astype(np.int64)
    results = (score > 0) | ((score < 0) & table.ended)
    if results.any():
        return int(np.lexsort((length, -score, ~results))[0])
    return int(np.lexsort((-length, -table["found_at_game_frame"].astype(np.int64)))[0])


def _bits(mask: NDArray[np.bool_]) -> bytes:
    return np.packbits(mask, bitorder="little").tobytes()
