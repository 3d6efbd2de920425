"""Real runs to serve, a client that knows the token, and the server as a real process."""

import dataclasses
import functools
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from goexplore.demos import find_demonstrations
from goexplore.serve._helper import Helper
from goexplore.serve._server import guarded_app
from goexplore.serve._source import Helpers, open_source
from tests.cli.commands import COMMAND
from tests.report.conftest import ENGINE, explore

TOKEN = "a-token"

EAGER = """
import sys
from goexplore.cli import main
from goexplore.serve import _search

_search._SHARE = 1.0
sys.exit(main())
"""
"""The command, but it may spend a whole core on reading checkpoints: nobody waits for the next one."""


@pytest.fixture(scope="session")
def montezuma(tmp_path_factory) -> Path:
    """A search that was resumed: it has two checkpoints, and many cells."""
    folder = tmp_path_factory.mktemp("runs")
    run = explore("montezuma-2021", folder, engine=ENGINE, game_frames=60_000)
    first = shutil.copytree(run, folder / "first")
    explore("montezuma-2021", folder, engine=ENGINE, game_frames=150_000, resume=True)
    assert len(list((run / "checkpoints").iterdir())) == 2
    assert first.is_dir()
    return run


@pytest.fixture(scope="session")
def earlier(montezuma) -> Path:
    """The same search, as it was before it was resumed."""
    return montezuma.parent / "first"


@pytest.fixture(scope="session")
def mazes(tmp_path_factory) -> Path:
    """A search without rooms."""
    return explore("two-mazes", tmp_path_factory.mktemp("runs"), game_frames=20_000)


@pytest.fixture(scope="session")
def training(tmp_path_factory) -> Path:
    """A training of one update, whose policy was evaluated."""
    import torch

    from goexplore.evaluation import EvaluationConfig, PolicyPlayer, evaluate
    from goexplore.training import TrainingDirectory, TrainingLimits, run_training, training_preset

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    path = tmp_path_factory.mktemp("trainings") / "key"
    config = dataclasses.replace(training_preset("tiny", "backward"), environments=8)
    limits = TrainingLimits(training_frames=2 * config.environments * config.ppo.steps)
    run_training(find_demonstrations("montezuma-first-key-00"), config, run_dir=path, limits=limits)
    policy = TrainingDirectory.open(path).last_policy()
    config = EvaluationConfig(repetitions=1, max_game_frames=300, until_score=100)
    evaluate(functools.partial(PolicyPlayer, policy), config, file=path / "evaluations" / "one.parquet")
    torch.set_num_threads(threads)
    return path


@pytest.fixture(scope="session")
def helpers():
    """Processes that take a second to start."""
    helpers = Helpers(pictures=Helper(timeout_seconds=120), archives=Helper(timeout_seconds=120))
    yield helpers
    helpers.close()


@pytest.fixture(scope="module")
def serving(helpers):
    """Answer requests about runs in this process; return a client with the token in its address."""
    opened = []

    def open_runs(*paths, hosts=("localhost",)):
        sources = [open_source(path, path.name, None, helpers) for path in paths]
        opened.extend(sources)
        app, watcher = guarded_app(sources, token=TOKEN, hosts=hosts)
        client = TestClient(app, base_url=f"http://localhost/{TOKEN}/", raise_server_exceptions=False)
        client.sources, client.watcher = sources, watcher
        return client

    yield open_runs
    for source in opened:
        source.close()


@pytest.fixture(scope="module")
def served():
    """Run `goexplore serve`; return the address that it prints."""
    processes = []

    def start(*arguments, eager=False):
        command = [*([sys.executable, "-c", EAGER] if eager else COMMAND), "serve", *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        line = process.stdout.readline()
        assert line.startswith("http://"), process.communicate()
        return line.split()[0]

    yield start
    for process in processes:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out, err) == (0, "", "")
