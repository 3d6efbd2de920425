"""A tester's game, which crashes, hangs and raises: every command as they would type it, with a real kill."""

import os
import signal
import sys

import pytest

from goexplore.cli import main
from tests.cli.commands import goexplore, tables, wait_until

MY_GAME = '''
"""A game with bugs: a line of forty fields."""

import os
import time

from goexplore import Environment, Step


class Line(Environment):
    """Left and right. Beyond field 30 nobody should ever be; field 35 crashes now and then."""

    action_count = 2

    def reset(self):
        self.x = self.energy = 0

    def step(self, action):
        time.sleep(float(os.environ.get("SLOW", "0")))
        self.x = min(max(self.x + (1 if action else -1), 0), 39)
        self.energy = (self.energy + self.x) % 50
        if self.x == 20 and self.energy % 10 == 7:
            raise ArithmeticError("the sum of the energy")
        if self.x == 35 and self.energy == 11:
            os.kill(os.getpid(), signal.SIGSEGV)
        return Step(0.0)

    def observation(self):
        return self.x

    def info(self):
        return {"energy": self.energy}

    def snapshot(self):
        return bytes([self.x, self.energy])

    def restore(self, snapshot):
        self.x, self.energy = snapshot


def is_outside(observation, info):
    return observation > 30


def energy(observation, info):
    return info["energy"]


EVENTS = {"outside": is_outside, "arithmetic": ArithmeticError}
'''.replace("import time", "import signal\nimport time")

FUNCTIONS = ["--events", "my_game:EVENTS", "--objective", "my_game:energy"]
EXPLORE = ["explore", "my_game:Line", *FUNCTIONS, "--game-frames", "12K", "--exploration.batch-size", "10"]
NAMED = ["--problem", "my_game:Line"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mine")
    (folder / "my_game.py").write_text(MY_GAME)
    return folder


@pytest.fixture
def command(folder, capsys, monkeypatch):
    """Run a command in the user's folder; return what it printed, or its error."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "my_game", raising=False)

    def run(*arguments, status=0):
        capsys.readouterr()
        assert main(list(arguments)) == status
        said = capsys.readouterr()
        return said.err if status else said.out

    yield run
    sys.modules.pop("my_game", None)


@pytest.fixture(scope="module")
def run(folder):
    result = goexplore(*EXPLORE, "--run-dir", "run", "--workers", "1", cwd=folder)
    assert result.returncode == 0, result.stderr
    for name in ("outside", "arithmetic", "worker-crash"):
        assert f"event {name}: " in result.stdout
        assert f"event {name}: first way found, " in result.stderr
    assert f"check: goexplore verify run --problem my_game:Line {' '.join(FUNCTIONS[2:])}" in result.stdout
    return folder / "run"


@pytest.mark.slow
def test_killed_in_the_middle_and_resumed_the_archive_is_the_same(run, folder, start):
    arguments = [*EXPLORE, "--run-dir", "killed", "--checkpoint-minutes", "0.001", "--workers", "2"]
    process = start(*arguments, cwd=folder, env={**os.environ, "SLOW": "0.0002"})
    wait_until(lambda: (folder / "killed" / "checkpoints" / "000003").exists())
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert tables(folder / "killed") != tables(run), "it was in the middle"
    result = goexplore(*arguments, "--resume", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert tables(folder / "killed") == tables(run)


def test_info_says_how_many_ways_there_are(run, command):
    printed = command("info", "run")
    assert "event        outside: 9 ways, the shortest after " in printed
    assert "event        worker-crash: 1 way, the shortest after " in printed


def test_verify_needs_the_functions_and_plays_the_crash_apart(run, command):
    assert "expected --objective with my_game:energy" in command("verify", "run", *NAMED, status=2)
    assert "expected what the file was made with" in command(
        "verify", "run", *NAMED, "--events", "my_game:EVENTS", "--objective", "my_game:is_outside", status=2
    )
    printed = command("verify", "run", "--all", *NAMED, *FUNCTIONS)
    assert ": no mismatches\n" in printed
    assert "1 of them crash with their last action, played in a process apart" in printed


def test_demonstrations_of_events(run, command, folder):
    printed = command("demos", "run", "--out", "outside", "--events", "outside", *NAMED)
    assert printed.count("to event outside, from entry") == 9
    printed = command("demos", "run", "--out", "crash", "--events", "worker-crash", *NAMED)
    assert "to event worker-crash, up to the action 0 that ends the game without a result" in printed
    assert "as it says" in command("verify", "outside", "crash", *NAMED)
    assert "Did you mean outside?" in command(
        "demos", "run", "--out", "none", "--events", "outsid", *NAMED, status=2
    )


def test_a_mapping_that_is_not_there_is_refused(command, folder):
    arguments = ["explore", "my_game:Line", "--run-dir", "refused", "--events"]
    assert "expected EVENT in the module my_game, got none. Did you mean EVENTS?" in command(
        *arguments, "my_game:EVENT", status=2
    )
    assert "expected --events to be a mapping" in command(*arguments, "my_game:energy", status=2)
    assert not (folder / "refused").exists()
