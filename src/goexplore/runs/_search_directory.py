"""The run directory of a search: its archive in checkpoints."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goexplore.archive import (
    ARCHIVE_FILE,
    FRAMES_FILE,
    SEGMENTS_FILE,
    Archive,
    MemoryLimit,
    read_archive,
    read_frames,
    write_archive,
    write_frames,
)
from goexplore.cells import CellRepresentation
from goexplore.engines import Engine, EngineWish
from goexplore.envs import Location
from goexplore.errors import CheckpointError, ConfigError, RunDirectoryError, require_seed
from goexplore.exploration import CellReviser, Revision, Status
from goexplore.files import as_counts, as_record, read_json, write_json
from goexplore.problems import Problem, problem_from_file
from goexplore.replay import Mismatch
from goexplore.runs._directory import Directory, SavedFiles, clear_errors
from goexplore.runs._metrics import SearchMetrics
from goexplore.runs._start import Start


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What a verification found, as it is kept for reports."""

    checkpoint: str
    checked: int
    """Entries."""
    entries: int
    """Of the whole archive."""
    game_frames: int
    """Game frames replayed."""
    mismatches: list[Mismatch]


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A search as it was at the end of a batch."""

    folder: Path
    archive: Archive
    status: Status
    revisions: tuple[Revision, ...] = ()
    """Of dynamic cells."""
    frames: tuple[bytes, ...] = ()
    """By which the next revision goes, packed."""
    damaged: tuple[Path, ...] = ()
    """Newer checkpoints that could not be read."""
    warnings: tuple[str, ...] = ()
    """One line for each of these."""


class SearchDirectory(Directory):
    """One search on disk."""

    kind = "search"
    verb = "explore"
    files = (ARCHIVE_FILE, SEGMENTS_FILE)
    optional_files = (FRAMES_FILE,)

    @classmethod
    def create(
        cls, path: Path, problem: Problem, seed: int = 0, start: Start | None = None
    ) -> contextlib.AbstractContextManager[SearchDirectory]:
        """Make a new run directory and keep it locked; refuse one that holds something already."""
        version = problem.env.engine_version
        more = {} if version is None else {"engine_version": version}
        settings = _settings(problem, seed)
        if start is not None:
            settings["start"] = start.settings()
        return cls._create(path, settings, engine=problem.env.engine, **more)

    def problem(self, given: Problem | None = None) -> Problem:
        """Return the problem that was explored, on the engine that explored it.

        A problem from an import path has to be `given`: a file never makes us import code.
        """
        settings = self._search().get("problem", {})
        problem = problem_from_file(settings, given, str(self.path))
        return dataclasses.replace(problem, env=problem.env.as_explored(self.engine()))

    def seed(self) -> int:
        """Return the seed of the search."""
        try:
            require_seed(seed := self._search().get("seed", 0))
        except ConfigError as error:
            raise RunDirectoryError(f"in {self.path / 'config.json'}: {error}. Put the file back") from error
        return int(seed)

    def start(self) -> Start | None:
        """Return what the search begins at the end of, unless that is the initial state."""
        settings = self._search().get("start")
        if settings is None:
            return None
        try:
            return Start.from_settings(settings)
        except ValueError as error:
            raise RunDirectoryError(
                f"expected the start of a search in {self.path / 'config.json'}, got {error}. Put the file "
                "back"
            ) from error

    def _search(self) -> dict[str, Any]:
        search: dict[str, Any] = self.info().get("search", {})
        return search

    def engine(self) -> Engine:
        """Return the engine that explored: snapshots are its own."""
        engine: Engine = self.info().get("engine", "python")
        return engine

    def has_engine_version(self, version: str | None) -> bool:
        """Return whether an engine's version is the one that explored, as far as is known."""
        return self.info().get("engine_version") in (None, version)

    def require(
        self, problem: Problem, seed: int, engine: EngineWish = "auto", start: Start | None = None
    ) -> None:
        """Refuse to go on with other settings than the run was started with.

        Without a `start`, it is the run's.
        """
        if engine not in ("auto", self.engine()):
            raise ConfigError(
                f"expected `engine` {self.engine()}, whose snapshots {self.path} has, got {engine}: "
                "omit it, or start a new run"
            )
        mine = self.start()
        if start is not None and (mine is None or mine.actions != start.actions):
            raise ConfigError(
                f"expected the start that {self.path} has ({mine or 'the initial state'}), got another "
                f"({start}): omit `start_from`, or start a new run"
            )
        named = dataclasses.replace(problem, name=self._search().get("problem", {}).get("name", ""))
        start_as_written = {} if mine is None else {"start": self._search()["start"]}
        # The name does not decide what is found.
        self._require({**_settings(named, seed), **start_as_written})

    def with_batch_size(self, problem: Problem) -> Problem:
        """Return a problem with the number that `batch_size` auto stood for when the run began."""
        settings = self._search().get("problem", {}).get("exploration", {})
        if problem.exploration.batch_size != "auto" or "batch_size" not in settings:
            return problem
        exploration = dataclasses.replace(problem.exploration, batch_size=settings["batch_size"])
        return dataclasses.replace(problem, exploration=exploration)

    def metrics(self) -> list[SearchMetrics]:
        """Return all lines of metrics.jsonl."""
        return self.read_metrics(SearchMetrics)

    def rewind_metrics(self, game_frames: int) -> list[str]:
        """Drop the lines of work after a checkpoint; return what the user should know."""
        return self._rewind_metrics(SearchMetrics, game_frames)

    def write_checkpoint(
        self,
        archive: Archive,
        status: Status,
        cells: CellRepresentation,
        reviser: CellReviser | None = None,
    ) -> Path:
        """Write a checkpoint that is there whole or not at all; keep the last two."""
        content = {
            "status": dataclasses.asdict(status),
            "locations": sorted(archive.locations),
            "action_bytes": archive.segments.action_bytes,
        }
        if reviser is not None:
            content["revisions"] = [dataclasses.asdict(revision) for revision in reviser.revisions]

        def write(folder: Path) -> list[Path]:
            files = write_archive(archive, folder, cells.columns)
            return files if reviser is None else [*files, write_frames(reviser.frames, folder)]

        return self._write_checkpoint(write, content)

    def read_checkpoint(self, memory_limit: MemoryLimit | None = None) -> Checkpoint | None:
        """Return the newest checkpoint that is whole, or None if none was ever written."""
        damaged: list[Path] = []
        warnings: list[str] = []
        for folder in self._folders():
            try:
                checkpoint = self._read(folder, memory_limit)
            except CheckpointError as error:
                damaged.append(folder)
                warnings.append(f"checkpoint {folder.name} is not used: {error}")
                continue
            return dataclasses.replace(checkpoint, damaged=tuple(damaged), warnings=tuple(warnings))
        if warnings:
            raise CheckpointError("; ".join(warnings) + ". No checkpoint is whole: start a new run")
        return None

    def newest_files(self) -> SavedFiles:
        """Return the newest checkpoint whose files are whole, without reading its archive.

        Raise CheckpointError if there is none.
        """
        wrong = []
        for folder in self._folders():
            try:
                saved = self._saved(folder)
            except CheckpointError as error:
                wrong.append(f"checkpoint {folder.name} is not used: {error}")
                continue
            return saved
        if wrong:
            raise CheckpointError("; ".join(wrong) + ". No checkpoint is whole: start a new run")
        raise CheckpointError(
            f"expected a checkpoint in {self.path}, got none: let the run go on for a while"
        )

    def last_checkpoint(self) -> Checkpoint:
        """Return the newest checkpoint that is whole; raise CheckpointError if none was ever written."""
        checkpoint = self.read_checkpoint()
        if checkpoint is None:
            raise CheckpointError(
                f"expected a checkpoint in {self.path}, got none: let the run go on for a while"
            )
        return checkpoint

    def _read(self, folder: Path, memory_limit: MemoryLimit | None) -> Checkpoint:
        saved = self._saved(folder)
        try:
            status = as_counts(Status, saved.content["status"])
            revisions = as_record(tuple[Revision, ...], saved.content.get("revisions", ()))
            archive = read_archive(
                folder,
                reset_seen=self._search()["problem"]["selection"]["reset_seen"],
                action_bytes=saved.content["action_bytes"],
                locations=as_record(list[Location], saved.content["locations"]),
                memory_limit=memory_limit,
            )
            if not len(archive):
                raise CheckpointError("expected an archive with an initial state, got one without entries")
            if ("revisions" in saved.content) != (FRAMES_FILE in saved.sha256):
                raise CheckpointError("expected frames where cells are revised, and nowhere else")
            frames = read_frames(folder) if FRAMES_FILE in saved.sha256 else ()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"expected meta.json and its files, got {error!r}") from error
        return Checkpoint(folder=folder, archive=archive, status=status, revisions=revisions, frames=frames)

    def write_verification(self, found: Verification) -> None:
        """Keep what a verification found, for reports."""
        with clear_errors(self.path):
            write_json(self.path / "verification.json", dataclasses.asdict(found))

    def verification(self) -> Verification | None:
        """Return what the last verification found, if there was one and its file is whole."""
        try:
            return as_record(Verification, read_json(self.path / "verification.json"))
        except (OSError, ValueError):
            return None


def _settings(problem: Problem, seed: int) -> dict[str, Any]:
    return {"problem": problem.settings(), "seed": seed}
