"""An archive as people look at it: what its entries look like, and numbers to colour them by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Archive, Update
from goexplore.cells import CellEnvironment
from goexplore.envs import Location
from goexplore.errors import EngineError
from goexplore.problems import Problem
from goexplore.report._picture import picture_of
from goexplore.selection import WeightedSelection

Colouring: TypeAlias = Literal["seen", "chosen", "probability", "score", "found"]
COLOURINGS: tuple[Colouring, ...] = get_args(Colouring)

MEANING: dict[Colouring, str] = {
    "seen": "explorations that passed through",
    "chosen": "times chosen since the last improvement",
    "probability": "probability of being chosen next",
    "score": "best search score",
    "found": "million game frames until found",
}
_TOGETHER: dict[Colouring, Callable[[NDArray[np.float64]], float]] = {
    "seen": np.sum,
    "chosen": np.sum,
    "probability": np.sum,
    "score": np.max,
    "found": np.min,
}
"""What stands for several entries at one spot."""

_TRIES = 4
"""Pictures of a room to choose from."""


@dataclass(frozen=True)
class Spot:
    """Where entries are drawn together: a part of a room's picture, or all of it."""

    location: Location
    top: int = 0
    bottom: int = 1_000_000
    left: int = 0
    right: int = 1_000_000


class ArchiveView:
    """One archive, with what is needed to draw it."""

    def __init__(self, archive: Archive, problem: Problem) -> None:
        """`problem` is on the engine that explored, which can restore the archive's snapshots."""
        self.archive, self.problem = archive, problem

    @cached_property
    def cell_env(self) -> CellEnvironment:
        """An environment in which the archive's snapshots can be restored."""
        return self.problem.make_cell_env()

    def values(self, colouring: Colouring) -> NDArray[np.float64]:
        """Return a number for each entry."""
        if colouring == "probability":
            return self._probabilities
        columns = {
            "seen": "times_seen",
            "chosen": "times_chosen",
            "score": "score",
            "found": "found_at_game_frame",
        }
        values = self.archive.values(columns[colouring]).astype(np.float64)
        return values / 1e6 if colouring == "found" else values

    @cached_property
    def _probabilities(self) -> NDArray[np.float64]:
        selection = self.problem.make_selection(self.cell_env)
        if not isinstance(selection, WeightedSelection):
            return np.full(len(self.archive), 1 / len(self.archive))
        everything = Update(added=range(len(self.archive)), touched=set(range(len(self.archive))))
        selection.refresh(self.archive, everything)
        return selection.probabilities()

    @cached_property
    def locations(self) -> list[Location]:
        """The location of each entry."""
        levels, rooms = self.archive.values("level").tolist(), self.archive.values("room").tolist()
        return [Location(level, room) for level, room in zip(levels, rooms, strict=True)]

    @cached_property
    def spots(self) -> dict[Spot, list[int]]:
        """Entries by where they are drawn."""
        together: dict[Spot, list[int]] = {}
        areas = self.cell_env.cells.areas([self.archive.cell(entry) for entry in range(len(self.archive))])
        corners = [()] * len(self.archive) if areas is None else areas.tolist()
        for entry, (location, corner) in enumerate(zip(self.locations, corners, strict=True)):
            if not self.archive.is_event(entry):
                together.setdefault(Spot(location, *corner), []).append(entry)
        return together

    def spot_values(self, colouring: Colouring) -> dict[Spot, float]:
        """Return a number for each spot."""
        values, combine = self.values(colouring), _TOGETHER[colouring]
        return {spot: float(combine(values[entries])) for spot, entries in self.spots.items()}

    def photograph(self, entries: Iterable[int]) -> NDArray[np.uint8] | None:
        """Return the most colourful picture of a few of these entries, or None where there is none.

        There is none of an end or an event.
        """
        return photograph(
            self.cell_env,
            (
                (self.archive[entry].snapshot, self.locations[entry])
                for entry in entries
                if self.archive.is_explorable(entry)
            ),
        )


def photograph(
    cell_env: CellEnvironment, states: Iterable[tuple[bytes, Location]]
) -> NDArray[np.uint8] | None:
    """Return the most colourful picture of a few of these states, given by snapshot and location.

    A restored emulator has no picture until it has played on: one training frame, with the joystick let go.
    Where that leads elsewhere, there is no picture of that state.
    """
    pictures: list[NDArray[np.uint8]] = []
    for snapshot, location in states:
        cell_env.restore(snapshot)
        if cell_env.env.stale_after_restore and not _is_still_at(cell_env, location):
            continue
        pictures.append(picture_of(cell_env.env).copy())
        if len(pictures) == _TRIES:
            break
    return max(pictures, key=colour_count, default=None)


def _is_still_at(cell_env: CellEnvironment, location: Location) -> bool:
    """Play one training frame of doing nothing; return whether that leads nowhere else."""
    try:
        cell_step = cell_env.step(cell_env.env.no_op or 0)
    except EngineError:
        return False
    return cell_step.cell is not None and cell_env.location() == location


def colour_count(picture: NDArray[np.uint8]) -> int:
    """Return how many colours a picture has: many where there is much to see."""
    return len(np.unique(picture @ np.array([1, 1 << 8, 1 << 16])))
