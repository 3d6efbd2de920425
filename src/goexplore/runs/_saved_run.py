"""A search as its run directory has it: what demonstrations, reports and pictures are taken from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from goexplore.archive import Archive
from goexplore.errors import ConfigError
from goexplore.exploration import Revision, Status
from goexplore.problems import Problem
from goexplore.runs._search_directory import SearchDirectory


@dataclass(frozen=True, kw_only=True)
class SavedRun:
    """A run as it was at its newest checkpoint."""

    path: Path
    problem: Problem
    """On the engine whose snapshots the archive has."""
    seed: int
    archive: Archive
    status: Status
    directory: SearchDirectory
    checkpoint: Path
    """The folder of that checkpoint."""
    revisions: tuple[Revision, ...] = ()
    """Of dynamic cells; the problem's cells are those of the last one."""
    warnings: tuple[str, ...] = ()
    """About checkpoints that could not be read."""

    @classmethod
    def open(cls, path: Path | str, problem: Problem | None = None) -> SavedRun:
        """Read a run directory. The `problem` has to be given where it comes from an import path."""
        directory = SearchDirectory.open(Path(path))
        checkpoint = directory.last_checkpoint()
        return cls(
            path=Path(path).resolve(),
            problem=directory.problem(problem).after_revisions(checkpoint.revisions),
            seed=directory.seed(),
            archive=checkpoint.archive,
            status=checkpoint.status,
            directory=directory,
            checkpoint=checkpoint.folder,
            revisions=checkpoint.revisions,
            warnings=checkpoint.warnings,
        )

    @property
    def name(self) -> str:
        """The run directory's own name."""
        return self.path.name

    def find(self, cell: str) -> int:
        """Return the entry that a user means: by its number, or by its cell in hexadecimal after 0x."""
        if cell.isascii() and cell.isdecimal() and int(cell) < len(self.archive):
            return int(cell)
        for entry in self.archive:
            if f"0x{entry.cell.hex()}" == cell.lower():
                return entry.number
        raise ConfigError(
            f"expected `cell` to be an entry's number below {len(self.archive)}, or a cell in hexadecimal "
            f"such as 0x{self.archive.cell(0).hex()[:8]}, got {cell!r}: see `goexplore cells`"
        )

    def ranked(self) -> list[int]:
        """Return all entries but the initial state and those of events, the ones to show first.

        The highest score, then the shortest, results first; where there is no result, what was found last,
        the longest first.
        """
        score = self.archive.values("score").astype(np.float64)
        length = self.archive.values("length").astype(np.int64)
        if self.archive.best_is_a_result:
            is_result = np.fromiter(map(self.archive.is_result, range(len(score))), np.bool_, len(score))
            order = np.lexsort((length, -score, ~is_result))
        else:
            order = np.lexsort((-length, -self.archive.values("found_at_game_frame").astype(np.int64)))
        return [entry for entry in order.tolist() if length[entry] > 0 and not self.archive.is_event(entry)]

    def ways_to(self, event: str) -> list[int]:
        """Return the entries of an event, the shortest way first, then the one that was found first."""
        entries = self.archive.events.get(event, [])
        return sorted(entries, key=lambda entry: (self.archive[entry].length, entry))
