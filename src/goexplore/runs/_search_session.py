"""A search with a run directory: limits, metrics, checkpoints, interrupts."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from random import Random
from time import monotonic

from goexplore.archive import (
    Actions,
    Archive,
    MemoryLimit,
    ScoreLength,
    action_bytes,
    parse_size,
    plan_replays,
)
from goexplore.cells import CellEnvironment, CellRepresentation
from goexplore.engines import EngineWish
from goexplore.errors import (
    CheckpointError,
    ConfigError,
    DemonstrationError,
    EnvironmentContractError,
    GoExploreError,
    require_between,
    require_positive,
    require_seed,
)
from goexplore.exploration import (
    ExecutorWish,
    ProcessExecutor,
    RayExecutor,
    Search,
    StartMethod,
    Status,
    go_to_start,
)
from goexplore.files import file_sha256
from goexplore.problems import Problem
from goexplore.replay import check_replay
from goexplore.runs._advice import Advice
from goexplore.runs._interrupts import on_interrupt
from goexplore.runs._memory import ResidentMemory
from goexplore.runs._metrics import SearchMetrics
from goexplore.runs._search_directory import SearchDirectory
from goexplore.runs._session import LoggingReporter, Pace, Reporter, Session
from goexplore.runs._start import Start

_METRICS_GROWTH = 1.05
"""A search that is this much further gets a line of metrics however fast it was: it finds most at first."""
_PACE_SECONDS = 30.0
_TICK_SECONDS = 0.5
_REPLAYED_ENTRIES = 20
_REPLAYED_TRAINING_FRAMES = 20_000
"""What a resumed search replays at most, beside its best entry: well below a second on the native engine."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When to stop: as soon as one of these is reached, at the end of a batch. None means no such limit."""

    game_frames: int | None = None
    """Game frames of the whole run, earlier sessions included."""
    minutes: float | None = None
    """Minutes of this session."""
    until_level: int | None = None
    """A level has been reached (the first one is level 0)."""
    until_score: float | None = None
    """A score has been reached, by the end of an episode or by what was won before it."""

    def __post_init__(self) -> None:
        for name in ("game_frames", "minutes", "until_level"):
            value = getattr(self, name)
            if value is not None:
                require_positive(name, value)
        if self.until_score is not None and isnan(self.until_score):
            raise ConfigError("expected `until_score` to be a number, got nan")

    def reached(self, status: Status, session_seconds: float) -> bool:
        """Whether it is time to stop."""
        return (
            (self.game_frames is not None and status.game_frames >= self.game_frames)
            or (self.minutes is not None and session_seconds >= self.minutes * 60)
            or (self.until_level is not None and status.level >= self.until_level)
            or (self.until_score is not None and status.has_result and status.best_score >= self.until_score)
        )


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What a user wants to know while a search runs."""

    status: Status
    """As of the end of the last batch."""
    unfinished_game_frames: int
    """Game frames played in the batch that is being explored."""
    session_seconds: float
    game_frames_per_second: float
    """Over the last half minute or so."""
    memory_bytes: int
    """Resident memory of all processes of the search."""
    spilled_bytes: int
    """Of the archive, on the disk because of a memory limit."""
    seconds_left: float | None
    """Until the nearest limit on time or game frames, if there is one."""
    batch_size: int
    """Explorations of one batch."""
    workers: int
    """How many of them run at the same time."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a session ended."""

    search: Search
    run: SearchDirectory
    interrupted: bool


