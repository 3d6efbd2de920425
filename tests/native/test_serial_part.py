"""What happens between batches: in C and in Python the same, under all presets of Atari games."""

import contextlib
import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from goexplore import _native as native
from goexplore.archive import Archive, PackedResults, ScoreIndex
from goexplore.errors import SnapshotError
from goexplore.exploration import NativeExecutor, TaskBatch
from goexplore.games import AtariGame
from goexplore.problems import DynamicConfig, family, find_problem, problem_names
from goexplore.runs import Limits, run_search

pytestmark = pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled")

PRESETS = [
    problem
    for problem in (find_problem(name) for name in problem_names() if family(name) is None)
    if isinstance(problem.env, AtariGame)
]
DYNAMIC = find_problem("ALE/Venture-v5")
DYNAMIC = replace(
    DYNAMIC, cells=DynamicConfig(target_share=0.5, first_revision=10_000, sample_frames=100, draws=10)
)


def explored(problem, folder, **settings):
    limits = Limits(game_frames=50_000)
    outcome = run_search(problem, run_dir=folder, limits=limits, workers=2, engine="native", **settings)
    checkpoint = outcome.run.last_checkpoint()
    assert isinstance(outcome.search.executor, NativeExecutor)
    return checkpoint, [
        (checkpoint.folder / file).read_bytes() for file in ("archive.parquet", "segments.parquet")
    ]


@pytest.mark.parametrize("problem", [*PRESETS, DYNAMIC], ids=lambda problem: problem.name)
def test_checkpoints_are_equal_to_the_byte_with_and_without_c(problem, tmp_path, monkeypatch):
    problem = replace(problem, exploration=replace(problem.exploration, batch_size=20))
    checkpoint, files = explored(problem, tmp_path / "c")
    monkeypatch.setattr(native, "archive", None)
    assert explored(problem, tmp_path / "python")[1] == files
    assert len(checkpoint.archive) > 10
    assert bool(checkpoint.revisions) == (problem.cells.kind == "dynamic")


# ---- threads of C -----------------------------------------------------------------------------------------

MONTEZUMA, _ = find_problem("montezuma").with_engine("native")


def begun():
    """Return an executor, and an archive of the initial state."""
    cell_env = MONTEZUMA.make_cell_env()
    archive = Archive()
    archive.add_root(cell_env.reset(), cell_env.snapshot(), cell_env.location())
    return MONTEZUMA.make_executor(2), archive


def batch_of(archive, count):
    return TaskBatch(archive.chosen([0] * count), seed=1, batch=2)


@pytest.mark.parametrize("count", [1, 2, 40])
def test_a_batch_finds_what_its_tasks_find(count):
    executor, archive = begun()
    batch, played = batch_of(archive, count), []
    with contextlib.closing(executor):
        results = executor.run_batch(batch, played.append)
        executor.start(archive.score_index)
        one_by_one = executor.run(batch, lambda found: None)
        assert executor.kernel_seconds > 0
    assert isinstance(results, PackedResults)
    without = [found._replace(candidates=()) for found in one_by_one]
    assert [found._replace(candidates=()) for found in results] == without
    assert results[0].candidates == one_by_one[0].candidates
    assert played[-1] == sum(found.training_frames for found in results)


def test_an_interrupt_drops_a_batch_promptly():
    executor, archive = begun()
    began, ended = time.monotonic(), []

    def interrupt():
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with contextlib.closing(executor):
        with pytest.raises(KeyboardInterrupt):
            executor.run_batch(batch_of(archive, 1_000_000), ended.append)
        assert time.monotonic() - began < 5
        assert ended[-1] > 0
        archive._columns["level"].append(0)  # nothing holds the columns any more
        del archive._columns["level"][-1]
        assert len(executor.run_batch(batch_of(archive, 3), ended.append)) == 3


def test_nothing_can_be_added_while_a_batch_runs():
    executor, archive = begun()

    def add(played):
        archive.score_index.add(b"another", archive[0].score_length)

    with contextlib.closing(executor), pytest.raises(BufferError):
        executor.run_batch(batch_of(archive, 5), add)


def test_a_snapshot_of_something_else_is_refused():
    executor, archive = begun()
    archive._columns["snapshot"][0] = archive._columns["cell"][0]
    with contextlib.closing(executor):
        for _ in range(2):
            with pytest.raises(SnapshotError, match="expected snapshots of the native engine"):
                executor.run_batch(batch_of(archive, 5), lambda played: None)


def test_entries_and_columns_that_do_not_fit_are_refused():
    executor, archive = begun()
    pool, entries = executor._pool, np.zeros(3, np.int32)
    index, empty = archive.score_index.memory(), ScoreIndex().memory()
    with contextlib.closing(executor):
        for wrong in (
            (np.array([1], np.int32), 0, archive.memory(), index, None),
            (np.array([-1], np.int32), 0, archive.memory(), index, None),
            (entries, 0, archive.memory(), empty, None),
            (entries, 0, archive.memory(), index, b"too few"),
            (entries[:0], 0, archive.memory(), index, None),
        ):
            with pytest.raises(ValueError, match="expected entries of an archive"):
                pool.begin(*wrong)
        with pytest.raises(RuntimeError, match="expected a batch that is done"):
            pool.finish()
        pool.begin(entries, 0, archive.memory(), index, None)
        with pytest.raises(RuntimeError, match="expected threads that wait for work"):
            pool.begin(entries, 0, archive.memory(), index, None)
        pool.stop()
    with pytest.raises(RuntimeError, match="expected threads that wait for work"):
        pool.begin(entries, 0, archive.memory(), index, None)


def test_an_explorer_is_used_by_one_thread_at_a_time():
    kernel = MONTEZUMA.env.make_kernel(MONTEZUMA.cells, MONTEZUMA.exploration)()
    for explorers in ((), (kernel.explorer, kernel.explorer), (1,)):
        with pytest.raises(ValueError, match="expected one explorer or more, each of them once"):
            native.atari.Pool(explorers)
    executor, archive = begun()
    pool = native.atari.Pool((kernel.explorer,))
    pool.begin(np.zeros(10_000, np.int32), 0, archive.memory(), archive.score_index.memory(), None)
    with pytest.raises(RuntimeError, match="expected an explorer that no other thread explores with"):
        kernel.run(batch_of(archive, 1)[0], archive.score_index)
    pool.close()
    assert kernel.run(batch_of(archive, 1)[0], archive.score_index).actions
    executor.close()


def test_a_forked_process_can_drop_the_threads_that_it_does_not_have():
    executor, _ = begun()
    child = os.fork()
    if child == 0:
        executor.close()
        os._exit(7)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    executor.close()
