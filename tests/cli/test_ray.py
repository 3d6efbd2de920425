"""`goexplore explore --executor ray` as real processes: the same bytes, and nothing is left behind."""

import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.cli.commands import goexplore, tables, wait_until

pytest.importorskip("ray")

LOCK = """
import goexplore

class Lock(goexplore.Environment):
    action_count, code = 10, (3, 1, 4, 1, 5, 9, 2, 6)

    def reset(self):
        self.opened = 0

    def step(self, action):
        self.opened = self.opened + 1 if action == self.code[self.opened] else 0
        solved = self.opened == len(self.code)
        return goexplore.Step(reward=float(solved), terminated=solved)

    def observation(self):
        return self.opened

    def snapshot(self):
        return bytes([self.opened])

    def restore(self, snapshot):
        self.opened = snapshot[0]
"""

RAY = ["--executor", "ray", "--workers", "1"]


def with_children(process):
    """Return a command's process and all processes below it, those of Ray included."""
    top = psutil.Process(process.pid)
    return [top, *top.children(recursive=True)]


@pytest.mark.slow
def test_a_users_module_is_explored_interrupted_and_resumed_with_the_same_bytes(start, tmp_path):
    (tmp_path / "my_game.py").write_text(LOCK)
    arguments = ["explore", "my_game:Lock", "--exploration.batch-size", "20"]
    process = start(*arguments, "--run-dir", "ray", *RAY, cwd=tmp_path)
    wait_until(lambda: (tmp_path / "ray" / "tensorboard").exists())
    time.sleep(0.5)
    everything = with_children(process)
    assert any("raylet" in each.name() for each in everything)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "stopped:" in output
    assert "Ray: 1 node, 1 worker" in errors
    assert len(errors.splitlines()) == 4  # nothing of Ray's own
    _, alive = psutil.wait_procs(everything, timeout=30)
    assert alive == []
    played = int(output.partition("stopped: ")[2].partition(" ")[0].replace(",", ""))
    limit = ["--game-frames", played + 20_000]
    result = goexplore(*arguments, "--run-dir", "ray", "--resume", *limit, *RAY, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    result = goexplore(*arguments, "--run-dir", "serial", "--workers", "0", *limit, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert tables(tmp_path / "ray") == tables(tmp_path / "serial")


@pytest.mark.slow
def test_the_cluster_ends_with_a_command_that_was_killed(start, tmp_path):
    process = start("explore", "two-mazes", "--run-dir", tmp_path / "run", *RAY)
    wait_until(lambda: Path(tmp_path / "run" / "tensorboard").exists())
    everything = with_children(process)
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(everything, timeout=150)  # Ray's agents take about a minute
    assert alive == []
