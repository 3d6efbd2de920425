"""Does a search stay below its memory limit with a large archive, and what does that cost?

Two processes have the same artificial archive, one of them with a limit. They explore in turns, the same
batches, so that their speeds can be compared and their checkpoints must be equal. Then both write a
checkpoint, and a third process resumes the run with the limit. Cells are noise, snapshots are real, and each
exploration begins anywhere in the archive, so that nearly every one needs pages that are not in memory.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import multiprocessing.connection
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from goexplore.archive import Archive, MemoryLimit, parse_size, size_text
from goexplore.archive._score_index import cell_digests
from goexplore.exploration import NativeExecutor, Search
from goexplore.files import file_sha256
from goexplore.problems import Problem, find_problem
from goexplore.runs import Limits, SearchDirectory, _search_session, run_search
from goexplore.runs._search_session import Progress

PIECE = 50_000
"""Entries that are made at once."""
SEGMENT, OFFSET = 60, 30
"""Actions of a segment, and after how many others branch from it; each has two entries."""


def peak() -> int:
    """Return the highest resident memory since `forget_peak`, in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def forget_peak() -> None:
    """Begin to look for the peak of the resident memory again."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def fill(archive: Archive, cells: int, real: Archive) -> None:
    """Add artificial entries until there are so many; the first one is the real initial state."""
    random = np.random.default_rng(0)
    snapshots = [entry.snapshot for entry in real]
    size = len(real.cell(0))
    begins = np.zeros(1, np.int64)  # of each segment, in actions from the initial state
    while len(archive) < cells:
        entries = min(PIECE, cells - len(archive)) // 2 * 2 or 2
        segments = entries // 2
        parents = random.integers(len(begins), size=segments).astype(np.int32)
        offsets = np.where(parents > 0, OFFSET, 0).astype(np.uint16)
        first = len(begins)
        archive.segments.extend(
            parents,
            offsets,
            np.arange(segments + 1) * SEGMENT,
            random.integers(18, size=segments * SEGMENT, dtype=np.uint8).tobytes(),
        )
        begins = np.concatenate((begins, begins[parents] + offsets))
        segment = np.repeat(np.arange(first, first + segments, dtype=np.int32), 2)
        offset = np.tile(np.array([OFFSET, SEGMENT], np.uint16), segments)
        counters = random.integers(1, 100, size=(3, entries)).astype(np.int32)
        keys = np.arange(entries + 1) * size, random.bytes(entries * size)
        chosen = [snapshots[at] for at in random.integers(len(snapshots), size=entries).tolist()]
        archive.extend(
            cell_digests(*keys),
            {
                "score": np.zeros(entries),
                "length": (begins[segment] + offset).astype(np.int32),
                "segment": segment,
                "offset": offset,
                "level": np.zeros(entries, np.int16),
                "room": np.ones(entries, np.int16),
                "times_seen": counters[0],
                "times_chosen": counters[1],
                "times_chosen_since_new": counters[2],
                "found_at_game_frame": np.full(entries, len(archive), np.int64),
                "end": np.zeros(entries, np.uint8),
            },
            {"cell": keys, "snapshot": (np.cumsum([0, *map(len, chosen)]), b"".join(chosen))},
        )
        archive.relieve()


class Explorer:
    """One of the two: a search with a large archive."""

    def __init__(self, problem: Problem, folder: Path, cells: int, workers: int, limit: int | None) -> None:
        self._problem, self._folder = problem, folder
        executor = problem.make_executor(workers)
        assert isinstance(executor, NativeExecutor), "this benchmark needs the native engine"
        cell_env = problem.make_cell_env()
        self._cells = cell_env.cells
        real = Search(
            cell_env=cell_env,
            selection=problem.make_selection(cell_env),
            executor=executor,
            batch_size=100,
        )
        real.run(lambda status: status.cells >= 200)
        resident = psutil.Process().memory_info
        self.limit = None
        if limit is not None:
            self.limit = MemoryLimit(limit, folder=folder, resident=lambda: int(resident().rss))
        self.before = int(resident().rss)
        forget_peak()
        archive = Archive(reset_seen=problem.selection.reset_seen, memory_limit=self.limit)
        archive.add_root(cell_env.reset(), cell_env.snapshot(), cell_env.location())
        fill(archive, cells, real.archive)
        self.search = Search(
            cell_env=cell_env,
            selection=problem.make_selection(cell_env),
            executor=executor,
            archive=archive,
            batch_size=problem.exploration.batch_for(workers),
        )
        self.filled = peak()
        forget_peak()

    def explore(self) -> tuple[float, float]:
        """Explore a batch; return the wall time and the processor time."""
        end = self.search.status.batches + 1
        began = time.perf_counter(), time.process_time()
        self.search.run(
            lambda status: status.batches >= end,
            lambda search, update: search.archive.require_memory(),
            tick=lambda search: search.archive.relieve(while_read=search.exploring),
        )
        return time.perf_counter() - began[0], time.process_time() - began[1]

    def figures(self) -> dict[str, Any]:
        """Return what was measured of the memory while it explored."""
        archive, highest = self.search.archive, peak()
        for store in (archive._bytes, archive.segments.strings):
            if store.spilled:
                store.spill(self._folder)  # all pages leave the memory
        return {
            "before": self.before,
            "filled": self.filled,
            "peak": highest,
            "resident": psutil.Process().memory_info().rss,
            "spilled": archive.spilled,
            "spill_seconds": self.limit.seconds if self.limit else 0.0,
            "page_reads": self.limit.page_reads if self.limit else 0,
            "cells": len(archive),
            "game_frames": self.search.status.game_frames,
        }

    def save(self, run_dir: Path) -> dict[str, Any]:
        """Write a checkpoint."""
        forget_peak()
        began = time.perf_counter(), time.process_time()
        with SearchDirectory.create(run_dir, self._problem) as run:
            folder = run.write_checkpoint(self.search.archive, self.search.status, self._cells)
        return {
            "wall": time.perf_counter() - began[0],
            "processor": time.process_time() - began[1],
            "peak": peak(),
            "sums": {file.name: file_sha256(file) for file in sorted(folder.glob("*.parquet"))},
            "bytes": sum(file.stat().st_size for file in folder.iterdir()),
        }


def work(pipe: multiprocessing.connection.Connection[Any, Any], *given: Any) -> None:
    """Do what is asked for, in a process of its own."""
    explorer = Explorer(*given)
    pipe.send(None)
    while (asked := pipe.recv()) is not None:
        name, *arguments = asked
        pipe.send(getattr(explorer, name)(*arguments))


class Remote:
    """A process, and what it answers."""

    def __init__(self, target: Callable[..., None], *given: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=target, args=(theirs, *given))
        self._process.start()
        theirs.close()
        self._pipe.recv()

    def ask(self, name: str, *arguments: Any) -> Any:
        """Let it do something, and wait for the answer."""
        self._pipe.send((name, *arguments))
        return self._pipe.recv()

    def close(self) -> None:
        """Let it end."""
        self._pipe.send(None)
        self._process.join()


class _Quiet:
    """Takes note of the first sign of life."""

    explored_after: float | None = None

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def progress(self, progress: Progress) -> None:
        """The first call comes when the archive has been read."""
        if self.explored_after is None:
            self.explored_after = time.perf_counter() - self._began

    def log(self, line: str) -> None:
        """Show warnings."""
        if line.startswith("warning"):
            print(line, flush=True)


class Resumed:
    """A search that goes on, as `goexplore explore --resume` lets it."""

    def __init__(self, problem: Problem, run_dir: Path, limit: int, workers: int, game_frames: int) -> None:
        forget_peak()
        reporter = _Quiet()
        began = time.process_time()
        # No trajectory of an artificial archive leads to its cell, which a resumed search would refuse.
        _search_session._require_replay = lambda *_: None
        run_search(
            problem,
            run_dir=run_dir,
            limits=Limits(game_frames=game_frames),
            workers=workers,
            resume=True,
            reporter=reporter,
            memory_limit=limit,
        )
        self._figures = {
            "wall": reporter.explored_after,
            "processor": time.process_time() - began,
            "peak": peak(),
        }

    def figures(self) -> dict[str, Any]:
        """Return what was measured."""
        return self._figures


def resume(pipe: multiprocessing.connection.Connection[Any, Any], *given: Any) -> None:
    """Resume a run, in a process of its own."""
    resumed = Resumed(*given)
    pipe.send(None)
    while pipe.recv() is not None:
        pipe.send(resumed.figures())


def _per_cell(figures: dict[str, Any]) -> float:
    return float((figures["resident"] - figures["before"]) / figures["cells"])


def measure(
    name: str, *, cells: int, limit: int, workers: int, turns: int, explorations: int, folder: Path
) -> dict[str, Any]:
    """Measure everything with one size of the archive."""
    problem, _ = find_problem(name).with_engine("native")
    exploration = dataclasses.replace(problem.exploration, batch_size=explorations)
    problem = dataclasses.replace(problem, exploration=exploration)
    limited = Remote(work, problem, folder, cells, workers, limit)
    free = Remote(work, problem, folder, cells, workers, None)
    print(f"{name}, {cells:,} cells, limit {size_text(limit)}", flush=True)
    for each in (limited, free):
        each.ask("explore")  # not measured: the first one reads every page for the first time
    walls, processors = [], []
    for _ in range(turns):
        others = [free.ask("explore")]
        mine = limited.ask("explore")
        limited.ask("explore")
        others.append(free.ask("explore"))
        walls.append(statistics.mean(other[0] for other in others) / mine[0])
        processors.append(statistics.mean(other[1] for other in others) / mine[1])
    wall, processor = statistics.median(walls), statistics.median(processors)
    one, other = limited.ask("figures"), free.ask("figures")
    print(
        f"exploring: {wall:.3f} of the speed without a limit ({processor:.3f} by processor time), peak "
        f"{size_text(one['peak'])} ({one['peak'] / limit:.1%} of the limit; without one "
        f"{size_text(other['peak'])}), {size_text(one['spilled'])} on the disk, {one['page_reads']:,} waits "
        f"for it, {one['spill_seconds']:.1f} s of moving and dropping",
        flush=True,
    )
    print(
        f"while it was filled: peak {size_text(one['filled'])}; a cell takes {_per_cell(other):,.0f} bytes "
        f"of memory, of which {_per_cell(one):,.0f} stay there with a limit",
        flush=True,
    )
    saved, reference = limited.ask("save", folder / "limited"), free.ask("save", folder / "free")
    same = saved["sums"] == reference["sums"]
    print(
        f"checkpoint: {saved['wall']:.1f} s, {saved['processor']:.1f} s of processor time (without a limit "
        f"{reference['wall']:.1f} s and {reference['processor']:.1f} s), {size_text(saved['bytes'])}, peak "
        f"{size_text(saved['peak'])} ({saved['peak'] / limit:.1%} of the limit), "
        f"{'the same bytes' if same else 'DIFFERENT BYTES'}",
        flush=True,
    )
    limited.close()
    free.close()
    again = Remote(resume, problem, folder / "limited", limit, workers, one["game_frames"] + 1)
    resumed = again.ask("figures")
    again.close()
    print(
        f"resume: reads it in {resumed['wall']:.1f} s, then explores a batch and saves: peak "
        f"{size_text(resumed['peak'])} ({resumed['peak'] / limit:.1%} of the limit)",
        flush=True,
    )
    return {
        "cells": cells,
        "limit": limit,
        "speed": round(wall, 3),
        "speed_by_processor_time": round(processor, 3),
        "peak_exploring": one["peak"],
        "peak_checkpoint": saved["peak"],
        "peak_resume": resumed["peak"],
        "spilled": one["spilled"],
        "page_reads": one["page_reads"],
        "checkpoint_seconds": round(saved["wall"], 1),
        "checkpoint_processor_seconds": round(saved["processor"], 1),
        "resume_seconds": round(resumed["wall"], 1),
        "same_bytes": same,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problem", default="pitfall-pixels-fine")
    parser.add_argument("--cells", type=int, default=10_000_000)
    parser.add_argument("--memory-limit", default="2G")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--explorations", type=int, default=1000, help="of a turn, which is a batch")
    parser.add_argument("--folder", type=Path, help="on the disk that is used; by default a temporary one")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=chosen.folder))
    try:
        figures = measure(
            chosen.problem,
            cells=chosen.cells,
            limit=parse_size(chosen.memory_limit),
            workers=chosen.workers,
            turns=chosen.turns,
            explorations=chosen.explorations,
            folder=folder,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(figures))
    assert figures["same_bytes"]


if __name__ == "__main__":
    main()
