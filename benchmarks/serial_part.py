"""What of an exploration is serial: all that is not done by a kernel without the interpreter's lock.

A search with a large archive is simulated: its explorations are those of a real search, whose results are
given other entries, drawn at random from the large archive. So each of them touches entries all over the
memory. That is harder than a real search, in which explorations from neighbouring cells touch the same
entries. Before each update, explorations run, which leave the caches as they do in any search.
"""

from __future__ import annotations

import tempfile
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Archive, PackedResults, ScoreLength
from goexplore.cells import CellKey
from goexplore.envs import Location
from goexplore.exploration import NativeExecutor, Search, TaskBatch
from goexplore.problems import Problem
from goexplore.runs import SearchDirectory

WARM_UP = 4000
"""Explorations of the real search before anything is measured."""

_COLD_EXPLORATIONS = 60
"""Explorations for nothing before the serial part, so that the caches hold neither its code nor its data."""

_HEAD, _VISIT = 32, 24  # bytes, as in goexplore/archive/_packed.py


@dataclass(frozen=True, kw_only=True)
class SerialPart:
    """What was measured with one size of the archive."""

    problem: str
    cells: int
    batch_size: int
    explorations: int
    serial_microseconds: float
    """Of one exploration: processor time of all threads outside the kernels."""
    kernel_microseconds: float
    """Of one exploration, on one core."""
    game_frames: float
    """Of one exploration."""

    @property
    def cores(self) -> float:
        """How many cores the serial part can feed: with so many, it takes as long as they do."""
        return self.kernel_microseconds / self.serial_microseconds


