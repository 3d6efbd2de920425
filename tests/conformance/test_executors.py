"""Every executor, with every kernel, finds what Python's kernel finds when it runs alone."""

from functools import cache

import pyarrow.parquet as pq
import pytest

from goexplore.archive import Branch, Entry, ScoreIndex, ScoreLength, write_archive
from goexplore.exploration import Search, SerialExecutor, Task
from goexplore.random import stream_state
from tests.conformance.lists import EXECUTORS, KERNELS, python_kernel

BATCHES, BATCH_SIZE, TASKS = 3, 12, 20


@cache
def alone(problem):
    """Return the reference: what one Python kernel finds in this process."""
    return run_search(problem, SerialExecutor(python_kernel(problem)))


def run_search(problem, executor):
    cell_env = problem.make_cell_env()
    search = Search(
        cell_env=cell_env,
        selection=problem.make_selection(cell_env),
        executor=executor,
        batch_size=BATCH_SIZE,
        seed=7,
    )
    search.run(lambda status: status.batches >= BATCHES)
    cell_env.close()
    return search


def saved(search, folder, *, with_snapshots):
    folder.mkdir()
    archive, segments = map(pq.read_table, write_archive(search.archive, folder, lambda cells: {}))
    return archive if with_snapshots else archive.drop_columns(["snapshot"]), segments


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("problem", "make_kernel", "reference"), KERNELS)
def test_the_archive_is_the_same(problem, make_kernel, reference, executor, tmp_path):
    running = EXECUTORS[executor](make_kernel(problem))
    try:
        search = run_search(problem, running)
    finally:
        running.close()
    same_engine = problem.env.engine == reference.env.engine
    found = saved(search, tmp_path / "found", with_snapshots=same_engine)
    assert found == saved(alone(reference), tmp_path / "reference", with_snapshots=same_engine)
    assert search.status.cells > 5


def tasks_from_the_start(problem):
    cell_env = problem.make_cell_env()
    start = Entry(0, cell_env.reset(), ScoreLength(0.0, 0), Branch(0, 0), cell_env.snapshot())
    cell_env.close()
    index = ScoreIndex()
    index.add(start.cell, start.score_length)
    return index, [Task(order, start, stream_state(5, order)) for order in range(1, TASKS + 1)]


def without_candidates(result):
    """Return what does not depend on which tasks the same kernel ran before."""
    return result._replace(candidates=())


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("problem", "make_kernel", "reference"), KERNELS)
def test_each_task_brings_the_same_back(problem, make_kernel, reference, executor):
    index, tasks = tasks_from_the_start(problem)
    serial = SerialExecutor(python_kernel(problem))
    serial.start(index)
    expected = serial.run(tasks, lambda result: None)
    serial.close()
    running = EXECUTORS[executor](make_kernel(problem))
    told = []
    try:
        running.start(index)
        results = running.run(tasks, told.append)
        again = running.run(tasks, lambda result: None)
    finally:
        running.close()
    assert list(map(without_candidates, results)) == list(map(without_candidates, expected))
    assert list(map(without_candidates, again)) == list(map(without_candidates, expected))
    assert sorted(map(repr, told)) == sorted(map(repr, results))
    assert running.workers >= 1
    # The first visit to each new cell is a candidate of some task, whoever ran it.
    cells = {each.cell for result in expected for each in result.candidates}
    assert {each.cell for result in results for each in result.candidates} == cells
