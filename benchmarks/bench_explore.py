"""How near to the bare emulator is exploration, and does it stay there when the archive is large?

Machines are noisy, so everything is a ratio of things measured in turns, in one run, with the same number of
processes. Raw means: the same emulator settings, `act` and nothing else.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import psutil

from goexplore import _native as native
from goexplore.api import usable_cores
from goexplore.archive import START, Archive, Branch, ScoreLength
from goexplore.engines import Engine
from goexplore.envs import AtariEnv, Location
from goexplore.exploration import Executor, ProcessExecutor, Search
from goexplore.problems import Problem, find_problem
from serial_part import SerialBenchmark

_RATE = Callable[[float], float]

CHECKPOINT_SECONDS = 300.0
"""The default of `--checkpoint-minutes`."""

_WARM_UP_SECONDS: dict[Engine, float] = {"ale": 3.0, "native": 40.0}
"""The first batches find new cells at every step; and translations grow as more of the code is seen."""


class RawEmulators:
    """Processes that do nothing but `act`."""

    def __init__(self, game: str, workers: int) -> None:
        self._pipes = []
        for _ in range(workers):
            ours, theirs = multiprocessing.Pipe()
            multiprocessing.Process(target=_act_forever, args=(theirs, game), daemon=True).start()
            self._pipes.append(ours)

    def game_frames_per_second(self, seconds: float) -> float:
        """Play for a while, all at once."""
        for pipe in self._pipes:
            pipe.send(seconds)
        return float(sum(pipe.recv() for pipe in self._pipes))

    def close(self) -> None:
        """Let the processes end."""
        for pipe in self._pipes:
            pipe.send(None)


def _act_forever(pipe: multiprocessing.connection.Connection[float, float], game: str) -> None:
    ale = AtariEnv(game=game)._ale  # the same settings
    start = ale.cloneState()
    actions = ale.getMinimalActionSet()
    random = np.random.default_rng(os.getpid())
    while (seconds := pipe.recv()) is not None:
        played, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            ale.restoreState(start)
            chosen = [actions[index] for index in random.integers(len(actions), size=5)]
            for action in chosen:
                for _ in range(20):
                    ale.act(action)
            played += 100
        pipe.send(4 * played / (time.perf_counter() - began))


def explore_for(search: Search, seconds: float) -> float:
    """Explore for a while and return game frames per second."""
    began, frames = time.perf_counter(), search.status.game_frames
    search.run(lambda status: time.perf_counter() - began >= seconds)
    return (search.status.game_frames - frames) / (time.perf_counter() - began)


def problem_on(engine: Engine, name: str) -> Problem:
    """Return a problem on an engine."""
    problem, _ = find_problem(name).with_engine(engine)
    return problem


def make_search(problem: Problem, executor: Executor, archive: Archive | None = None) -> Search:
    cell_env = problem.make_cell_env()
    return Search(
        cell_env=cell_env,
        selection=problem.make_selection(cell_env),
        executor=executor,
        archive=archive,
        batch_size=problem.exploration.batch_for(executor.workers),
    )


def ratio_of_turns(one: _RATE, other: _RATE, *, turns: int, seconds: float) -> tuple[float, float, float]:
    """Return the median over turns of one rate divided by the other's, and both median rates."""
    ones, others = [], []
    for _ in range(turns):
        others.append(other(seconds))
        ones.append(one(seconds))
        others.append(other(seconds))
    ratios = [rate / statistics.mean(others[2 * turn : 2 * turn + 2]) for turn, rate in enumerate(ones)]
    return statistics.median(ratios), statistics.median(ones), statistics.median(others)


def against_raw(name: str, engine: Engine, *, workers: int, turns: int, seconds: float) -> float:
    """Return the speed of exploration relative to the raw emulator's, ale-py in as many processes."""
    problem = problem_on(engine, name)
    raw = RawEmulators(problem.env.name, workers)
    search = make_search(problem, problem.make_executor(workers))
    explore_for(search, _WARM_UP_SECONDS[engine])
    ratio, explored, bare = ratio_of_turns(
        lambda duration: explore_for(search, duration),
        raw.game_frames_per_second,
        turns=turns,
        seconds=seconds,
    )
    search.executor.close()
    raw.close()
    print(
        f"{name}, {engine}: {ratio:.3f} of raw ale-py ({explored:,.0f} of {bare:,.0f} game frames/s, "
        f"{workers} workers, {len(search.archive):,} cells)",
        flush=True,
    )
    return ratio


