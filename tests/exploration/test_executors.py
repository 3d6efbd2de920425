"""The archive depends on problem and seed alone: on tiny environments, and with workers that are killed."""

import contextlib
import os
import signal
import threading
import time
from functools import partial

import psutil
import pytest

from goexplore.archive import write_archive
from goexplore.cells import End, encode
from goexplore.envs import Step
from goexplore.errors import ConfigError, EnvironmentContractError, WorkerError
from goexplore.exploration import (
    ProcessExecutor,
    PythonKernel,
    RandomRepeat,
    Search,
    SerialExecutor,
    _processes,
)
from tests.fields import Corridor, Field, Lock, cells_of, make_kernel, make_selection

BATCHES = 12


def kernel_of(kind):
    return PythonKernel(cells_of(kind()), RandomRepeat(0.5), training_frames=20)


def make_search(executor, seed=0, kind=Field, batch_size=30):
    return Search(
        cell_env=cells_of(kind()),
        selection=make_selection(),
        executor=executor,
        batch_size=batch_size,
        seed=seed,
    )


def saved(search, folder):
    folder.mkdir()
    return [file.read_bytes() for file in write_archive(search.archive, folder, lambda cells: {})]


def reference(folder, kind=Field, **settings):
    search = make_search(SerialExecutor(partial(kernel_of, kind)), kind=kind, **settings)
    search.run(lambda status: status.batches >= BATCHES)
    return saved(search, folder)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_processes_find_what_the_serial_executor_finds(workers, tmp_path):
    search = make_search(ProcessExecutor(make_kernel, workers=workers))
    search.run(lambda status: status.batches >= BATCHES)
    search.executor.close()
    assert saved(search, tmp_path / "run") == reference(tmp_path / "reference")


class Timed(Corridor):
    limit = 15


@pytest.mark.parametrize("kind", [Lock, Timed])
def test_processes_find_the_same_where_there_are_a_thousand_actions_or_many_ends(kind, tmp_path):
    with contextlib.closing(ProcessExecutor(partial(kernel_of, kind), workers=2)) as executor:
        search = make_search(executor, kind=kind)
        search.run(lambda status: status.batches >= BATCHES)
    assert saved(search, tmp_path / "run") == reference(tmp_path / "reference", kind)
    assert search.status.cells > 7


def test_spawned_processes_find_the_same(tmp_path):
    with contextlib.closing(ProcessExecutor(make_kernel, workers=1, start_method="spawn")) as executor:
        search = make_search(executor)
        search.run(lambda status: status.batches >= BATCHES)
    assert saved(search, tmp_path / "run") == reference(tmp_path / "reference")


def test_another_seed_finds_something_else(tmp_path):
    search = make_search(SerialExecutor(make_kernel), seed=1)
    search.run(lambda status: status.batches >= BATCHES)
    assert saved(search, tmp_path / "run") != reference(tmp_path / "reference")


