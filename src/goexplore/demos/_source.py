"""A run that demonstrations and pictures are taken from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from goexplore import _native as native
from goexplore.archive import Archive
from goexplore.config import SearchConfig
from goexplore.demos._replay import shared_length
from goexplore.engines import Engine, is_distrusted
from goexplore.errors import ConfigError
from goexplore.exploration import Status
from goexplore.runs import RunDirectory


@dataclass(frozen=True, kw_only=True)
class Source:
    """A run as it was at its newest checkpoint."""

    path: Path
    config: SearchConfig
    engine: Engine
    """Whose snapshots the archive has."""
    archive: Archive
    status: Status
    warnings: tuple[str, ...] = ()
    """About checkpoints that could not be read."""

    @classmethod
    def open(cls, path: Path) -> Source:
        """Read a run directory."""
        run = RunDirectory.open(path)
        checkpoint = run.last_checkpoint()
        return cls(
            path=path.resolve(),
            config=run.config(),
            engine=run.engine(),
            archive=checkpoint.archive,
            status=checkpoint.status,
            warnings=checkpoint.warnings,
        )

    @property
    def name(self) -> str:
        """The run directory's own name."""
        return self.path.name

    @property
    def replaying_engine(self) -> Engine:
        """The engine that replays fastest: trajectories are the same on all."""
        if self.engine == "native" and (native.atari is None or is_distrusted(self.config.env.name)):
            return "ale"
        return self.engine

    def find(self, cell: str) -> int:
        """Return the entry that a user means: by its cell in hexadecimal, or by its number."""
        for entry in self.archive:
            if entry.cell.hex() == cell.lower():
                return entry.number
        if cell.isascii() and cell.isdecimal() and int(cell) < len(self.archive):
            return int(cell)
        raise ConfigError(
            f"expected an entry's number below {len(self.archive)} or a cell in hexadecimal, got {cell!r}: "
            "see `goexplore cells`"
        )

    def ranked(self) -> list[int]:
        """Return all entries but the initial state, the ones to show first.

        The highest score, then the shortest; where nothing was won, what was found last, the longest first.
        """
        score = self.archive.values("score").astype(np.float64)
        length = self.archive.values("length").astype(np.int64)
        if score.max() > 0:
            order = np.lexsort((length, -score))
        else:
            order = np.lexsort((-length, -self.archive.values("found_at_game_frame").astype(np.int64)))
        return [entry for entry in order.tolist() if length[entry] > 0]


def keep_different(trajectories: Iterable[bytes], least: float) -> Iterator[int]:
    """Yield the positions of trajectories that differ enough from all that were yielded before.

    `least` is the share of a trajectory that must come after it parted from each of the others.
    """
    taken: list[bytes] = []
    for position, actions in enumerate(trajectories):
        if all(
            actions != other and len(actions) - shared_length(actions, other) >= least * len(actions)
            for other in taken
        ):
            taken.append(actions)
            yield position
