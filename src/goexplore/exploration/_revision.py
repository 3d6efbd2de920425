"""Dynamic cells on the way: when they are revised, by which frames, and what becomes of the archive.

The follow-up ("First return, then explore", Nature 2021, Methods) finds the parameters of downscaled cells
from frames of the search itself, again and again as it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Archive, Entry, recell
from goexplore.cells import CellEnvironment, CellKey, Downscaling, DynamicCells, choose_downscaling
from goexplore.errors import EngineError
from goexplore.exploration._actions import ActionSource
from goexplore.exploration._executor import Executor, KernelFactory
from goexplore.random import SplitMix64, stream_state
from goexplore.selection import Selection


@dataclass(frozen=True, kw_only=True)
class Revision:
    """One choice of cells in the course of a search."""

    game_frames: int
    """Game frames of the search when it was made."""
    width: int
    height: int
    levels: int
    """The parameters since then."""
    cells_before: int
    """Entries of the archive."""
    cells_after: int
    """The same, with these cells."""

    @property
    def downscaling(self) -> Downscaling:
        """The parameters."""
        return Downscaling(self.width, self.height, self.levels)


@dataclass(frozen=True, kw_only=True)
class RevisionPlan:
    """When cells are revised, and how thoroughly."""

    first: int
    """Game frames at which the cells of the beginning are revised; then at twice as many, and so on."""
    explorations: int
    """Explorations whose frames are looked at."""
    training_frames: int
    """Training frames of each."""
    frame_interval: int
    """Every so many training frames one is taken."""
    target_share: float
    """How many cells the frames should fall into, as a share of their number."""
    draws: int
    """Parameters that are tried."""


@dataclass(frozen=True, kw_only=True)
class Revised:
    """What a revision brought."""

    archive: Archive
    cells_changed: bool
    training_frames: int
    """Played to see frames."""
    returned: int
    """Training frames of the trajectories to where these began."""


class CellReviser:
    """Revises dynamic cells, at the beginning and whenever a search has played twice as many game frames."""

    def __init__(
        self,
        *,
        cell_env: CellEnvironment,
        cells: DynamicCells,
        actions: ActionSource,
        plan: RevisionPlan,
        make_selection: Callable[[], Selection],
        make_kernels: Callable[[Downscaling], KernelFactory],
    ) -> None:
        """`cells` are those of `cell_env`, the search's own. `make_kernels` says what explores."""
        self.revisions: tuple[Revision, ...] = ()
        """All so far."""
        self.make_selection = make_selection
        self._cell_env, self._cells, self._actions, self._plan = cell_env, cells, actions, plan
        self._make_kernels = make_kernels

    def resume(self, revisions: Sequence[Revision], executor: Executor) -> None:
        """Go on after these revisions."""
        self.revisions = tuple(revisions)
        if revisions:
            self._cells.revise(revisions[-1].downscaling)
            self.restart(executor)

    def restart(self, executor: Executor) -> None:
        """Let an executor explore with the cells of now."""
        make_kernel = self._make_kernels(self._cells.downscaling)
        executor.restart(make_kernel, self._cell_env.initial_digest())

    def is_due(self, game_frames: int) -> bool:
        """Return whether it is time for the next revision: a matter of the search's game frames alone."""
        done = len(self.revisions)
        return done == 0 or game_frames >= self._plan.first * 2 ** (done - 1)

    def revise(self, archive: Archive, selection: Selection, game_frames: int, stream: int) -> Revised:
        """Sample frames, choose parameters by them, and return the archive with those cells.

        All draws come from streams that begin at `stream`; the result is the same in every process.
        """
        plan, before = self._plan, len(archive)
        starts = [archive[number] for number in selection.choose(plan.explorations, SplitMix64(stream))]
        frames: list[NDArray[np.uint8]] = []
        played = 0
        for order, start in enumerate(starts, start=1):
            played += self._sample(start, SplitMix64(stream_state(stream, order)), frames)
        was = self._cells.downscaling
        chosen = was
        if frames:
            chosen = choose_downscaling(
                frames,
                start=was,
                target_share=plan.target_share,
                draws=plan.draws,
                random=SplitMix64(stream_state(stream, 0)),
            )
        if chosen != was:
            self._cells.revise(chosen)
            archive = recell(archive, self._cell_of)
        self.revisions += (
            Revision(
                game_frames=game_frames,
                width=chosen.width,
                height=chosen.height,
                levels=chosen.levels,
                cells_before=before,
                cells_after=len(archive),
            ),
        )
        return Revised(
            archive=archive,
            cells_changed=chosen != was,
            training_frames=played,
            returned=sum(start.score_length.length for start in starts),
        )

    def _cell_of(self, entry: Entry) -> CellKey:
        return self._cells.cell_of(self._cell_env.tracked(entry.snapshot))

    def _sample(self, start: Entry, random: SplitMix64, frames: list[NDArray[np.uint8]]) -> int:
        """Explore from an entry as a kernel would, keep some of the frames, and return the frames played."""
        cell_env, plan, played = self._cell_env, self._plan, 0
        cell_env.restore(start.snapshot)
        for action in self._actions.actions(cell_env, random, plan.training_frames):
            played += 1
            try:
                _, cell, end = cell_env.step(action)
            except EngineError:
                break  # as in a kernel: as far as the engine can tell, the game ends here
            if cell is None:
                break
            if played % plan.frame_interval == 0:
                frames.append(DynamicCells.kept_frame(cell_env.cells.state()))
            if end:
                break
        return played
