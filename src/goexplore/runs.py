"""The run directory: config.json, metrics.jsonl, checkpoints. Nothing in it is ever half-written.

docs/format.md describes every file. Loading one never runs code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goexplore.archive import ARCHIVE_FILE, SEGMENTS_FILE, Archive, read_archive, write_archive
from goexplore.cells import CellRepresentation
from goexplore.config import SearchConfig, differences, from_json, to_json
from goexplore.engines import Engine, EngineWish
from goexplore.envs import Place
from goexplore.errors import CheckpointError, ConfigError, RunDirectoryError
from goexplore.exploration import Status
from goexplore.files import file_sha256, json_sha256, sync, versions, write_json, written_whole

FORMAT = 1
"""Version of the run directory's format; raised when older versions of goexplore could not read it."""

_KEPT_CHECKPOINTS = 2

_VERIFICATION = {"checkpoint", "checked", "entries", "game_frames", "mismatches"}

_UNFINISHED = {"checkpoints", ".config.part.json"}
"""What there may be of a run that ended before it had begun."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A search as it was at the end of a batch."""

    folder: Path
    archive: Archive
    status: Status
    damaged: tuple[Path, ...] = ()
    """Newer checkpoints that could not be read."""
    warnings: tuple[str, ...] = ()
    """One line for each of these."""


