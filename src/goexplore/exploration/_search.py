"""Phase 1, explore until solved (paper section 2.1).

- archive: one entry per cell found so far, at first the initial state alone, or the one to start from
- select: choose a batch of promising cells (2.1.2, `goexplore.selection`)
- return: put the simulator back into the state of each cell (2.1.3, `CellEnvironment.restore`)
- explore: act at random for k training frames (2.1.4, `Kernel.run`)
- update: add cells that are new, replace trajectories that are worse (2.1.5, `Archive.update`)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeAlias

from goexplore.archive import Actions, Archive, Chosen, ExplorationResult, Update, action_bytes
from goexplore.cells import CellEnvironment
from goexplore.errors import (
    EnvironmentContractError,
    MemoryLimitError,
    RunDirectoryError,
    require_at_least,
    require_seed,
)
from goexplore.exploration._batch import TaskBatch
from goexplore.exploration._executor import Executor
from goexplore.exploration._native_executor import NativeExecutor
from goexplore.exploration._revision import CellReviser
from goexplore.exploration._start import go_to_start
from goexplore.exploration._tally import Tally, total_of
from goexplore.random import SplitMix64, stream_state
from goexplore.selection import Selection

_REFRESH_SIZE = 10_000
"""Entries that the selection takes in at once after a resume."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """How far a search has come."""

    batches: int = 0
    game_frames: int = 0
    """Game frames played while exploring."""
    game_frames_with_replay: int = 0
    """Game frames if cells were returned to by replay instead of restore: hypothetical (appendix A.8)."""
    game_frames_replayed: int = 0
    """Game frames really replayed in order to return to cells, where the environment cannot be put back."""
    seconds: float = 0.0
    """Wall time spent searching, earlier sessions of a resumed run included."""
    cells: int = 0
    """Entries of the archive, end entries included, event entries not."""
    ends: int = 0
    """End entries: cells in which an episode ended."""
    events: Mapping[str, int] = field(default_factory=dict)
    """Event entries of each event that was found: the number of cells in which it happened."""
    rooms: int = 0
    """Locations found, on all levels together; 0 where the environment has no map."""
    level: int = -1
    """The highest level reached; -1 where the environment has no map."""
    best_score: float = 0.0
    best_length: int = 0
    """Training frames of the best trajectory."""
    revisions: int = 0
    """Revisions of the cells, where they are dynamic."""
    has_result: bool = False
    """Whether the best trajectory is a result: it has won something, or ended an episode with costs."""
    given_up: int = 0
    """Explorations that crashed or hung in every worker that ran them, with no action to blame."""


StopRule: TypeAlias = Callable[[Status], bool]
Callback: TypeAlias = "Callable[[Search, Update], None]"


class Search:
    """The loop of Phase 1, with every part given from outside.

    One seed gives one archive, whatever the executor: exploration i of batch n draws from the stream of
    (seed, n, i + 1), selection from (seed, n, 0), and results are applied in the order of the tasks.
    """

    def __init__(
        self,
        *,
        cell_env: CellEnvironment,
        selection: Selection,
        executor: Executor,
        archive: Archive | None = None,
        status: Status | None = None,
        reviser: CellReviser | None = None,
        batch_size: int = 100,
        seed: int = 0,
        start: Actions = b"",
    ) -> None:
        """`cell_env` gives the initial state; the executor's kernels have environments of their own.

        A new search begins with the state that the actions `start` lead to, by default the initial state.
        Give the `archive` and `status` of an earlier search to go on with it. A `reviser` revises dynamic
        cells on the way; it has the same `cell_env`.
        """
        require_at_least("batch_size", batch_size, 1)
        require_seed(seed)
        if archive is None:
            archive = Archive(action_bytes=action_bytes(cell_env.action_count))
        self.archive = archive
        self.selection = selection
        self.executor = executor
        self.reviser = reviser
        self.exploring = False
        """Whether explorations are running: the only time when an exception leaves the archive whole."""
        self.failed_while_exploring = False
        """Whether explorations failed, or there was no room for what they found.

        The archive is as it was after the last batch.
        """
        self.stops = 0
        """Explorations that ended because the engine could not go on."""
        self.last_stop: str | None = None
        """What the last one of them ended at."""
        self.tally = Tally()
        """How the explorations of this session went."""
        self.unfinished_game_frames = 0
        """Game frames played in the batch that is being explored; they count when it is done."""
        self._clock = monotonic()
        self._frame_skip = cell_env.frame_skip
        self.batch_size = batch_size
        self._seed = seed
        if len(self.archive) == 0:
            cell, score = go_to_start(cell_env, start)
            self.archive.add_root(
                cell,
                cell_env.snapshot(),
                cell_env.location(),
                cell_env.objective(),
                actions=start,
                score=score,
            )
        self._begin()
        self.status = self._complete(status or Status())

    def _begin(self) -> None:
        """Let the others take in an archive that they have seen nothing of."""
        self._ends = self.archive.ends
        for start in range(0, len(self.archive), _REFRESH_SIZE):
            added = range(start, min(start + _REFRESH_SIZE, len(self.archive)))
            self.selection.refresh(self.archive, Update(added=added, touched=set(added)))
        self.executor.start(self.archive.score_index)

    def run(
        self, until: StopRule, *callbacks: Callback, tick: Callable[[Search], None] = lambda search: None
    ) -> Status:
        """Explore, batch after batch, until the rule says stop.

        Callbacks are called after every batch; `tick` is called before a batch and after every exploration,
        or a few times per second on the native engine, for signs of life.

        An interrupt drops the unfinished batch: the archive changes by whole batches only.
        """
        self._clock = monotonic()
        while not until(self.status):
            if self.reviser is not None and self.reviser.is_due(self.status.game_frames):
                self._revise(self.reviser)
                continue
            chosen = self._select()
            results = self._return_and_explore(chosen, tick)
            update = self._update(chosen, results)
            for callback in callbacks:
                callback(self, update)
        return self.status

    def _revise(self, reviser: CellReviser) -> None:
        """Look for better cells, and go on with an archive of them if there are any.

        It depends on the archive, the frames that were kept and how many batches there were, so a search that
        is resumed before it does the same again.
        """
        random = SplitMix64(stream_state(self._seed, self.status.batches, 0, len(reviser.revisions)))
        archive = reviser.revise(self.archive, self.status.game_frames, random)
        if archive is not self.archive:
            self.archive, self.selection = archive, reviser.make_selection()
            reviser.restart(self.executor)
            self._begin()
        self.status = self._complete(self.status)

    def _select(self) -> Chosen:
        """Choose a batch of cells, with replacement (section 2.1.2)."""
        random = SplitMix64(stream_state(self._seed, self.status.batches, 0))
        chosen = self.archive.chosen(self.selection.choose(self.batch_size, random))
        if not chosen.are_explorable:
            raise EnvironmentContractError(
                f"expected {type(self.selection).__name__} to choose entries that can be explored from, got "
                "one of an end or an event: leave out entries for which `archive.is_explorable` is false"
            )
        return chosen

    def _return_and_explore(
        self, chosen: Chosen, tick: Callable[[Search], None]
    ) -> Sequence[ExplorationResult]:
        """Restore the simulator to each cell and explore from there (sections 2.1.3 and 2.1.4)."""

        def count(training_frames: int) -> None:
            self.unfinished_game_frames = training_frames * self._frame_skip
            tick(self)

        def add(found: ExplorationResult) -> None:
            count(self.unfinished_game_frames // self._frame_skip + found.training_frames)

        batch = TaskBatch(chosen, seed=self._seed, batch=self.status.batches)
        self.unfinished_game_frames = 0
        self.exploring = True
        try:
            tick(self)  # an interrupt that came while cells were chosen need not wait for the batch
            if isinstance(self.executor, NativeExecutor):
                return self.executor.run_batch(batch, count)
            return self.executor.run(batch, add)
        except Exception:
            self.failed_while_exploring = True
            raise
        finally:
            self.exploring = False

    def _update(self, chosen: Chosen, results: Sequence[ExplorationResult]) -> Update:
        """Add new cells and better trajectories to the archive (section 2.1.5), then update the others."""
        known, total = len(self.archive), total_of(results, self.archive.segments.action_bytes)
        self.tally.add(total)
        explored = total.training_frames * self._frame_skip
        returned = chosen.training_frames * self._frame_skip
        game_frames = self.status.game_frames + explored
        try:
            update = self.archive.update(chosen, results, game_frame=game_frames)
        except (MemoryLimitError, RunDirectoryError):  # there is no room for them
            self.failed_while_exploring = True
            raise
        self._ends += sum(map(self._is_end, update.added))
        if self.reviser is not None:
            self.reviser.add_frames(total.frames)
        if total.stops:
            self.stops, self.last_stop = self.stops + total.stops, total.last_stop
        self.selection.refresh(self.archive, update)
        self.executor.sync(self.archive.score_index.since(known, update.improved))
        clock, self._clock = self._clock, monotonic()
        self.unfinished_game_frames = 0
        self.status = self._complete(
            Status(
                batches=self.status.batches + 1,
                game_frames=game_frames,
                game_frames_with_replay=self.status.game_frames_with_replay + returned + explored,
                game_frames_replayed=self.status.game_frames_replayed + total.replayed * self._frame_skip,
                seconds=self.status.seconds + self._clock - clock,
                given_up=self.status.given_up + total.given_up,
            )
        )
        return update

    def _is_end(self, entry: int) -> bool:
        return self.archive.has_ended(entry) and not self.archive.is_event(entry)

    def _complete(self, counted: Status) -> Status:
        """Complete the counters with what the archive shows."""
        best = self.archive.score_index.score_length(self.archive.best)
        return Status(
            batches=counted.batches,
            game_frames=counted.game_frames,
            game_frames_with_replay=counted.game_frames_with_replay,
            game_frames_replayed=counted.game_frames_replayed,
            seconds=counted.seconds,
            cells=self.archive.cells,
            ends=self._ends,
            events={event: len(entries) for event, entries in sorted(self.archive.events.items())},
            rooms=len(self.archive.locations),
            level=max((location.level for location in self.archive.locations), default=-1),
            best_score=best.score,
            best_length=best.length,
            revisions=len(self.reviser.revisions) if self.reviser else 0,
            has_result=self.archive.best_is_a_result,
            given_up=counted.given_up,
        )
