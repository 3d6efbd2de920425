"""The run directory of a search: its archive in checkpoints."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goexplore import _native as native
from goexplore.archive import Archive, read_archive, write_archive
from goexplore.cells import CellRepresentation
from goexplore.config import SearchConfig, from_json, to_json
from goexplore.directories import Directory, clear_errors
from goexplore.engines import Engine, EngineWish, version_for
from goexplore.envs import Place
from goexplore.errors import CheckpointError, ConfigError
from goexplore.exploration import Status
from goexplore.files import write_json

_VERIFICATION = {"checkpoint", "checked", "entries", "game_frames", "mismatches"}


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


class RunDirectory(Directory):
    """One search on disk."""

    kind = "search"
    verb = "explore"

    @classmethod
    def create(cls, path: Path, config: SearchConfig, engine: Engine = "ale") -> RunDirectory:
        """Make a new run directory; refuse one that holds something already."""
        version = {"engine_version": version_for(config.env.name)} if engine == "native" else {}
        return cls._create(path, to_json(config), engine=engine, **version)

    def config(self) -> SearchConfig:
        """Return the settings of the search."""
        return from_json(self.info().get("search", {}))

    def engine(self) -> Engine:
        """Return the engine that explored: snapshots are its own."""
        return "native" if self.info().get("engine") == "native" else "ale"

    def has_this_engine(self) -> bool:
        """Return whether the engine that is installed here is the one that explored, as far as is known."""
        version = self.info().get("engine_version")
        return version is None or (
            native.atari is not None and version == version_for(self.config().env.name)
        )

    def require(self, config: SearchConfig, engine: EngineWish = "auto") -> None:
        """Refuse to go on with other settings than the run was started with."""
        if engine not in ("auto", self.engine()):
            raise ConfigError(
                f"expected --engine {self.engine()}, whose snapshots {self.path} has, got {engine}: "
                "omit it, or start a new run"
            )
        self._require(to_json(config))

    def write_checkpoint(self, archive: Archive, status: Status, cells: CellRepresentation) -> Path:
        """Write a checkpoint that is there whole or not at all; keep the last two."""
        content = {"status": dataclasses.asdict(status), "places": sorted(archive.places)}
        return self._write_checkpoint(lambda folder: write_archive(archive, folder, cells.columns), content)

    def read_checkpoint(self) -> Checkpoint | None:
        """Return the newest checkpoint that is whole, or None if none was ever written."""
        damaged: list[Path] = []
        warnings: list[str] = []
        for folder in self._folders():
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
        saved = self._saved(folder)
        try:
            status = Status(**saved.content["status"])
            places = [Place(*place) for place in saved.content["places"]]
            archive = read_archive(folder, reset_seen=self.config().selection.reset_seen, places=places)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"expected meta.json and its files, got {error!r}") from error
        return Checkpoint(folder=folder, archive=archive, status=status)

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