class ReplayingExecutor(NativeExecutor):
    """Lets a real search explore, and gives what it finds to a search with another archive."""

    def __init__(self, problem: Problem, *, workers: int, seed: int = 0) -> None:
        make = problem.env.make_kernel(problem.cells, problem.exploration)
        assert make is not None
        super().__init__(make, workers=workers)
        cell_env = problem.make_cell_env()
        self.real = Search(
            cell_env=cell_env,
            selection=problem.make_selection(cell_env),
            executor=(recorder := _Recorder(make, workers=workers)),
            archive=Archive(reset_seen=problem.selection.reset_seen),
            batch_size=problem.exploration.batch_for(workers),
            seed=seed,
        )
        self.recorder = recorder
        self.replaying_seconds = 0.0
        self._random = np.random.default_rng(seed)

    def run_batch(self, batch: TaskBatch, on_progress: Callable[[int], None]) -> PackedResults:
        """Return what a batch of the real search found, as if it had been explored from other entries."""
        began = time.thread_time()
        batches = self.real.status.batches
        self.real.run(lambda status: status.batches > batches)
        assert self.recorder.results is not None
        replayed = self._elsewhere(self.recorder.results, batch)
        cold = TaskBatch(self.real.archive.chosen([0] * _COLD_EXPLORATIONS), seed=0, batch=batches)
        super().run_batch(cold, lambda played: None)
        self.replaying_seconds += time.thread_time() - began
        return replayed

    def _elsewhere(self, results: PackedResults, batch: TaskBatch) -> PackedResults:
        """Give visits other entries, at random, and new cells other digests."""
        records = np.frombuffer(results.records, np.uint8).copy()
        words, entries = records.view(np.uint64), records.view(np.int32)
        digests: dict[int, tuple[int, int]] = {}
        numbers, size = batch.chosen.numbers, len(batch.chosen.archive)
        for task, offset in enumerate(results.offsets.tolist()):
            count = int(entries[offset // 4 + 5])
            at = offset + _HEAD + _VISIT * np.arange(count)
            known = entries[at // 4 + 4] >= 0
            drawn = self._random.integers(size, size=count)
            drawn[0] = numbers[task]
            entries[at[known] // 4 + 4] = drawn[known]
            for visit in at[~known].tolist():
                low = int(words[visit // 8])
                if low not in digests:
                    first, second = self._random.integers(2**63, size=2).tolist()
                    digests[low] = first, second
                words[visit // 8 : visit // 8 + 2] = digests[low]
        return PackedResults(records.tobytes(), results.offsets, stop_reasons=results.stop_reasons)

    def close(self) -> None:
        """Stop the threads of both."""
        self.recorder.close()
        super().close()


class _Recorder(NativeExecutor):
    """Keeps the last batch's results, and counts what the main thread does to get them."""

    results: PackedResults | None = None
    main_seconds = 0.0

    def run_batch(self, batch: TaskBatch, on_progress: Callable[[int], None]) -> PackedResults:
        """Run a batch."""
        began = time.thread_time()
        self.results = super().run_batch(batch, on_progress)
        self.main_seconds += time.thread_time() - began
        return self.results


def make_cells(problem: Problem, count: int, real: CellKey) -> list[CellKey]:
    """Return different cells of the kind that a problem has: positions in rooms with keys, or noise."""
    random = np.random.default_rng(0)
    if problem.cells.kind != "montezuma":
        return [random.bytes(len(real)) for _ in range(count)]
    # x, y, 24 rooms and 16 sets of keys: 77,000 cells for each level, as in a long search.
    sets = [bytes(sorted(keys)) for size in range(5) for keys in product((1, 7, 8, 14), repeat=size)]
    sets = list(dict.fromkeys(sets))[:16]
    levels = -(-count // (24 * 20 * 10 * len(sets)))
    cells = []
    for level, room, x, y, keys in product(range(levels), range(24), range(20), range(10), sets):
        cells.append(bytes((level >> 8, level & 255, room, x, y)) + keys)
        if len(cells) == count:
            break
    return [cells[at] for at in random.permutation(count).tolist()]


def fill(archive: Archive, cells: list[CellKey], snapshot: bytes) -> None:
    """Fill an archive with entries for cells, all with trajectories that are easily beaten."""
    count = len(cells)
    archive.insert(
        cells[0], snapshot, ScoreLength(0.0, 10**6), archive.segments.parent(0), Location(0, 1), found_at=0
    )
    handles = array("i", map(archive._bytes.put, cells[1:]))
    index, columns, random = archive.score_index, archive._columns, np.random.default_rng(1)
    index.reserve(count)
    index._digests.frombytes(random.integers(2**63, size=2 * (count - 1)).astype(np.uint64).tobytes())
    index._scores.frombytes(np.zeros(count - 1).tobytes())
    index._lengths.frombytes(np.full(count - 1, 10**6, np.int32).tobytes())
    index._slots = array("i", [-1]) * (len(index._slots) // 2)
    index._grow()
    for name, column in columns.items():
        column.frombytes(bytes(column.itemsize * (count - 1)))
        if name == "cell":
            columns[name] = array("i", [column[0]]) + handles
    # Each has a snapshot of its own, of which an eighth is noise; there is one segment for two entries.
    noise, size = random.bytes(32 * count), len(snapshot) - 32
    snapshots = (snapshot[:size] + noise[at : at + 32] for at in range(0, 32 * count, 32))
    columns["snapshot"] = array("i", map(archive._bytes.put, snapshots))
    start = archive.segments.parent(0)
    segments = [archive.segments.add(start, random.bytes(40)) for _ in range(count // 2 + 1)]
    numbers: NDArray[np.int32] = np.array(segments, np.int32)[np.arange(count) // 2]
    columns["segment"] = array("i", numbers.tobytes())
    for name in ("times_seen", "times_chosen", "times_chosen_since_new"):
        archive.set_counter(name, random.integers(1, 100, size=count).astype(np.int32))
    for segment in numbers.tolist():
        archive.segments.hold(segment)


class SerialBenchmark:
    """A search with an archive of a given size, of which the serial part is measured."""

    def __init__(self, problem: Problem, *, cells: int, workers: int) -> None:
        self._problem, self._cells = problem, cells
        self._executor = ReplayingExecutor(problem, workers=workers)
        real = self._executor.real
        real.run(lambda status: real.tally.explorations >= WARM_UP)
        start = real.archive[0]
        archive = Archive(reset_seen=problem.selection.reset_seen)
        fill(archive, make_cells(problem, cells, start.cell), start.snapshot)
        cell_env = problem.make_cell_env()
        self.search = Search(
            cell_env=cell_env,
            selection=problem.make_selection(cell_env),
            executor=self._executor,
            archive=archive,
            batch_size=real.batch_size,
        )

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The training frames of explorations of the last batch."""
        assert self._executor.recorder.results is not None
        return np.array([found.training_frames for found in self._executor.recorder.results])

    def measure(self, explorations: int, batch_size: int | None = None) -> SerialPart:
        """Explore for a while, with batches of the problem's size or another one."""
        search, executor = self.search, self._executor
        recorder = executor.recorder
        search.batch_size = executor.real.batch_size = batch_size or self._problem.exploration.batch_for(None)
        first = search.status.batches
        search.run(lambda status: status.batches >= first + 3)  # the first batches find more than the others
        frames, done = search.status.game_frames, search.tally.explorations
        before = recorder.main_seconds, executor.replaying_seconds, recorder.kernel_seconds
        began = time.thread_time()
        search.run(lambda status: search.tally.explorations - done >= explorations)
        main = time.thread_time() - began
        done = search.tally.explorations - done
        serial = main - (executor.replaying_seconds - before[1]) + (recorder.main_seconds - before[0])
        return SerialPart(
            problem=self._problem.name,
            cells=self._cells,
            batch_size=search.batch_size,
            explorations=done,
            serial_microseconds=1e6 * serial / done,
            kernel_microseconds=1e6 * (recorder.kernel_seconds - before[2]) / done,
            game_frames=(search.status.game_frames - frames) / done,
        )

    def checkpoint_seconds(self) -> tuple[float, float]:
        """Write two checkpoints; return the wall time and the processor time of the faster one."""
        cells, times = self._problem.make_cell_env().cells, []
        with (
            tempfile.TemporaryDirectory() as folder,
            SearchDirectory.create(Path(folder) / "run", self._problem) as run,
        ):
            for _ in range(2):
                began = time.perf_counter(), time.process_time()
                run.write_checkpoint(self.search.archive, self.search.status, cells)
                times.append((time.perf_counter() - began[0], time.process_time() - began[1]))
        return min(times)

    def close(self) -> None:
        """Stop the threads."""
        self._executor.close()