def run_search(
    problem: Problem,
    *,
    run_dir: Path | str,
    limits: Limits,
    seed: int = 0,
    reporter: Reporter[Progress] | None = None,
    workers: int | None = None,
    executor: ExecutorWish = "auto",
    ray_address: str | None = None,
    engine: EngineWish = "auto",
    resume: bool = False,
    checkpoint_minutes: float = 5.0,
    metrics_of_every_batch: bool = False,
    start_method: StartMethod | None = None,
    timeout_seconds: float = 300.0,
    memory_limit: int | str | None = None,
    start: Start | None = None,
) -> Outcome:
    """Search until a limit or an interrupt, and leave a run directory that can be resumed.

    `workers` None explores in this process; with `executor` ray, on as many CPUs as each node of the cluster
    at `ray_address` has. `engine` is settled when a run begins: snapshots are the engine's
    own, so a resumed run goes on with the one that it has. Metrics get a line now and then, or one for every
    batch. SIGINT and SIGTERM drop the unfinished batch, write a checkpoint and return; a second one raises
    KeyboardInterrupt at once. An exploration in a worker process that takes longer than `timeout_seconds`
    counts as a crash of that process. When the resident memory of all processes on this machine nears
    `memory_limit`, bytes or a text such as 2G, a part of the archive moves to a file in `run_dir`.
    The search begins at the end of `start`, or in the initial state; a resumed run has its own.
    """
    reporter = reporter or LoggingReporter()
    require_positive("checkpoint_minutes", checkpoint_minutes)
    require_between("timeout_seconds", timeout_seconds, 0.001, 1_000_000)
    require_seed(seed)
    seed = int(seed)
    if memory_limit is not None:
        memory_limit = parse_size(memory_limit)
    if resume:
        run = SearchDirectory.open(Path(run_dir))
        problem = run.with_batch_size(problem)
        run.require(problem, seed, engine, start)
        engine, start = run.engine(), run.start()
    problem.require_functions()
    problem, reason = problem.after_revisions(()).with_engine(engine)
    cell_env = problem.make_cell_env()
    initial_digest = cell_env.initial_digest()  # finds settings that do not fit before anything is written
    if start is not None:
        _require_score(start, cell_env)
        reporter.log(f"start: {start}")
    first_actions = b"" if start is None else start.actions
    selection = problem.make_selection(cell_env)
    reviser = problem.make_reviser(cell_env)
    with contextlib.ExitStack() as stack:
        stack.callback(cell_env.close)
        running = problem.make_executor(
            workers,
            executor=executor,
            ray_address=ray_address,
            start_method=start_method,
            timeout_seconds=timeout_seconds,
            initial_digest=initial_digest,
            warn=reporter.log,
        )
        stack.enter_context(contextlib.closing(running))
        problem = replace(problem, exploration=problem.exploration.settled(running.workers))
        limit = None
        if memory_limit is not None:
            limit = MemoryLimit(memory_limit, folder=Path(run_dir), resident=ResidentMemory(running))
            limit.require(0)
        if resume:
            stack.enter_context(run.locked())
        else:
            run = stack.enter_context(SearchDirectory.create(Path(run_dir), problem, seed, start))
        reporter.log(f"engine: {f'{engine}, as the run has it' if resume else reason}")
        if resume and not run.has_engine_version(problem.env.engine_version):
            reporter.log("warning: another version of the engine began this run; verify what it finds")
        for warning in problem.env.warnings():
            reporter.log(f"warning: {warning}")
        checkpoint = run.read_checkpoint(limit)
        if checkpoint:
            for warning in checkpoint.warnings:
                reporter.log(f"warning: {warning}")
            run.set_aside(checkpoint.damaged)
            archive, status = checkpoint.archive, checkpoint.status
            if reviser is not None:
                reviser.resume(checkpoint.revisions, checkpoint.frames, running)
            _require_first_state(archive, cell_env, first_actions)
            if run.has_engine_version(problem.env.engine_version):
                _require_replay(archive, cell_env, checkpoint.folder)
        else:
            archive = Archive(
                reset_seen=problem.selection.reset_seen,
                action_bytes=action_bytes(cell_env.action_count),
                memory_limit=limit,
            )
            status = None
        search = Search(
            cell_env=cell_env,
            selection=selection,
            executor=running,
            archive=archive,
            status=status,
            reviser=reviser,
            batch_size=problem.exploration.batch_for(workers),
            seed=seed,
            start=first_actions,
        )
        for warning in run.rewind_metrics(search.status.game_frames):
            reporter.log(f"warning: {warning}")
        session = _SearchSession(
            search,
            run,
            limits,
            reporter,
            checkpoint_minutes=checkpoint_minutes,
            metrics_of_every_batch=metrics_of_every_batch,
        )
        stack.enter_context(contextlib.closing(session))
        session.explore(cell_env.cells)
        return Outcome(search=search, run=run, interrupted=session.interrupted)


def _require_score(start: Start, cell_env: CellEnvironment) -> None:
    """Refuse a start that wins something else in this environment than it says."""
    score = go_to_start(cell_env, start.actions).score
    if score != start.score:
        raise DemonstrationError(
            f"expected a score of {start.score:g} from `start_from`, got {score:g} on replay: it was made "
            "with another environment, or with other settings of this one"
        )