def threads(name: str, *, workers: int, turns: int, seconds: float) -> float:
    """Return the native engine's speed with all workers relative to one."""
    problem = problem_on("native", name)
    many = make_search(problem, problem.make_executor(workers))
    one = make_search(problem, problem.make_executor(1))
    explore_for(many, _WARM_UP_SECONDS["native"])
    one.run(lambda status: status.batches >= many.status.batches // 2)
    ratio, fast, slow = ratio_of_turns(
        lambda duration: explore_for(many, duration),
        lambda duration: explore_for(one, duration),
        turns=turns,
        seconds=seconds,
    )
    many.executor.close()
    one.executor.close()
    print(
        f"{name}, native: {workers} threads {ratio:.3f} of one ({fast:,.0f} of {slow:,.0f} game frames/s)",
        flush=True,
    )
    return ratio


def fill(archive: Archive, cells: int, real: Archive) -> None:
    """Fill an archive with entries whose snapshots are real and whose cells are made up."""
    random = np.random.default_rng(0)
    size = len(real.cell(0))
    snapshots = [entry.snapshot for entry in real]
    segment = 0
    while len(archive) < cells:
        # As in real searches, there is about one segment for two cells, and it branches from an earlier one.
        parent = Branch(int(random.integers(segment + 1)), 30) if segment else START
        segment = archive.segments.add(parent if parent.segment else START, random.bytes(60))
        for offset in (30, 60):
            archive.insert(
                random.bytes(size),
                snapshots[len(archive) % len(snapshots)],
                ScoreLength(0.0, 100 + offset),
                Branch(segment, offset),
                Location(0, 1),
                found_at=0,
            )


def resident(executors: Sequence[Executor]) -> int:
    """Return resident bytes of this process and all workers; what they share counts once."""
    workers = [
        number for each in executors if isinstance(each, ProcessExecutor) for number in each.process_ids
    ]
    return sum(psutil.Process(number).memory_full_info().pss for number in (os.getpid(), *workers))


def at_scale(engine: Engine, *, cells: int, workers: int, turns: int, seconds: float) -> tuple[float, float]:
    """Return speed with a large archive relative to a small one, and resident bytes per cell."""
    problem = problem_on(engine, "montezuma-pixels")
    # As in `goexplore explore`, workers are started first, while this process is small.
    executors = [problem.make_executor(workers) for _ in range(3)]
    seeding = make_search(problem, executors[0])
    seeding.run(lambda status: status.cells >= 250)
    before = resident(executors)
    small, large = Archive(), Archive()
    fill(small, 1000, seeding.archive)
    small_search = make_search(problem, executors[1], small)
    fill(large, cells, seeding.archive)
    large_search = make_search(problem, executors[2], large)
    explore_for(large_search, seconds)
    per_cell = (resident(executors) - before) / len(large)
    whole = resident(executors[2:]) / len(large)
    ratio, fast, slow = ratio_of_turns(
        lambda duration: explore_for(large_search, duration),
        lambda duration: explore_for(small_search, duration),
        turns=turns,
        seconds=seconds,
    )
    for executor in executors:
        executor.close()
    print(
        f"{cells:,} cells, {engine}: {ratio:.3f} of the speed with 1,000 cells "
        f"({fast:,.0f} of {slow:,.0f} game frames/s); "
        f"{per_cell:,.0f} resident bytes per cell ({whole:,.0f} with interpreters and emulators)",
        flush=True,
    )
    return ratio, per_cell


def serial(name: str, *, cells: int, workers: int, explorations: int) -> dict[str, float]:
    """Return the microseconds of an exploration that are serial, and how many cores that is enough for."""
    benchmark = SerialBenchmark(problem_on("native", name), cells=cells, workers=workers)
    part = benchmark.measure(explorations)
    print(
        f"{name}, native, {cells:,} cells: {part.serial_microseconds:.1f} µs of an exploration are serial, "
        f"and {part.kernel_microseconds:,.0f} µs are not: enough for {part.cores:.0f} cores "
        f"(batches of {part.batch_size:,})",
        flush=True,
    )
    figures = {"microseconds": round(part.serial_microseconds, 1), "cores": round(part.cores)}
    if cells >= 1_000_000:
        wall, processor = benchmark.checkpoint_seconds()
        share = wall / (CHECKPOINT_SECONDS + wall)
        print(
            f"{name}, native, {cells:,} cells: a checkpoint takes {wall:.1f} s ({processor:.1f} s of "
            f"processor time), {share:.1%} of the time with one every five minutes",
            flush=True,
        )
        figures["checkpoint_share"] = round(share, 4)
    benchmark.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=usable_cores())
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--cells", type=int, default=1_000_000)
    parser.add_argument("--engines", choices=("ale", "native"), nargs="*", default=["ale", "native"])
    parser.add_argument("--also", nargs="*", default=[], help="further problems, such as ALE/Venture-v5")
    parser.add_argument(
        "--explorations", type=int, default=5000, help="for each measurement of the serial part"
    )
    parser.add_argument("--serial-only", action="store_true", help="measure only the serial part")
    chosen = parser.parse_args()
    engines = [engine for engine in chosen.engines if engine == "ale" or native.atari is not None]
    turns = {"workers": chosen.workers, "turns": chosen.turns, "seconds": chosen.seconds}
    figures: dict[str, Any] = {}
    if "native" in engines:
        figures["serial"] = {
            f"{name}_{cells}": serial(
                name, cells=cells, workers=chosen.workers, explorations=chosen.explorations
            )
            for name in ("montezuma", "montezuma-2021")
            for cells in (1000, chosen.cells)
        }
    for engine in [] if chosen.serial_only else engines:
        figures[engine] = {
            f"{name}_of_raw": round(against_raw(name, engine, **turns), 3)
            for name in ("montezuma", "montezuma-pixels", "pitfall", *chosen.also)
        }
        ratio, per_cell = at_scale(engine, cells=chosen.cells, **turns)
        figures[engine] |= {"speed_at_scale": round(ratio, 3), "resident_bytes_per_cell": round(per_cell)}
    if "native" in figures:
        figures["native"]["threads_of_one"] = round(threads("montezuma", **turns), 3)
    print(json.dumps({"workers": chosen.workers, "cells": chosen.cells, **figures}))


if __name__ == "__main__":
    main()