def test_closing_stops_the_workers():
    executor = ProcessExecutor(make_kernel, workers=2)
    ids = executor.process_ids
    executor.close()
    for number in ids:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": 0}, "expected `workers` to be 1 or more, got 0"),
        ({"workers": 1, "timeout_seconds": 0}, "expected `timeout_seconds` to be more than 0, got 0"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        ProcessExecutor(make_kernel, **settings)


# ---- interrupts -------------------------------------------------------------------------------------------


def test_a_batch_that_was_interrupted_can_be_run_again(tmp_path, monkeypatch):
    executor = ProcessExecutor(make_kernel, workers=2)
    search = make_search(executor)
    real_wait = _processes.wait
    calls = interrupts = 0

    def interrupting_wait(pipes, timeout):
        nonlocal calls
        calls += 1
        if calls % 61 == 0:
            raise KeyboardInterrupt
        return real_wait(pipes, timeout)

    monkeypatch.setattr(_processes, "wait", interrupting_wait)
    while search.status.batches < BATCHES:
        with contextlib.suppress(KeyboardInterrupt):
            search.run(lambda status: status.batches >= BATCHES)
        interrupts += 1
    executor.close()
    assert interrupts > 3
    assert saved(search, tmp_path / "run") == reference(tmp_path / "reference")


# ---- workers that die -------------------------------------------------------------------------------------


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


def test_whoever_kills_workers_again_and_again_changes_nothing(tmp_path, monkeypatch):
    """Also those that look for the action to blame, and those that have not even begun."""
    monkeypatch.setattr(_processes, "_LONGEST_PAUSE", 0.1)
    executor = ProcessExecutor(make_kernel, workers=2)
    search, over, kills = make_search(executor), threading.Event(), []

    def kill_them_all():
        mine = psutil.Process().cmdline()  # so is that of a forked worker
        while not over.wait(0.02) and len(kills) < 20:
            for child in psutil.Process().children():
                with contextlib.suppress(psutil.Error):
                    if child.cmdline() == mine:
                        child.kill()
                        kills.append(child.pid)

    killer = threading.Thread(target=kill_them_all)
    killer.start()
    try:
        search.run(lambda status: status.batches >= BATCHES)
    finally:
        over.set()
        killer.join()
        executor.close()
    assert len(kills) >= 10
    assert search.status.given_up == 0
    assert saved(search, tmp_path / "run") == reference(tmp_path / "reference")


def test_an_exploration_that_takes_all_memory_is_blamed_in_the_end(monkeypatch):
    """The system kills it as anybody else would."""
    monkeypatch.setattr(_processes, "_MAX_KILLS", 2)
    monkeypatch.setattr(f"{__name__}.die", lambda: os.kill(os.getpid(), signal.SIGKILL))
    assert explored(Deadly).archive.events["worker-crash"]


def die():
    os._exit(139)  # as after a segmentation fault


class Deadly(Field):
    """Kills its process when it reaches a certain spot."""

    def step(self, action: int) -> Step:
        step = super().step(action)
        if (self.x, self.y) == (2, 2):
            die()
        return step


def explored(kind, batches=2, **settings):
    """Return a search that was run on worker processes."""
    settings = {"workers": 2, **settings}
    with contextlib.closing(ProcessExecutor(partial(kernel_of, kind), **settings)) as executor:
        search = make_search(executor, batch_size=10)
        search.run(lambda status: status.batches >= batches)
    return search


def place_after(actions):
    env = Field()
    for action in actions:
        env.step(action)
    return env.observation()


def test_an_action_that_kills_every_worker_becomes_an_event_and_the_search_goes_on():
    search = explored(Deadly)
    archive = search.archive
    assert search.executor.crashed_tasks == 0
    assert search.status.cells > 5
    ways = [archive[entry] for entry in archive.events["worker-crash"]]
    assert ways
    for way in ways:
        actions = archive.trajectory(way.number)
        assert way.end is End.CRASHED
        assert encode(place_after(actions[:-1])) == way.cell
        assert place_after(actions) == (2, 2)
        assert len(actions) == way.length


def test_an_action_that_hangs_becomes_an_event_too(monkeypatch):
    real_wait = _processes.wait
    monkeypatch.setattr(_processes, "wait", lambda pipes, timeout: real_wait(pipes, 0.05))
    search = explored(Stuck, batches=1, timeout_seconds=0.5)
    (entry,) = search.archive.events["worker-hang"]
    assert search.archive[entry].end is End.HUNG
    assert place_after(search.archive.trajectory(entry)) == (10, 0)
    assert "worker-crash" not in search.archive.events


class Stuck(Field):
    """Hangs in a corner that one exploration of the first batch reaches."""

    def step(self, action: int) -> Step:
        step = super().step(action)
        while (self.x, self.y) == (10, 0):
            time.sleep(1)
        return step


def test_crashes_are_the_same_for_any_number_of_workers(tmp_path):
    one, two = explored(Deadly, batches=4, workers=1), explored(Deadly, batches=4, workers=2)
    assert saved(one, tmp_path / "one") == saved(two, tmp_path / "two")
    assert one.archive.events


class Moody(Field):
    """Kills its first two processes at a certain spot, and never again."""

    def step(self, action: int) -> Step:
        step = super().step(action)
        if (self.x, self.y) == (2, 1):
            for number in range(2):
                with contextlib.suppress(FileExistsError), open(f"killed-{number}", "x"):
                    die()
        return step


def test_an_exploration_that_survives_when_it_is_looked_at_counts_as_any_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    search = explored(Moody, workers=1)
    assert (tmp_path / "killed-1").exists()
    assert not search.archive.events
    calm = make_search(SerialExecutor(make_kernel), batch_size=10)
    calm.run(lambda status: status.batches >= 2)
    assert saved(search, tmp_path / "moody") == saved(calm, tmp_path / "calm")


class CrashingStart(Field):
    def step(self, action: int) -> Step:
        die()
        return super().step(action)


def test_a_search_in_which_every_first_action_crashes_ends_with_an_error():
    with pytest.raises(WorkerError, match="every exploration of a batch of 10 crashed its worker at once"):
        explored(CrashingStart)


class Doomed(Field):
    def restore(self, snapshot: bytes) -> None:
        die()


def test_a_search_in_which_everything_crashes_ends_with_an_error():
    executor = ProcessExecutor(partial(kernel_of, Doomed), workers=2)
    search = make_search(executor, batch_size=3)
    with pytest.raises(WorkerError, match="every exploration of a batch of 3 crashed"):
        search.run(lambda status: False)
    executor.close()


class Broken(Field):
    def step(self, action: int) -> Step:
        raise RuntimeError("the simulator is on fire")


def test_an_exception_in_a_worker_reaches_the_user():
    executor = ProcessExecutor(partial(kernel_of, Broken), workers=1)
    with pytest.raises(WorkerError, match="the simulator is on fire"):
        make_search(executor).run(lambda status: False)
    executor.close()


# ---- workers that do not begin, or not alike --------------------------------------------------------------


class Stillborn(Field):
    def __init__(self) -> None:
        die()


class Unwilling(Field):
    def __init__(self) -> None:
        raise RuntimeError("no licence for this simulator")


class Endless(Field):
    def __init__(self) -> None:
        time.sleep(60)


@pytest.mark.parametrize(
    ("kind", "seconds", "message"),
    [
        (Stillborn, 60, "a worker process died while it made its environment"),
        (Unwilling, 60, "no licence for this simulator"),
        (Endless, 0.5, r"expected a worker process to make its environment within 0\.5 s, got none"),
    ],
)
def test_an_environment_that_cannot_be_made_is_told(kind, seconds, message):
    with pytest.raises(WorkerError, match=message):
        ProcessExecutor(partial(kernel_of, kind), workers=1, timeout_seconds=seconds)


class Elsewhere(Field):
    """Begins in another state in every process."""

    def reset(self) -> None:
        super().reset()
        self.x = os.getpid() % 12
        self.y = os.getpid() // 12 % 12


def test_workers_that_begin_in_different_states_are_refused():
    with pytest.raises(EnvironmentContractError, match="expected the same initial state in all processes"):
        ProcessExecutor(partial(kernel_of, Elsewhere), workers=2)


def test_a_worker_that_replaces_another_must_begin_in_the_same_state():
    executor = ProcessExecutor(partial(kernel_of, Elsewhere), workers=1)
    search = make_search(executor, batch_size=3)
    os.kill(executor.process_ids[0], signal.SIGKILL)
    with (
        contextlib.closing(executor),
        pytest.raises(EnvironmentContractError, match="expected the same initial state in all processes"),
    ):
        search.run(lambda status: False)


def test_what_cannot_be_pickled_cannot_be_spawned_and_what_to_do_is_said():
    with pytest.raises(
        WorkerError, match=r"expected a problem that can be pickled.*at the top level of a module"
    ):
        ProcessExecutor(lambda: make_kernel(), workers=1, start_method="spawn")


# ---- workers that hang ------------------------------------------------------------------------------------


class Hanging(Field):
    """Hangs once at a certain spot: whoever comes first leaves a note for the others."""

    def step(self, action: int) -> Step:
        step = super().step(action)
        if (self.x, self.y) == (2, 1):
            with contextlib.suppress(FileExistsError), open("hanged", "x"):
                time.sleep(60)
        return step


def test_a_worker_that_hangs_is_mentioned_then_replaced_and_nothing_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    real_wait = _processes.wait
    monkeypatch.setattr(_processes, "wait", lambda pipes, timeout: real_wait(pipes, 0.05))
    heard = []
    executor = ProcessExecutor(partial(kernel_of, Hanging), workers=2, timeout_seconds=2.0, warn=heard.append)
    search = make_search(executor, batch_size=4)  # so few that each is sent alone
    search.run(lambda status: status.batches >= BATCHES)
    executor.close()
    assert (tmp_path / "hanged").exists()
    mentioned, replaced = heard
    assert "has not answered for" in mentioned
    assert "is replaced after" in mentioned
    assert replaced != mentioned
    assert replaced.endswith("replaced")
    assert executor.replaced_workers == 1
    assert executor.crashed_tasks == 0
    assert saved(search, tmp_path / "run") == reference(tmp_path / "reference", batch_size=4)
