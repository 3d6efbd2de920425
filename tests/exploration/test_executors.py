"""The promise that the archive depends on config and seed alone, on a tiny field and with real kills."""

import contextlib
import os
import signal

import pytest

from goexplore.archive import write_archive
from goexplore.cells import FunctionCells
from goexplore.envs import Step
from goexplore.errors import ConfigError, WorkerError
from goexplore.exploration import ProcessExecutor, PythonKernel, RandomRepeat, Search, SerialExecutor, World
from tests.worlds import Field, make_kernel, make_selection, make_world, position

BATCHES = 12


def make_search(executor, seed=0):
    return Search(world=make_world(), selection=make_selection(), executor=executor, batch_size=30, seed=seed)


def saved(search, folder):
    folder.mkdir()
    return [file.read_bytes() for file in write_archive(search.archive, folder, lambda cells: {})]


def reference(folder):
    search = make_search(SerialExecutor(make_kernel))
    search.run(lambda status: status.batches >= BATCHES)
    return saved(search, folder)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_processes_find_what_the_serial_executor_finds(workers, tmp_path):
    search = make_search(ProcessExecutor(make_kernel, workers=workers))
    search.run(lambda status: status.batches >= BATCHES)
    search.executor.close()
    assert saved(search, tmp_path / "run") == reference(tmp_path / "reference")


def test_another_seed_finds_something_else(tmp_path):
    search = make_search(SerialExecutor(make_kernel), seed=1)
    search.run(lambda status: status.batches >= BATCHES)
    assert saved(search, tmp_path / "run") != reference(tmp_path / "reference")


def test_a_killed_worker_is_replaced_and_nothing_changes(tmp_path):
    executor = ProcessExecutor(make_kernel, workers=2)
    search = make_search(executor)

    def kill_one(search, update):
        if search.status.batches % 3 == 1:
            os.kill(executor.process_ids[search.status.batches % 2], signal.SIGKILL)

    search.run(lambda status: status.batches >= BATCHES, kill_one)
    executor.close()
    assert executor.replaced_workers == 4
    assert executor.crashed_tasks == 0
    assert saved(search, tmp_path / "run") == reference(tmp_path / "reference")


def test_a_batch_that_was_interrupted_can_be_run_again(tmp_path, monkeypatch):
    from goexplore.exploration import _processes

    executor = ProcessExecutor(make_kernel, workers=2)
    search = make_search(executor)
    real_wait = _processes.wait
    calls = interrupts = 0

    def interrupting_wait(pipes):
        nonlocal calls
        calls += 1
        if calls % 17 == 0:
            raise KeyboardInterrupt
        return real_wait(pipes)

    monkeypatch.setattr(_processes, "wait", interrupting_wait)
    while search.status.batches < BATCHES:
        with contextlib.suppress(KeyboardInterrupt):
            search.run(lambda status: status.batches >= BATCHES)
        interrupts += 1
    executor.close()
    assert interrupts > 3
    assert saved(search, tmp_path / "run") == reference(tmp_path / "reference")


class Deadly(Field):
    """Kills its process when it reaches a certain spot."""

    def step(self, action: int) -> Step:
        step = super().step(action)
        if (self.x, self.y) == (2, 2):
            os.kill(os.getpid(), signal.SIGKILL)
        return step


def make_deadly_kernel():
    return PythonKernel(World(Deadly(), FunctionCells(position)), RandomRepeat(0.5), training_frames=20)


def test_a_task_that_kills_every_worker_is_given_up_and_the_search_goes_on():
    executor = ProcessExecutor(make_deadly_kernel, workers=2)
    search = make_search(executor)
    search.run(lambda status: status.batches >= 2)
    executor.close()
    assert executor.crashed_tasks > 0
    assert search.status.cells > 5


class Broken(Field):
    def step(self, action: int) -> Step:
        raise RuntimeError("the simulator is on fire")


def make_broken_kernel():
    return PythonKernel(World(Broken(), FunctionCells(position)), RandomRepeat(0.5))


class Doomed(Field):
    def restore(self, snapshot: bytes) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def make_doomed_kernel():
    return PythonKernel(World(Doomed(), FunctionCells(position)), RandomRepeat(0.5))


def test_a_search_in_which_everything_crashes_ends_with_an_error():
    executor = ProcessExecutor(make_doomed_kernel, workers=2)
    search = Search(world=make_world(), selection=make_selection(), executor=executor, batch_size=3)
    with pytest.raises(WorkerError, match="every exploration of a batch of 3 crashed"):
        search.run(lambda status: False)
    executor.close()


def test_an_exception_in_a_worker_reaches_the_user():
    executor = ProcessExecutor(make_broken_kernel, workers=1)
    with pytest.raises(WorkerError, match="the simulator is on fire"):
        make_search(executor).run(lambda status: False)
    executor.close()


def test_no_workers_are_refused():
    with pytest.raises(ConfigError, match="at least 1 worker, got 0"):
        ProcessExecutor(make_kernel, workers=0)


def test_closing_stops_the_workers():
    executor = ProcessExecutor(make_kernel, workers=2)
    ids = executor.process_ids
    executor.close()
    for number in ids:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)
