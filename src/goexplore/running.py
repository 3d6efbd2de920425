"""A search with a run directory: limits, metrics, checkpoints, interrupts."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Protocol

import psutil

from goexplore.archive import Archive
from goexplore.build import build_executor, build_selection, build_world
from goexplore.cells import CellRepresentation
from goexplore.config import SearchConfig
from goexplore.directories import clear_errors
from goexplore.engines import EngineWish, choose_engine
from goexplore.envs import why_interpreted
from goexplore.errors import ConfigError
from goexplore.event_file import EventFile
from goexplore.exploration import ProcessExecutor, Search, Status
from goexplore.interrupts import on_interrupt
from goexplore.runs import RunDirectory

_METRICS_SECONDS = 5.0
_METRICS_GROWTH = 1.05
"""So much further, a search is worth a line of metrics however fast it was: the beginning is steep."""
_PACE_SECONDS = 30.0
_TICK_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When to stop: as soon as one of these is reached, at the end of a batch. None means no such limit."""

    game_frames: int | None = None
    """Game frames of the whole run, earlier sessions included."""
    minutes: float | None = None
    """Minutes of this session."""
    level: int | None = None
    """A level has been reached (the first one is level 0)."""
    score: float | None = None
    """A score has been reached."""

    def __post_init__(self) -> None:
        for name, value in (
            ("game-frames", self.game_frames),
            ("minutes", self.minutes),
            ("until-level", self.level),
        ):
            if value is not None:
                _require_positive(name, value)

    def reached(self, status: Status, session_seconds: float) -> bool:
        """Whether it is time to stop."""
        return (
            (self.game_frames is not None and status.game_frames >= self.game_frames)
            or (self.minutes is not None and session_seconds >= self.minutes * 60)
            or (self.level is not None and status.level >= self.level)
            or (self.score is not None and status.best_score >= self.score)
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
    seconds_left: float | None
    """Until the nearest limit on time or game frames, if there is one."""


class Reporter(Protocol):
    """Shows progress and says what happens."""

    def progress(self, progress: Progress) -> None:
        """Hear how far the search has come: at least after every batch."""
        ...

    def say(self, line: str) -> None:
        """Tell the user something."""
        ...


class Silence:
    """Reports nothing."""

    def progress(self, progress: Progress) -> None:
        """Show nothing."""

    def say(self, line: str) -> None:
        """Say nothing."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a session ended."""

    search: Search
    run: RunDirectory
    interrupted: bool


def explore(
    config: SearchConfig,
    *,
    run_dir: Path | str,
    limits: Limits,
    reporter: Reporter | None = None,
    workers: int | None = None,
    engine: EngineWish = "auto",
    resume: bool = False,
    checkpoint_minutes: float = 5.0,
    metrics_of_every_batch: bool = False,
) -> Outcome:
    """Search until a limit or an interrupt, and leave a run directory that can be resumed.

    `workers` None explores in this process. `engine` is settled when a run begins: snapshots are the engine's
    own, so a resumed run goes on with the one that it has. Metrics get a line now and then, or one for every
    batch. SIGINT and SIGTERM drop the unfinished batch, write a checkpoint and return; a second one raises
    KeyboardInterrupt at once.
    """
    reporter = reporter or Silence()
    _require_positive("checkpoint-minutes", checkpoint_minutes)
    if resume:
        run = RunDirectory.open(Path(run_dir))
        run.require(config, engine)
        engine = run.engine()
    choice = choose_engine(config.env.name, engine)
    world = build_world(config, choice.engine)
    world.reset()  # finds settings that do not fit the game before anything is written
    with contextlib.ExitStack() as stack:
        executor = stack.enter_context(contextlib.closing(build_executor(config, workers, choice.engine)))
        if not resume:
            run = RunDirectory.create(Path(run_dir), config, choice.engine)
        stack.enter_context(run.locked())
        reporter.say(f"engine: {f'{engine}, as the run has it' if resume else choice.reason}")
        if resume and not run.has_this_engine():
            reporter.say("warning: another version of the native engine began this run; verify what it finds")
        interpreted = why_interpreted(config.env.name) if choice.engine == "native" else None
        if interpreted is not None:
            reporter.say(f"warning: the ROM is interpreted, which takes about twice the time: {interpreted}")
        checkpoint = run.read_checkpoint()
        if checkpoint:
            for warning in checkpoint.warnings:
                reporter.say(f"warning: {warning}")
            run.set_aside(checkpoint.damaged)
        search = Search(
            world=world,
            selection=build_selection(config),
            executor=executor,
            archive=checkpoint.archive if checkpoint else Archive(reset_seen=config.selection.reset_seen),
            status=checkpoint.status if checkpoint else None,
            batch_size=config.exploration.batch_size,
            seed=config.seed,
        )
        run.rewind_metrics(search.status.game_frames)
        session = _Session(
            search,
            run,
            limits,
            reporter,
            checkpoint_minutes=checkpoint_minutes,
            metrics_of_every_batch=metrics_of_every_batch,
        )
        stack.enter_context(contextlib.closing(session))
        session.explore(world.cells)
        return Outcome(search=search, run=run, interrupted=session.interrupted)


class _Interrupted(Exception):
    """The user wants to stop, and the archive is whole."""


class _Session:
    """One stretch of a search: from start or resume to a limit or an interrupt."""

    def __init__(
        self,
        search: Search,
        run: RunDirectory,
        limits: Limits,
        reporter: Reporter,
        *,
        checkpoint_minutes: float,
        metrics_of_every_batch: bool,
    ) -> None:
        self.interrupted = False
        self._search, self._run, self._limits, self._reporter = search, run, limits, reporter
        self._crashed_tasks = self._told_of_stops = 0
        with clear_errors(run.path):
            self._events = EventFile(run.path / "tensorboard")
        self._checkpoint_seconds = checkpoint_minutes * 60
        self._began = self._recorded = self._saved = self._shown = monotonic()
        self._metrics_of_every_batch = metrics_of_every_batch
        self._recorded_game_frames = max((line["game_frames"] for line in run.read_metrics()[-1:]), default=0)
        self._saved_batches = -1 if search.status.batches == 0 else search.status.batches
        self._pace: deque[tuple[float, int]] = deque([(self._began, search.status.game_frames)], maxlen=256)

    def explore(self, cells: CellRepresentation) -> None:
        """Run the search; end with a checkpoint, whatever ended it."""
        with on_interrupt(self._interrupt):
            # An interrupt drops the unfinished batch; a resumed search runs it again.
            with contextlib.suppress(_Interrupted):
                self._reporter.progress(self._progress())
                self._search.run(
                    self._time_to_stop, lambda search, update: self._after_batch(cells), tick=self._tick
                )
            if self.interrupted:
                self._reporter.say("interrupted: writing a checkpoint (once more to stop without it)")
            self._save(cells)
            self._tell_of_stops(often=1)
            if self._search.status.game_frames > self._recorded_game_frames:
                self._record()

    def close(self) -> None:
        """Close what is open."""
        with clear_errors(self._run.path):
            self._events.close()

    def _time_to_stop(self, status: Status) -> bool:
        return self.interrupted or self._limits.reached(status, monotonic() - self._began)

    def _tick(self, search: Search) -> None:
        if monotonic() - self._shown >= _TICK_SECONDS:
            self._show()

    def _show(self) -> None:
        self._shown = monotonic()
        self._pace.append((self._shown, self._game_frames()))
        self._reporter.progress(self._progress())

    def _game_frames(self) -> int:
        return self._search.status.game_frames + self._search.unfinished_game_frames

    def _after_batch(self, cells: CellRepresentation) -> None:
        now = monotonic()
        self._show()
        self._tell_of_crashes()
        self._tell_of_stops(often=2)
        grown = self._search.status.game_frames >= _METRICS_GROWTH * self._recorded_game_frames
        if grown or self._metrics_of_every_batch or now - self._recorded >= _METRICS_SECONDS:
            self._record()
        if now - self._saved >= self._checkpoint_seconds:
            self._save(cells)

    def _tell_of_crashes(self) -> None:
        executor = self._search.executor
        if isinstance(executor, ProcessExecutor) and executor.crashed_tasks > self._crashed_tasks:
            self._crashed_tasks = executor.crashed_tasks
            self._reporter.say(
                f"warning: {self._crashed_tasks} explorations crashed every worker that ran them and were "
                "given up: they count as having found nothing"
            )

    def _tell_of_stops(self, *, often: float) -> None:
        """Tell of explorations that the engine stopped, if there are so many times as many as told of."""
        stops = self._search.stops
        if stops > often * self._told_of_stops:
            self._told_of_stops = stops
            self._reporter.say(
                f"warning: {stops} {'exploration' if stops == 1 else 'explorations'} ended where the native "
                f"engine could not go on, the last at {self._search.last_stop}; ale-py might have gone on: "
                "it plays a new run with --engine ale"
            )

    def _progress(self) -> Progress:
        status, now = self._search.status, monotonic()
        while len(self._pace) > 2 and now - self._pace[0][0] > _PACE_SECONDS:
            self._pace.popleft()
        then, frames = self._pace[0]
        rate = (self._game_frames() - frames) / max(now - then, 1e-9)
        left = []
        if self._limits.minutes is not None:
            left.append(self._limits.minutes * 60 - (now - self._began))
        if self._limits.game_frames is not None and rate > 0:
            left.append((self._limits.game_frames - self._game_frames()) / rate)
        return Progress(
            status=status,
            unfinished_game_frames=self._search.unfinished_game_frames,
            session_seconds=now - self._began,
            game_frames_per_second=rate,
            memory_bytes=self._memory(),
            seconds_left=max(min(left), 0.0) if left else None,
        )

    def _memory(self) -> int:
        ids = [os.getpid()]
        if isinstance(self._search.executor, ProcessExecutor):
            ids += self._search.executor.process_ids
        total = 0
        for process_id in ids:
            with contextlib.suppress(psutil.Error):
                total += psutil.Process(process_id).memory_info().rss
        return total

    def _record(self) -> None:
        status, progress = self._search.status, self._progress()
        values = {
            "game_frames": status.game_frames,
            "game_frames_with_replay": status.game_frames_with_replay,
            "wall_seconds": round(status.seconds, 3),
            "cells": status.cells,
            "rooms": status.rooms,
            "level": status.level,
            "max_score": status.best_score,
            "game_frames_per_second": round(progress.game_frames_per_second, 1),
            "memory_bytes": progress.memory_bytes,
        }
        self._run.append_metrics({"batches": status.batches, **values})
        with clear_errors(self._run.path):
            self._events.scalars(status.game_frames, {f"explore/{name}": values[name] for name in values})
        self._recorded, self._recorded_game_frames = monotonic(), status.game_frames

    def _save(self, cells: CellRepresentation) -> None:
        if self._search.status.batches != self._saved_batches:
            self._run.write_checkpoint(self._search.archive, self._search.status, cells)
            self._saved_batches = self._search.status.batches
        self._saved = monotonic()

    def _interrupt(self) -> None:
        self.interrupted = True
        if self._search.exploring:
            raise _Interrupted


def _require_positive(name: str, value: float) -> None:
    if not 0 < value < float("inf"):
        raise ConfigError(f"expected --{name} to be more than 0, got {value}: change or omit it")
