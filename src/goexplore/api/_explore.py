"""`goexplore.explore`: Phase 1 on any problem."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium

from goexplore.api._run import Run, Trajectory, read_run, worker_count
from goexplore.api._start import find_start
from goexplore.api._temporary import TemporaryFolder
from goexplore.cells import EventRule
from goexplore.checks import require_env
from goexplore.demos import Demonstration
from goexplore.engines import EngineWish
from goexplore.exploration import ExecutorWish, ExplorationConfig, StartMethod
from goexplore.problems import CellsSpec, EnvironmentSpec, Problem, find_problem
from goexplore.runs import Limits, LoggingReporter, Progress, Reporter, run_search
from goexplore.selection import SelectionConfig


def explore(
    target: Problem | EnvironmentSpec | str | gymnasium.Env[Any, Any] | Callable[[], Any],
    *,
    cell: Callable[..., Any] | CellsSpec | str | None = None,
    selection: SelectionConfig | None = None,
    exploration: ExplorationConfig | None = None,
    objective: Callable[..., Any] | None = None,
    events: Mapping[str, EventRule] | None = None,
    run_dir: Path | str | None = None,
    game_frames: int | None = None,
    minutes: float | None = None,
    until_level: int | None = None,
    until_score: float | None = None,
    seed: int = 0,
    workers: int | None = None,
    executor: ExecutorWish = "auto",
    ray_address: str | None = None,
    engine: EngineWish = "auto",
    resume: bool = False,
    checkpoint_minutes: float = 5.0,
    reporter: Reporter[Progress] | None = None,
    start_method: StartMethod | None = None,
    timeout_seconds: float = 300.0,
    memory_limit: int | str | None = None,
    start_from: Demonstration | Trajectory | Path | str | None = None,
) -> Run:
    """Explore a problem until a limit or an interrupt, and return the run (Phase 1, paper section 2.1).

    Args:
        target: A registered name such as "montezuma-2021", an id such as "ALE/PrivateEye-v5" or
            "MiniGrid-DoorKey-8x8-v0", an import path such as "my_game:Lock", a Problem, `goexplore.Gymnasium`
            with settings, an environment's class or a function that makes one, ours or Gymnasium's, or an
            environment that `gymnasium.make` made.
        cell: What a cell is: a function of the observation, or of observation and info; settings such as
            `goexplore.Grid("x", "y", size=16)`, `goexplore.Rendering()` or their sum; a class of cell
            representations; or a text, such as "dynamic" or "grid(x, y, size=16)", as on the command line.
        selection: How cells are chosen, in place of the problem's.
        exploration: How cells are explored from, in place of the problem's.
        objective: What counts as better in place of the score: a function of (observation, info) that returns
            a number, such as the energy that is left. A higher number is better, then a shorter trajectory.
        events: What to look for: functions of (observation, info) by name, each of which says whether the
            event happens, or classes of exceptions that `step` may raise. `run.events` has what was found.
        run_dir: Where to write. Without it, a temporary folder that goes with the returned object.
        game_frames: Stop after this many game frames of the whole run.
        minutes: Stop after this many minutes of this session.
        until_level: Stop when this level is reached; the first one is level 0.
        until_score: Stop when a trajectory has this score.
        seed: Seed of all draws.
        workers: Worker processes, or threads of the native engine; None means one per core, 0 explores in
            this process. They change nothing but the speed. With `executor` "ray", workers of each node.
        executor: Where to explore: "auto" on this machine, "ray" on the nodes of a Ray cluster. It changes
            nothing but the speed.
        ray_address: The Ray cluster, such as "10.0.0.1:6379", or "auto" for one that runs on this machine.
            Without it, RAY_ADDRESS, or else a cluster of this machine alone, which ends with the search.
        engine: The emulator of an Atari game; auto means the native one where it is certified, else ale-py.
            How a Gymnasium environment returns to states: state, copies or replay; auto means the first of
            these that is proven to work.
        resume: Go on with the run in `run_dir`.
        checkpoint_minutes: Minutes between checkpoints: what a crash can cost at most.
        reporter: Shows progress; without it, only warnings are logged.
        start_method: How worker processes are started; None means fork on Linux, else spawn.
        timeout_seconds: How long one exploration in a worker process may take before the worker is replaced.
        memory_limit: Resident memory of all processes on this machine, in bytes or such as "2G". When it
            nears, a part of the archive moves to a file in `run_dir`. It changes nothing but the speed.
        start_from: Begin at the end of this demonstration instead of in the initial state: what `run.demos()`
            or `run.best` returned, a file, or a sample's name. It is replayed first. Trajectories of the run
            begin with it, so they replay from the initial state all the same.

    A new problem is tested before anything is written: see `goexplore.check_env`.

    """
    problem = find_problem(target)
    changes: dict[str, Any] = {
        "cells": cell,
        "selection": selection,
        "exploration": exploration,
        "objective": objective,
        "events": events,
    }
    problem = dataclasses.replace(
        problem, **{name: value for name, value in changes.items() if value is not None}
    )
    limits = Limits(
        game_frames=game_frames, minutes=minutes, until_level=until_level, until_score=until_score
    )
    if not resume:
        bound, _ = problem.with_engine(engine)
        reporter = reporter or LoggingReporter()
        problem, reason, notes = require_env(
            bound, timeout_seconds=timeout_seconds, start_method=start_method
        )
        if "(not by" in reason:
            reporter.log(f"return: {reason}")
        for note in notes:
            reporter.log(f"warning: {note}")
    start = None if start_from is None else find_start(start_from, problem)
    temporary = TemporaryFolder() if run_dir is None else None
    path = temporary.path / "run" if temporary else Path(str(run_dir))
    outcome = run_search(
        problem,
        run_dir=path,
        limits=limits,
        seed=seed,
        reporter=reporter,
        workers=worker_count(workers, executor),
        executor=executor,
        ray_address=ray_address,
        engine=engine,
        resume=resume,
        checkpoint_minutes=checkpoint_minutes,
        start_method=start_method,
        timeout_seconds=timeout_seconds,
        memory_limit=memory_limit,
        start=start,
    )
    return read_run(path, problem, interrupted=outcome.interrupted, temporary=temporary)