class RunDirectory:
    """One search on disk."""

    def __init__(self, path: Path) -> None:
        """Use `create` or `open` instead."""
        self.path = path

    @classmethod
    def create(cls, path: Path, config: SearchConfig, engine: Engine = "ale") -> RunDirectory:
        """Make a new run directory; refuse one that holds something already."""
        run = cls(path)
        with clear_errors(path):
            if path.exists() and (not path.is_dir() or {each.name for each in path.iterdir()} - _UNFINISHED):
                raise RunDirectoryError(
                    f"expected a new or empty directory, got {path}, which exists: "
                    "continue it with --resume or choose another --run-dir"
                )
            path.mkdir(parents=True, exist_ok=True)
            run.checkpoints.mkdir(exist_ok=True)
            write_json(
                path / "config.json",
                {
                    "format": FORMAT,
                    "search": to_json(config),
                    "engine": engine,
                    "command": sys.argv,
                    "versions": versions(),
                },
            )
        return run

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Open a run directory that is there."""
        run = cls(path)
        if not (path / "config.json").is_file():
            raise RunDirectoryError(
                f"expected a run directory with a config.json, got {path}: start one with `goexplore explore`"
            )
        written = run._config_json().get("format")
        if written != FORMAT:
            raise RunDirectoryError(
                f"expected a run of format {FORMAT}, got format {written!r} in {path}: "
                "use the version of goexplore that wrote it"
            )
        return run

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints."""
        return self.path / "checkpoints"

    @property
    def metrics(self) -> Path:
        """The file of metrics."""
        return self.path / "metrics.jsonl"

    def config(self) -> SearchConfig:
        """Return the settings of the search."""
        return from_json(self._config_json().get("search", {}))

    def engine(self) -> Engine:
        """Return the engine that explored: snapshots are its own."""
        return "native" if self._config_json().get("engine") == "native" else "ale"

    def info(self) -> dict[str, Any]:
        """Return config.json as it is: settings, command and versions."""
        return self._config_json()

    def _config_json(self) -> dict[str, Any]:
        try:
            content = json.loads((self.path / "config.json").read_text())
        except (OSError, ValueError) as error:
            raise RunDirectoryError(
                f"expected JSON in {self.path / 'config.json'}, got {error}: put the file back"
            ) from error
        if not isinstance(content, dict):
            raise RunDirectoryError(f"expected a JSON object in {self.path / 'config.json'}: put it back")
        return content

    def require(self, config: SearchConfig, engine: EngineWish = "auto") -> None:
        """Refuse to go on with other settings than the run was started with."""
        if engine not in ("auto", self.engine()):
            raise ConfigError(
                f"expected --engine {self.engine()}, whose snapshots {self.path} has, got {engine}: "
                "omit it, or start a new run"
            )
        differ = differences(self._config_json().get("search", {}), to_json(config))
        if differ:
            raise ConfigError(
                f"expected the settings that {self.path} was started with, got others: {'; '.join(differ)}. "
                "Resume with the same settings, or start a new run"
            )

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from writing to this run; the lock goes with our processes, however they end."""
        with clear_errors(self.path):
            file = open(self.path / "lock", "w")  # noqa: SIM115
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RunDirectoryError(
                    f"expected a run that nobody works on, got {self.path}, which another process explores: "
                    "wait for it, stop it, or choose another --run-dir"
                ) from error
            yield

    def write_checkpoint(self, archive: Archive, status: Status, cells: CellRepresentation) -> Path:
        """Write a checkpoint aside, bring it to the disk, then give it its name; keep the last two."""
        numbers = self._numbers()
        name = f"{(numbers[-1] if numbers else 0) + 1:06d}"
        aside, final = self.checkpoints / f".{name}.part", self.checkpoints / name
        with clear_errors(self.path):
            try:
                self._drop_unfinished()
                aside.mkdir()
                files = write_archive(archive, aside, cells.columns)
                content = {"status": dataclasses.asdict(status), "places": sorted(archive.places)}
                sums = {file.name: file_sha256(file) for file in files}
                meta = {
                    "format": FORMAT,
                    "content": content,
                    "sha256": {**sums, "content": json_sha256(content)},
                }
                write_json(aside / "meta.json", meta)
                for file in files:
                    sync(file)
                sync(aside)
                aside.rename(final)
                sync(self.checkpoints)
            except OSError:
                shutil.rmtree(aside, ignore_errors=True)  # leave room for what is there already
                raise
        for number in self._numbers()[:-_KEPT_CHECKPOINTS]:
            shutil.rmtree(self.checkpoints / f"{number:06d}", ignore_errors=True)
        return final

    def read_checkpoint(self) -> Checkpoint | None:
        """Return the newest checkpoint that is whole, or None if none was ever written."""
        damaged: list[Path] = []
        warnings: list[str] = []
        for number in reversed(self._numbers()):
            folder = self.checkpoints / f"{number:06d}"
            try:
                checkpoint = self._read(folder)
            except CheckpointError as error:
                damaged.append(folder)
                warnings.append(f"checkpoint {folder.name} is not used: {error}")
                continue
            return dataclasses.replace(checkpoint, damaged=tuple(damaged), warnings=tuple(warnings))
        if warnings:
            raise CheckpointError("; ".join(warnings) + ". No checkpoint is whole: start a new run")
        return None

    def last_checkpoint(self) -> Checkpoint:
        """Return the newest checkpoint that is whole; raise CheckpointError if none was ever written."""
        checkpoint = self.read_checkpoint()
        if checkpoint is None:
            raise CheckpointError(
                f"expected a checkpoint in {self.path}, got none: let the run go on for a while"
            )
        return checkpoint

    def _read(self, folder: Path) -> Checkpoint:
        try:
            meta = json.loads((folder / "meta.json").read_text())
            if meta["format"] != FORMAT:
                raise CheckpointError(f"expected format {FORMAT}, got {meta['format']!r}")
            content, expected = meta["content"], meta["sha256"]
            sums = {name: file_sha256(folder / name) for name in (ARCHIVE_FILE, SEGMENTS_FILE)}
            if {**sums, "content": json_sha256(content)} != expected:
                raise CheckpointError("expected files with the checksums in meta.json, got others")
            status = Status(**content["status"])
            places = [Place(*place) for place in content["places"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"expected meta.json and its files, got {error!r}") from error
        archive = read_archive(folder, reset_seen=self.config().selection.reset_seen, places=places)
        return Checkpoint(folder=folder, archive=archive, status=status)

    def set_aside(self, damaged: Sequence[Path]) -> None:
        """Rename damaged checkpoints, so that whole ones are kept in their place."""
        for folder in damaged:
            with clear_errors(self.path):
                shutil.rmtree(folder.with_suffix(".damaged"), ignore_errors=True)
                folder.rename(folder.with_suffix(".damaged"))

    def _numbers(self) -> list[int]:
        if not self.checkpoints.is_dir():
            return []
        return sorted(int(folder.name) for folder in self.checkpoints.iterdir() if folder.name.isdigit())

    def _drop_unfinished(self) -> None:
        for folder in self.checkpoints.glob(".*.part"):
            shutil.rmtree(folder)

    def write_verification(self, values: dict[str, Any]) -> None:
        """Keep what a verification found, for reports."""
        with clear_errors(self.path):
            write_json(self.path / "verification.json", values)

    def verification(self) -> dict[str, Any] | None:
        """Return what the last verification found, if there was one and its file is whole."""
        try:
            found = json.loads((self.path / "verification.json").read_text())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and found.keys() >= _VERIFICATION else None

    def append_metrics(self, values: dict[str, Any]) -> None:
        """Append one line to metrics.jsonl."""
        with clear_errors(self.path), self.metrics.open("a") as file:
            file.write(json.dumps(values) + "\n")

    def read_metrics(self) -> list[dict[str, Any]]:
        """Return all lines of metrics.jsonl; a last line that was cut off by a crash is left out."""
        lines = self.metrics.read_text().splitlines() if self.metrics.exists() else []
        values = []
        for line in lines:
            with contextlib.suppress(ValueError):
                values.append(json.loads(line))
        return [value for value in values if isinstance(value, dict)]

    def rewind_metrics(self, game_frames: int) -> None:
        """Drop the lines of batches after a checkpoint: a resumed search will write them again."""
        kept = [line for line in self.read_metrics() if line["game_frames"] <= game_frames]
        with clear_errors(self.path), written_whole(self.metrics) as aside:
            aside.write_text("".join(json.dumps(line) + "\n" for line in kept))


@contextlib.contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn what the file system says into one clear line."""
    try:
        yield
    except OSError as error:
        raise RunDirectoryError(
            f"expected to write to {path}, got {error.strerror or error}: free space, change permissions or "
            "choose another --run-dir; what was saved before is whole, and --resume goes on from there"
        ) from error
