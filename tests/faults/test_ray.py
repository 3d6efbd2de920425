"""Whatever happens to the nodes of a Ray cluster, a search finds what it finds without Ray."""

import contextlib
import os
import random
import signal
import time

import psutil
import pytest

from tests.cli.commands import tables, wait_until
from tests.exploration.test_ray import actors
from tests.faults.test_search import begin, finish, lost_game_frames, wait_for_work

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

FAULTS = 5
"""Of each kind."""
NODES = 2
"""That are lost and replaced, beside the head, which has to stay."""
SOON = {
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 2000,
}
"""Ray notices within seconds that a node is lost; its own values would take most of a minute."""


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """Return a file: the environment is slow while it is there."""
    return tmp_path_factory.mktemp("ray") / "slow"


@pytest.fixture(scope="module")
def cluster(slow):
    """A head and some nodes, each with a CPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")]))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("SLOW", str(slow))
        head = {"num_cpus": 1, "include_dashboard": False, "_system_config": SOON}
        made = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
        for _ in range(NODES):
            made.add_node(num_cpus=1)
        yield made
        for node in made.list_all_nodes():
            send(signal.SIGCONT, processes(node))
        made.shutdown()


def processes(node):
    """Return the processes of a node: Ray's, our actor and its workers."""
    with contextlib.suppress(psutil.Error):
        top = psutil.Process(node.all_processes["raylet"][0].process.pid)
        return [top, *top.children(recursive=True)]
    return []


def send(number, targets):
    for process in targets:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


class Faults:
    """What can happen to one of the nodes. One that is lost for good is replaced by another that joins."""

    def __init__(self, cluster, chance):
        self.cluster, self.chance = cluster, chance

    def an_actor_is_killed(self):
        self.hit_an_actor(signal.SIGKILL)

    def an_actor_is_stopped(self):
        self.hit_an_actor(signal.SIGSTOP)

    def a_node_is_killed(self):
        self.lose(signal.SIGKILL, processes)

    def a_node_is_stopped(self):
        self.lose(signal.SIGSTOP, processes)

    def ray_itself_is_stopped(self):
        self.lose(signal.SIGSTOP, lambda node: processes(node)[:1])

    def hit_an_actor(self, number):
        wait_until(actors)
        send(number, [self.chance.choice(actors())])

    def lose(self, number, part):
        node = self.chance.choice(list(self.cluster.worker_nodes))
        self.cluster.add_node(num_cpus=1)
        everything = processes(node)
        send(number, part(node))
        time.sleep(5)
        send(signal.SIGKILL, everything)  # and it does not come back
        self.cluster.remove_node(node, allow_graceful=False)


KINDS_OF_FAULTS = [name for name in vars(Faults) if "_is_" in name]


@pytest.mark.parametrize("kind", [*KINDS_OF_FAULTS, "anything"])
def test_a_part_of_a_ray_cluster_is_lost(kind, cluster, slow, tmp_path, figures):
    chance, run = random.Random(kind), tmp_path / "run"
    slow.touch()
    mazes = ("slow", "40000", "1")
    process = begin((*mazes, cluster.address), run)
    while not (run / "metrics.jsonl").exists() and process.poll() is None:
        time.sleep(0.1)
    assert process.poll() is None, process.communicate()
    faults, alive = Faults(cluster, chance), 0
    for _ in range(FAULTS):
        getattr(faults, chance.choice(KINDS_OF_FAULTS) if kind == "anything" else kind)()
        time.sleep(4 * chance.random())
        alive += process.poll() is None
    slow.unlink()
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert alive == FAULTS, "the search ended too early"
    assert said.count("are run again") >= FAULTS // 2, said
    calm = tmp_path / "calm"
    assert finish(("two-mazes", *mazes[1:2], "0"), calm)[0] == 0
    assert tables(run) == tables(calm)
    figures.faults += FAULTS
    figures.survived += FAULTS


def test_the_main_process_of_a_ray_search_is_killed(cluster, slow, tmp_path, figures):
    chance, run = random.Random(7), tmp_path / "run"
    mazes = ("slow", "40000", "1")
    slow.touch()
    for _ in range(FAULTS):
        process = begin((*mazes, cluster.address), run)
        wait_for_work(process, run)
        time.sleep(3 * chance.random())
        assert process.poll() is None, process.communicate()
        process.kill()
        process.communicate()
        figures.faults += 1
        figures.lost.append(lost_game_frames(run))
        wait_until(lambda: not actors())  # nothing of a search that is gone stays on the nodes
    slow.unlink()
    code, said = finish((*mazes, cluster.address), run)
    assert code == 0, said
    calm = tmp_path / "calm"
    assert finish(("two-mazes", *mazes[1:2], "0"), calm)[0] == 0
    assert tables(run) == tables(calm)
    figures.survived = figures.faults
