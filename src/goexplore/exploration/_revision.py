"""Dynamic cells on the way: when they are revised, by which frames, and what becomes of the archive.

The follow-up ("First return, then explore", Nature 2021, Methods) finds the parameters of downscaled cells
from frames of the search itself, again and again as it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from goexplore.archive import Archive, Entry, recell
from goexplore.cells import CellEnvironment, CellKey, Downscaling, DynamicCells, choose_downscaling
from goexplore.exploration._executor import Executor, KernelFactory
from goexplore.random import SplitMix64
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
    """Game frames at which cells are revised for the first time; then at twice as many, and so on."""
    frames: int
    """Frames that are kept: the newest different ones."""
    target_share: float
    """How many cells these should fall into, as a share of their number."""
    draws: int
    """Parameters that are tried."""


class CellReviser:
    """Revises dynamic cells whenever a search has played twice as many game frames as the last time."""

    def __init__(
        self,
        *,
        cell_env: CellEnvironment,
        cells: DynamicCells,
        plan: RevisionPlan,
        make_selection: Callable[[], Selection],
        make_kernels: Callable[[Downscaling], KernelFactory],
    ) -> None:
        """`cells` are those of `cell_env`, the search's own. `make_kernels` says what explores."""
        self.revisions: tuple[Revision, ...] = ()
        """All so far."""
        self.make_selection = make_selection
        self._cell_env, self._cells, self._plan = cell_env, cells, plan
        self._make_kernels = make_kernels
        self._frames: dict[bytes, None] = {}

    @property
    def frames(self) -> list[bytes]:
        """The frames that the next revision goes by, packed, the oldest first."""
        return list(self._frames)

    def resume(self, revisions: Sequence[Revision], frames: Iterable[bytes], executor: Executor) -> None:
        """Go on after these revisions, with these frames."""
        self.revisions, self._frames = tuple(revisions), dict.fromkeys(frames)
        if revisions:
            self._cells.revise(revisions[-1].downscaling)
            self.restart(executor)

    def restart(self, executor: Executor) -> None:
        """Let an executor explore with the cells of now."""
        make_kernel = self._make_kernels(self._cells.downscaling)
        executor.restart(make_kernel, self._cell_env.initial_digest())

    def add_frames(self, frames: Iterable[bytes]) -> None:
        """Keep frames that are not there yet, and drop the oldest ones where there are too many."""
        self._frames.update(dict.fromkeys(frame for frame in frames if frame))
        for frame in list(islice(self._frames, max(0, len(self._frames) - self._plan.frames))):
            del self._frames[frame]

    def is_due(self, game_frames: int) -> bool:
        """Return whether it is time for the next revision: a matter of the search's game frames alone."""
        return game_frames >= self._plan.first << len(self.revisions)

    def revise(self, archive: Archive, game_frames: int, random: SplitMix64) -> Archive:
        """Choose parameters by the frames of the search; return the archive with those cells.

        That is the same archive where the parameters stay, else another one: the old one is used up.
        """
        before, was = len(archive), self._cells.downscaling
        chosen = was
        if self._frames:
            chosen = choose_downscaling(
                map(DynamicCells.kept_frame, self._frames),
                start=was,
                target_share=self._plan.target_share,
                draws=self._plan.draws,
                random=random,
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
        return archive

    def _cell_of(self, entry: Entry) -> CellKey:
        return self._cells.cell_of(self._cell_env.tracked(entry.snapshot))