def _require_first_state(archive: Archive, cell_env: CellEnvironment, start: Actions) -> None:
    """Refuse to go on in an environment that does not begin as the run's did."""
    first = archive[0]
    cell, score = go_to_start(cell_env, start)
    what = "state that it started from" if start else "initial state"
    if cell != first.cell:
        raise EnvironmentContractError(
            f"expected the {what} in the cell {first.cell!r}, as when the run began, got {cell!r}: "
            "cells must be the same in every process (Python's `hash` is not), and those of the run"
        )
    # A better way back to where it began may have replaced the first state itself.
    unchanged = first.score_length == ScoreLength(score, len(start), cell_env.objective())
    if unchanged and cell_env.snapshot() != first.snapshot:
        raise EnvironmentContractError(
            f"expected the {what} that the run began with, got another: the environment has changed, "
            "or its `reset` has no fixed seed"
        )


def _require_replay(archive: Archive, cell_env: CellEnvironment, folder: Path) -> None:
    """Refuse an archive with entries that their trajectories do not lead to: somebody has altered it.

    The best entry is replayed, and some others, which the checkpoint's checksum decides.
    """
    random = Random(file_sha256(folder / "meta.json"))
    drawn, frames = [archive.best], 0
    for number in random.sample(range(len(archive)), min(_REPLAYED_ENTRIES, len(archive))):
        length = archive[number].length
        if number not in drawn and frames + length <= _REPLAYED_TRAINING_FRAMES:
            drawn.append(number)
            frames += length
    for replay in plan_replays(archive, drawn):
        for mismatch in check_replay(cell_env, replay):
            raise CheckpointError(
                f"expected the trajectory of entry {mismatch.number} in {folder} to replay, got another "
                f"result ({mismatch.reason}): somebody or something has changed it, or the environment; see "
                "what else differs with `goexplore verify`, or start a new run"
            )


class _Interrupted(Exception):
    """The user wants to stop, and the archive is whole."""


