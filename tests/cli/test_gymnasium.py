"""Gymnasium environments of others on the command line: explored, killed, resumed, verified, learned from."""

import json
import os
import signal

import pytest

from goexplore.cli import main
from tests.cli.commands import goexplore, tables, wait_until

SUITES = {
    "CartPole-v1": ("gymnasium", "grid(observation, dims=(0, 2), size=0.1)", "copies"),
    "MiniGrid-DoorKey-5x5-v0": ("minigrid", "grid(agent_pos, agent_dir, carrying.type)", "copies"),
    "PointMaze_UMaze-v3": ("gymnasium_robotics", "grid(achieved_goal, size=0.5)", "state"),
}
QUIET = {**os.environ, "PYTHONWARNINGS": "ignore"}


def explore(id, run, *more, workers=1):
    """Return a command that explores a suite's environment for a while."""
    _, cells, _ = SUITES[id]
    limits = ["--game-frames", "12K", "--exploration.batch-size", "20", "--exploration.training-frames", "20"]
    return ["explore", id, "--cells", cells, *limits, "--run-dir", run, "--workers", str(workers), *more]


@pytest.mark.slow
@pytest.mark.parametrize("id", SUITES)
def test_killed_in_the_middle_and_resumed_the_archive_is_the_same(id, tmp_path, start):
    module, _, engine = SUITES[id]
    pytest.importorskip(module)
    result = goexplore(*explore(id, "whole"), cwd=tmp_path, env=QUIET)
    assert result.returncode == 0, result.stderr
    assert f"engine: {engine}: it " in result.stderr
    arguments = explore(id, "killed", "--checkpoint-minutes", "0.0005", workers=2)
    process = start(*arguments, cwd=tmp_path, env=QUIET)
    wait_until(lambda: (tmp_path / "killed" / "checkpoints" / "000002").exists())
    process.send_signal(signal.SIGKILL)
    process.wait()
    result = goexplore(*arguments, "--resume", cwd=tmp_path, env=QUIET)
    assert result.returncode == 0, result.stderr
    assert f"engine: {engine}, as the run has it" in result.stderr
    assert tables(tmp_path / "killed") == tables(tmp_path / "whole")
    result = goexplore("verify", "killed", "--all", cwd=tmp_path, env=QUIET)
    assert result.returncode == 0, result.stderr
    assert ": no mismatches\n" in result.stdout


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """A small MiniGrid that was solved, and its demonstration."""
    pytest.importorskip("minigrid")
    folder = tmp_path_factory.mktemp("minigrid")
    id = "MiniGrid-DoorKey-5x5-v0"
    result = goexplore(*explore(id, "run", "--until-score", "0.5"), cwd=folder, env=QUIET)
    assert result.returncode == 0, result.stderr
    result = goexplore("demos", "run", "--out", "demos", cwd=folder, env=QUIET)
    assert result.returncode == 0, result.stderr
    return folder


def test_a_run_opens_without_naming_its_problem(solved, monkeypatch, capsys):
    monkeypatch.chdir(solved)
    assert main(["info", "run"]) == 0
    assert "engine       copies" in capsys.readouterr().out
    assert main(["verify", "demos"]) == 0
    assert main(["cells", "run", "--sort", "length"]) == 0
    config = json.loads((solved / "run" / "config.json").read_text())
    assert config["search"]["problem"]["env"]["id"] == "MiniGrid-DoorKey-5x5-v0"
    assert config["engine_version"].startswith("minigrid ")


@pytest.mark.slow
def test_both_phases(solved, monkeypatch, capsys):
    pytest.importorskip("torch")
    monkeypatch.chdir(solved)
    small = ["--preset", "tiny", "--environments", "8", "--episodes", "3", "--cloning.steps", "50"]
    training = ["robustify", "demos", *small, "--run-dir", "policy"]
    assert main([*training, "--training-frames", "4K"]) == 0
    assert main(["evaluate", "policy", "--repetitions", "1", "--max-game-frames", "300"]) == 0
    assert "no no-ops, for no action of the environment does nothing" in capsys.readouterr().out
    assert main(["video", str(next((solved / "demos").iterdir())), "--out", "demo.mp4"]) == 0
    assert (solved / "demo.mp4").stat().st_size > 1000
    assert main(["report", "run", "--videos", "1", "--out", "report.html"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explore", "CartPol-v1"], "Did you mean CartPole-v1?"),
        (["explore", "CartPole-v1", "--engine", "native"], "expected --engine auto, state, copies or replay"),
        (["explore", "CartPole-v1"], "expected a cell"),
        (
            ["explore", "CartPole-v1", "--cells", "grid(speed)"],
            "expected one of observation in the",
        ),
        (
            ["explore", "CartPole-v1", "--env.draws", "0"],
            "expected --env.draws to be a whole number of 1 or more",
        ),
    ],
)
def test_mistakes_get_one_line_and_nothing_is_written(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([*arguments, "--game-frames", "1K", "--workers", "0"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()
