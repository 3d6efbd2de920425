"""A real Ray cluster of several nodes on this machine: the archive is that of the serial executor."""

import contextlib
import importlib
import os
import re
import signal
import threading
import time
from dataclasses import replace
from functools import partial

import psutil
import pytest

from goexplore import _native as native
from goexplore.envs import Step
from goexplore.errors import ConfigError, EnvironmentContractError, ProblemError, WorkerError
from goexplore.exploration import (
    ExplorationConfig,
    ProcessExecutor,
    PythonKernel,
    RandomRepeat,
    RayExecutor,
    Search,
    SerialExecutor,
    _ray,
)
from goexplore.games.montezuma_revenge import MONTEZUMA
from goexplore.games.pitfall import PITFALL_PIXELS
from goexplore.games.two_mazes import TWO_MAZES
from goexplore.problems import DynamicConfig, Problem
from tests.exploration.test_executors import (
    BATCHES,
    Broken,
    Deadly,
    Doomed,
    Stillborn,
    Timed,
    Unwilling,
    kernel_of,
    make_search,
    reference,
    saved,
)
from tests.fields import Field, Lock, cells_of, itself

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")


@pytest.fixture(scope="module")
def cluster():
    """Two nodes with a CPU each. The first one, to which the driver is connected, is never killed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")]))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        head = {"num_cpus": 1, "include_dashboard": False}
        made = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
        made.add_node(num_cpus=1)
        _ray._connect(ray, made.address, None)
        yield made
        ray.shutdown()
        made.shutdown()


@pytest.fixture
def heard():
    return []


@pytest.fixture
def executor_of(cluster, heard):
    """Make executors that are closed when the test ends."""
    with contextlib.ExitStack() as stack:

        def make(kind=Field, **settings):
            settings = {"threads": False, "workers": 1, "warn": heard.append, **settings}
            made = RayExecutor(partial(kernel_of, kind), **settings)
            stack.enter_context(contextlib.closing(made))
            return made

        yield make


def kill(node, cluster):
    """End all processes of a node at once, as a power cut does."""
    for process in psutil.Process(node.all_processes["raylet"][0].process.pid).children(recursive=True):
        process.kill()
    cluster.remove_node(node, allow_graceful=False)


def run(search, batches=BATCHES, *callbacks, **settings):
    search.run(lambda status: status.batches >= batches, *callbacks, **settings)
    return search


@pytest.mark.parametrize("kind", [Lock, Timed])
def test_nodes_find_what_the_serial_executor_finds(kind, executor_of, heard, tmp_path):
    executor = executor_of(kind)
    assert (executor.nodes, executor.workers) == (2, 2)
    search = run(make_search(executor, kind=kind))
    assert heard == ["Ray: 2 nodes, 2 workers"]
    assert saved(search, tmp_path / "run") == reference(tmp_path / "reference", kind)


@pytest.mark.slow
def test_more_workers_find_the_same(executor_of, tmp_path):
    executor = executor_of(workers=2)
    assert executor.workers == 4
    assert saved(run(make_search(executor)), tmp_path / "run") == reference(tmp_path / "reference")


# ---- presets, and nodes that join and are lost ------------------------------------------------------------


def search_of(problem, executor):
    cell_env = problem.make_cell_env()
    return Search(
        cell_env=cell_env,
        selection=problem.make_selection(cell_env),
        executor=executor,
        reviser=problem.make_reviser(cell_env),
        batch_size=40,
    )


def serial(problem, batches, folder):
    with contextlib.closing(problem.make_executor(None)) as executor:
        return saved(run(search_of(problem, executor), batches), folder)


FIELD = Problem(env=Field, cells=itself, exploration=ExplorationConfig(training_frames=20))
DYNAMIC = replace(
    TWO_MAZES, cells=DynamicConfig(target_share=0.5, first_revision=12_000, sample_frames=300, draws=20)
)
slow = pytest.mark.slow
needs_native = pytest.mark.skipif(native.atari is None, reason="there is no native engine")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "engine"),
    [
        pytest.param(MONTEZUMA, "native", marks=needs_native),
        pytest.param(PITFALL_PIXELS, "native", marks=needs_native),
        (TWO_MAZES, "auto"),
        (MONTEZUMA, "ale"),
        (FIELD, "auto"),
    ],
)
def test_nodes_are_killed_and_join_in_the_middle_and_nothing_changes(
    problem, engine, cluster, heard, tmp_path, monkeypatch
):
    monkeypatch.setattr(_ray, "_SECONDS_BETWEEN_LOOKS", 0.1)
    problem, _ = problem.with_engine(engine)
    nodes, kills = [cluster.add_node(num_cpus=2)], []

    def kill_one(batches, search):
        if nodes and search.status.batches == batches and search.unfinished_game_frames:
            kill(nodes.pop(), cluster)
            kills.append(batches)

    with contextlib.closing(problem.make_executor(None, executor="ray", warn=heard.append)) as executor:
        assert (executor.nodes, executor.workers) == (3, 4)
        search = search_of(problem, executor)
        run(search, 4, tick=partial(kill_one, 2))
        assert executor.nodes == 2
        nodes.append(cluster.add_node(num_cpus=2))
        while executor.nodes < 3:
            run(search, search.status.batches + 1)
        batches = search.status.batches
        run(search, batches + 4, tick=partial(kill_one, batches + 2))
    assert len(kills) == 2
    assert len([line for line in heard if "has joined: 3 nodes, 4 workers" in line]) == 1
    assert len([line for line in heard if "explorations are run again: 2 nodes, 2 workers" in line]) == 2
    assert saved(search, tmp_path / "ray") == serial(problem, search.status.batches, tmp_path / "serial")


@needs_native
@pytest.mark.slow
def test_the_native_engine_finds_the_same_in_threads_on_all_nodes(cluster, tmp_path):
    problem, _ = MONTEZUMA.with_engine("native")
    with contextlib.closing(problem.make_executor(None, executor="ray")) as executor:
        search = run(search_of(problem, executor), 6)
    assert saved(search, tmp_path / "ray") == serial(problem, 6, tmp_path / "serial")


def test_dynamic_cells_are_revised_on_all_nodes(cluster, tmp_path):
    problem = DYNAMIC.after_revisions(())
    with contextlib.closing(problem.make_executor(None, executor="ray")) as executor:
        search = run(search_of(problem, executor), 12)
    assert search.status.revisions >= 1
    assert saved(search, tmp_path / "ray") == serial(problem, 12, tmp_path / "serial")


def actors():
    """Return the processes of our actors on all nodes that were started here, without their workers."""
    found = {}
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "ray::NodeActor" in " ".join(process.cmdline()):
                found[process.pid] = process
    return [process for process in found.values() if process.ppid() not in found]


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (signal.SIGKILL, "is lost"),
        pytest.param(signal.SIGSTOP, "has not answered for 2 s", marks=pytest.mark.slow),
    ],
)
def test_an_actor_that_was_killed_or_stopped_is_replaced_on_its_node(
    number, told, executor_of, heard, tmp_path, monkeypatch
):
    monkeypatch.setattr(_ray, "_SECONDS_OF_SILENCE", 2.0)
    executor = executor_of()
    search = run(make_search(executor), 3)
    actors()[0].send_signal(number)
    run(search)
    while executor.nodes < 2:
        run(search, search.status.batches + 1)
    assert [line for line in heard if told in line]
    assert "has joined: 2 nodes, 2 workers" in heard[-1]
    calm = run(make_search(SerialExecutor(partial(kernel_of, Field))), search.status.batches)
    assert saved(search, tmp_path / "run") == saved(calm, tmp_path / "calm")


@pytest.mark.slow
def test_a_search_without_nodes_waits_and_ends_after_a_while(executor_of, monkeypatch):
    executor = executor_of(timeout_seconds=1.0)
    search = make_search(executor)
    monkeypatch.setattr(executor._ray, "nodes", lambda: [])
    for process in actors():
        process.kill()
    with pytest.raises(WorkerError, match=r"expected a node of the Ray cluster.*got none for 1 s"):
        run(search)
    monkeypatch.undo()
    assert run(search, 2).status.batches == 2


@pytest.mark.slow
def test_an_exploration_that_is_lost_again_and_again_ends_the_search(executor_of, monkeypatch):
    monkeypatch.setattr(_ray, "_MAX_LOSSES", 1)
    monkeypatch.setattr(_ray, "_SECONDS_BETWEEN_LOOKS", 0.1)
    executor = executor_of(Murderous)
    with pytest.raises(WorkerError, match="an exploration was lost with its node 2 times"):
        run(make_search(executor, batch_size=4))


class Murderous(Field):
    """Kills the actor above its worker process, as an exploration in a thread might do."""

    def step(self, action: int) -> Step:
        os.kill(os.getppid(), signal.SIGKILL)
        return super().step(action)


# ---- interrupts -------------------------------------------------------------------------------------------


def test_a_batch_that_was_interrupted_can_be_run_again(executor_of, tmp_path):
    search = make_search(executor_of())
    for batch in range(1, 4):

        def interrupt(search, batch=batch):
            if search.status.batches == batch and search.unfinished_game_frames:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(search, tick=interrupt)
        assert search.status.batches == batch
        run(search, batch + 1)
    assert saved(run(search), tmp_path / "run") == reference(tmp_path / "reference")


def test_closing_stops_actors_and_workers(executor_of):
    executor = executor_of()
    mine = actors()
    workers = [child for actor in mine for child in actor.children()]
    assert (len(mine), len(workers)) == (2, 2)
    executor.close()
    _, alive = psutil.wait_procs([*mine, *workers], timeout=60)
    assert alive == []


# ---- explorations that crash ------------------------------------------------------------------------------


def test_an_action_that_kills_workers_on_every_node_becomes_an_event_as_without_ray(executor_of, tmp_path):
    with contextlib.closing(ProcessExecutor(partial(kernel_of, Deadly), workers=2)) as processes:
        one = run(make_search(processes, batch_size=10), 2)
    other = run(make_search(executor_of(Deadly), batch_size=10), 2)
    assert other.archive.events["worker-crash"]
    assert saved(one, tmp_path / "one") == saved(other, tmp_path / "other")


@pytest.mark.slow
def test_a_search_in_which_everything_crashes_ends_with_an_error(executor_of):
    with pytest.raises(WorkerError, match="every exploration of a batch of 3 crashed its worker at once"):
        run(make_search(executor_of(Doomed), batch_size=3))


def test_an_exception_on_a_node_reaches_the_user(executor_of):
    with pytest.raises(WorkerError, match="the simulator is on fire"):
        run(make_search(executor_of(Broken)))


# ---- nodes that cannot be used ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "settings", "expected", "message"),
    [
        (Unwilling, {}, WorkerError, "Ray: node .*: .*no licence for this simulator"),
        pytest.param(Stillborn, {}, WorkerError, "Ray: node .*: a worker process died while", marks=slow),
        pytest.param(
            Field,
            {"initial_digest": b"another"},
            EnvironmentContractError,
            "the same initial state",
            marks=slow,
        ),
        (Field, {"workers": 0}, ConfigError, "expected `workers` to be 1 or more, got 0"),
        (Field, {"timeout_seconds": 0}, ConfigError, "expected `timeout_seconds` to be more than 0, got 0"),
    ],
)
def test_what_cannot_begin_is_told(kind, settings, expected, message, executor_of):
    with pytest.raises(expected, match=re.compile(message, re.DOTALL)):
        executor_of(kind, **settings)
    psutil.wait_procs(actors(), timeout=60)
    assert actors() == []


def test_a_module_that_nodes_cannot_import_is_named(cluster, executor_of, tmp_path, monkeypatch):
    (tmp_path / "my_field.py").write_text("from tests.fields import Field\n\nclass Mine(Field):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    kind = importlib.import_module("my_field").Mine
    with pytest.raises(ProblemError, match=r"No module named 'my_field': install the module there, or put"):
        executor_of(kind)


def test_what_is_defined_in_a_function_needs_no_module(executor_of, tmp_path):
    class Mine(Field):
        pit = (5, 5)

    def make():
        return PythonKernel(cells_of(Mine()), RandomRepeat(0.5), training_frames=20)

    executor = executor_of()
    executor.restart(make, cells_of(Mine()).initial_digest())
    search = run(make_search(executor, kind=Mine))
    calm = run(make_search(SerialExecutor(make), kind=Mine))
    assert saved(search, tmp_path / "run") == saved(calm, tmp_path / "calm")


def test_what_cannot_be_pickled_is_told(cluster):
    lock = threading.Lock()
    with pytest.raises(ProblemError, match=r"expected a problem that can be pickled.*got cannot pickle"):
        RayExecutor(lambda: lock, threads=False)


def test_other_versions_are_refused(executor_of, monkeypatch):
    real = _ray.source_versions()
    monkeypatch.setattr(
        _ray, "source_versions", lambda: {**real, "goexplore": "0.0.1", "native engine": "none"}
    )
    with pytest.raises(
        ConfigError,
        match=rf"node .*: expected the same versions as here, got goexplore {real['goexplore']} instead of "
        rf"0\.0\.1, native engine {real['native engine']} instead of none: install the same on all nodes",
    ):
        executor_of()


@pytest.mark.slow
def test_a_node_without_goexplore_is_refused_and_the_search_goes_on(
    cluster, executor_of, heard, tmp_path, monkeypatch
):
    monkeypatch.setattr(_ray, "_SECONDS_BETWEEN_LOOKS", 0.1)
    (tmp_path / "goexplore").mkdir()
    (tmp_path / "goexplore" / "__init__.py").touch()
    search = make_search(executor_of())
    node = cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": str(tmp_path)})
    try:
        while "is not used" not in heard[-1]:
            run(search, search.status.batches + 1)
        with pytest.raises(WorkerError, match=r"node .*: .*is goexplore installed there\?"):
            executor_of()
    finally:
        cluster.remove_node(node)


def test_an_actor_that_never_begins_is_told(executor_of, monkeypatch):
    executor_of()  # has all CPUs
    monkeypatch.setattr(_ray, "_SECONDS_TO_BEGIN", 1.0)
    with pytest.raises(WorkerError, match=r"expected a process to begin within 1 s, got none: its CPUs may"):
        executor_of()


@pytest.mark.parametrize(
    ("address", "expected", "message"),
    [
        (
            "127.0.0.1:1",
            WorkerError,
            r"expected a Ray cluster at `ray_address` 127\.0\.0\.1:1, got no answer",
        ),
        (
            "ray://127.0.0.1:10001",
            ConfigError,
            r"expected `ray_address` to be an address such as 10\.0\.0\.1",
        ),
        ("nonsense", ConfigError, "expected `ray_address` to be an address such as"),
    ],
)
def test_a_cluster_that_cannot_be_reached_is_told_at_once(address, expected, message):
    began = time.monotonic()
    with pytest.raises(expected, match=message):
        _ray._require_reachable(address)
    assert time.monotonic() - began < 6