class _SearchSession(Session):
    """One stretch of a search."""

    def __init__(
        self,
        search: Search,
        run: SearchDirectory,
        limits: Limits,
        reporter: Reporter[Progress],
        *,
        checkpoint_minutes: float,
        metrics_of_every_batch: bool,
    ) -> None:
        super().__init__(run, phase="explore", checkpoint_minutes=checkpoint_minutes)
        self._search, self._directory, self._limits, self._reporter = search, run, limits, reporter
        self._reported_crashes = self._reported_stops = 0
        self._reported_spill = False
        self._resident = ResidentMemory(search.executor)
        self._advice = Advice(search)
        self._reported_events = set(search.archive.events)
        self._shown = self.began
        self._metrics_of_every_batch = metrics_of_every_batch
        self._recorded_game_frames = max((line.game_frames for line in run.metrics()[-1:]), default=0)
        self._saved_progress = None if search.status.batches == 0 else self._search_progress()
        self._pace = Pace(search.status.game_frames, seconds=_PACE_SECONDS)

    def explore(self, cells: CellRepresentation) -> None:
        """Run the search; end with a checkpoint, whatever ended it."""
        with on_interrupt(self._interrupt):
            try:
                self._reporter.progress(self._progress())
                self._search.run(
                    self._time_to_stop, lambda search, update: self._after_batch(cells), tick=self._tick
                )
            except _Interrupted:
                pass  # the unfinished batch is dropped; a resumed search runs it again
            except Exception:
                if self._search.failed_while_exploring:  # the archive is whole
                    self._save(cells)
                raise
            self._show()
            if self.interrupted:
                self._reporter.log("interrupted: writing a checkpoint (once more to stop without it)")
            self._save(cells)
            self._report_stops(often=1)
            if self._search.status.game_frames > self._recorded_game_frames:
                self._record()

    def _time_to_stop(self, status: Status) -> bool:
        return self.interrupted or self._limits.reached(status, self.seconds)

    def _tick(self, search: Search) -> None:
        if search.exploring:  # after a batch, `_require_memory` does more
            if self.interrupted:
                raise _Interrupted
            search.archive.relieve(while_read=True)
        if monotonic() - self._shown >= _TICK_SECONDS:
            self._show()

    def _show(self) -> None:
        self._shown = monotonic()
        self._pace.add(self._game_frames())
        self._reporter.progress(self._progress())

    def _game_frames(self) -> int:
        return self._search.status.game_frames + self._search.unfinished_game_frames

    def _after_batch(self, cells: CellRepresentation) -> None:
        self._tick(self._search)
        self._require_memory(cells)
        self._report_events()
        self._report_crashes()
        self._report_stops(often=2)
        for line in self._advice.after_batch(self._search):
            self._reporter.log(f"warning: {line}")
        grown = self._search.status.game_frames >= _METRICS_GROWTH * self._recorded_game_frames
        if grown or self._metrics_of_every_batch or self.metrics_are_due:
            self._record()
        if self.checkpoint_is_due:
            self._save(cells)

    def _require_memory(self, cells: CellRepresentation) -> None:
        """Stay below the memory limit; save what is there before the search ends because that cannot be."""
        try:
            self._search.archive.require_memory()
        except GoExploreError:
            self._save(cells)
            raise
        if self._search.archive.spilled and not self._reported_spill:
            self._reported_spill = True
            self._reporter.log(
                f"memory: the limit is near, so a part of the archive is on the disk of {self.run.path} now"
            )

    def _report_events(self) -> None:
        """Say which events were found for the first time, and how soon they can be seen."""
        archive = self._search.archive
        for event in sorted(archive.events.keys() - self._reported_events):
            self._reported_events.add(event)
            shortest = min(archive[entry].length for entry in archive.events[event])
            self._reporter.log(
                f"event {event}: first way found, {shortest:,} training frames, at "
                f"{self._search.status.game_frames:,} game frames"
            )

    def _report_crashes(self) -> None:
        executor = self._search.executor
        if (
            isinstance(executor, ProcessExecutor | RayExecutor)
            and executor.crashed_tasks > self._reported_crashes
        ):
            self._reported_crashes = executor.crashed_tasks
            self._reporter.log(
                f"warning: {self._reported_crashes} explorations crashed or hung in every worker that ran "
                "them, with no action to blame, and were given up: they count as having found nothing"
            )

    def _report_stops(self, *, often: float) -> None:
        """Report explorations that the engine stopped, once there are `often` times as many as reported."""
        stops = self._search.stops
        if stops > often * self._reported_stops:
            self._reported_stops = stops
            self._reporter.log(
                f"warning: {stops} {'exploration' if stops == 1 else 'explorations'} ended where the native "
                f"engine could not go on, the last at {self._search.last_stop}; ale-py might have gone on: "
                "it plays a new run with `engine` ale"
            )

    def _progress(self) -> Progress:
        rate = self._pace.rate(self._game_frames())
        left = []
        if self._limits.minutes is not None:
            left.append(self._limits.minutes * 60 - self.seconds)
        if self._limits.game_frames is not None and rate > 0:
            left.append((self._limits.game_frames - self._game_frames()) / rate)
        return Progress(
            status=self._search.status,
            unfinished_game_frames=self._search.unfinished_game_frames,
            session_seconds=self.seconds,
            game_frames_per_second=rate,
            memory_bytes=self._resident(),
            spilled_bytes=self._search.archive.spilled,
            seconds_left=max(min(left), 0.0) if left else None,
            batch_size=self._search.batch_size,
            workers=self._search.executor.workers,
        )

    def _record(self) -> None:
        status, progress = self._search.status, self._progress()
        limit = self._search.archive.memory_limit
        self.record(
            SearchMetrics.of(
                status,
                game_frames_per_second=progress.game_frames_per_second,
                memory_bytes=progress.memory_bytes,
                spilled_bytes=progress.spilled_bytes,
                spill_seconds=limit.seconds if limit else 0.0,
                page_reads=limit.page_reads if limit else 0,
            )
        )
        self._recorded_game_frames = status.game_frames

    def _save(self, cells: CellRepresentation) -> None:
        search, progress = self._search, self._search_progress()
        if progress != self._saved_progress:
            self._directory.write_checkpoint(search.archive, search.status, cells, search.reviser)
            self._saved_progress = progress
        self.saved()

    def _search_progress(self) -> tuple[int, int]:
        """Return what is different after a batch or a revision."""
        return self._search.status.batches, self._search.status.revisions

    def _interrupt(self) -> None:
        self.interrupted = True
        if self._search.exploring:
            raise _Interrupted
