"""A game of the user's own, from the first search to the report: every command as they would type it."""

import os
import re
import shutil
import signal
import sys

import av
import pytest
import torch

from tests.cli.commands import goexplore, goexplore_here, tables, wait_until

MY_GAME = '''
"""A game of one's own."""

import os
import time

from goexplore import Environment, Step

CODE = (3, 1, 4, 1, 5, 9, 2, 6)


class Lock(Environment):
    """Eight digits in a row open it; a wrong one means to begin again."""

    action_count = 10

    def __init__(self):
        self.reset()

    def reset(self):
        self.opened = 0

    def step(self, action):
        time.sleep(float(os.environ.get("SLOW", "0")))
        self.opened = self.opened + 1 if action == CODE[self.opened] else 0
        is_open = self.opened == len(CODE)
        return Step(float(is_open), terminated=is_open)

    def observation(self):
        return self.opened

    def snapshot(self):
        return bytes([self.opened])

    def restore(self, snapshot):
        (self.opened,) = snapshot
'''

EXPLORE = ["explore", "my_game:Lock", "--game-frames", "8K", "--exploration.batch-size", "20"]
EXPLORE += ["--exploration.repeat-probability", "0.1", "--exploration.training-frames", "20"]
NAMED = ["--problem", "my_game:Lock"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The user's folder: one file."""
    folder = tmp_path_factory.mktemp("mine")
    (folder / "my_game.py").write_text(MY_GAME)
    return folder


@pytest.fixture(scope="module")
def command(folder):
    """Run a command in the user's folder; return what it printed."""

    def run(*arguments):
        with pytest.MonkeyPatch.context() as inside:
            inside.chdir(folder)
            result = goexplore_here(*arguments)
        assert result.returncode == 0, result.stderr
        return result.stdout

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.delitem(sys.modules, "my_game", raising=False)
        yield run
    sys.modules.pop("my_game", None)
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def run(folder):
    result = goexplore(*EXPLORE, "--run-dir", "run", cwd=folder)
    assert result.returncode == 0, result.stderr
    printed = result.stdout
    assert re.search(r"done: [\d,]+ game frames, 9 cells, 1 ends? of episodes, best score 1 ", printed)
    assert "check: goexplore verify run --problem my_game:Lock" in printed
    return folder / "run"


def test_the_environment_keeps_its_contract(command):
    printed = command("check-env", "my_game:Lock", "--steps", "100")
    assert printed.startswith("my_game:Lock: keeps the contract\n")
    assert "observation: one number" in printed


def test_killed_in_the_middle_and_resumed_the_archive_is_the_same(run, folder, start):
    arguments = [*EXPLORE, "--run-dir", "killed", "--checkpoint-minutes", "0.001"]
    process = start(*arguments, cwd=folder, env={**os.environ, "SLOW": "0.0005"})
    wait_until(lambda: (folder / "killed" / "checkpoints" / "000002").exists())
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert tables(folder / "killed") != tables(run), "it was in the middle"
    result = goexplore(*arguments, "--resume", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert tables(folder / "killed") == tables(run)


def test_without_a_run_directory_it_goes_to_runs(command, folder):
    command(*EXPLORE[:2], "--game-frames", "100", "--workers", "0")
    assert (folder / "runs" / "my_game-Lock-seed0" / "config.json").exists()


def test_info(run, command):
    printed = command("info", "run")
    for words in ("problem      my_game:Lock, seed 0", "engine       python", "best         score 1 "):
        assert words in printed
    assert "ends         1 cell" in printed
    assert "room" not in printed


def test_cells(run, command):
    printed = command("cells", "run", "--sort", "length", "--descending", "--limit", "2")
    heads, best, _, count = printed.splitlines()
    assert "terminated" in best
    assert "room" not in heads
    assert "-1" not in best
    assert count == "2 of 9 cells that match, of 9"
    assert command("cells", "run", "--where", "score > 0", "--csv").count("\n") == 2


def test_verify(run, command):
    printed = command("verify", "run", "--all", *NAMED)
    assert "verified 9 of 9 entries by replay of 9 game frames: no mismatches" in printed


@pytest.fixture(scope="module")
def demos(run, command, folder):
    printed = command("demos", "run", "--out", "demos", *NAMED)
    assert "score 1 (search score) in 8 training frames, terminated, from entry 8 of run; replayed" in printed
    assert "-1" not in printed
    return folder / "demos"


def test_demonstrations_are_verified(demos, command):
    printed = command("verify", "demos", *NAMED)
    assert "Lock-00.demo.json: replayed 8 game frames on python: score 1" in printed


@pytest.fixture(scope="module")
def training(demos, command, folder):
    printed = command(
        *("robustify", "demos", "--run-dir", "training", "--preset", "tiny", "--environments", "8", *NAMED),
        *("--episodes", "2", "--expert.horizon", "12", "--expert.tries", "2", "--cloning.steps", "20"),
        *("--training-frames", "500", "--workers", "1"),
    )
    assert "try it: goexplore evaluate training --problem my_game:Lock" in printed
    return folder / "training"


def test_info_of_the_training(training, command):
    assert "learns from  1 demonstrations" in command("info", "training")


EVALUATE = ["evaluate", "training", "--repetitions", "1", "--max-game-frames", "100", "--workers", "1"]


def test_evaluate(training, command):
    printed = command(*EVALUATE, "--repeat-action-probability", "0", *NAMED)
    assert "31 episodes: sticky actions 0, no no-ops, for no action" in printed
    assert "policy score" in printed


def test_evaluate_a_demonstration_and_chance(demos, command):
    settings = [*EVALUATE[2:], "--repeat-action-probability", "0"]
    printed = command("evaluate", "demos/Lock-00.demo.json", *settings, *NAMED)
    assert "open loop" in printed
    assert "random actions" in command("evaluate", "random:my_game:Lock", *settings)


@pytest.mark.parametrize("source", ["run", "demos/Lock-00.demo.json", "training"])
def test_video(source, training, command, folder):
    file = f"{source.partition('/')[0]}.mp4"
    more = ["--max-game-frames", "50"] if source == "training" else []
    printed = command("video", source, "--out", file, "--scale", "1", *more, *NAMED)
    if source != "training":
        assert "9 pictures of 8 training frames, search score 1" in printed
    with av.open(str(folder / file)) as container:
        assert container.streams.video[0].frames > 5


def test_report(training, command, folder):
    printed = command("report", "run", "training", "--videos", "1", *NAMED)
    assert "run/report.html" in printed
    page = (folder / "run" / "report.html").read_text()
    assert "<b>1</b>best search score" in page
    assert "search score 1 in 8 training frames" in page
    assert page.count("<video") == 2
    assert "room" not in re.sub(r"<pre>.*?</pre>|base64,[^\"]*", "", page, flags=re.DOTALL)


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "run", "--all"],
        ["verify", "demos"],
        ["demos", "run", "--out", "more"],
        ["robustify", "demos", "--run-dir", "more"],
        ["evaluate", "training"],
        ["video", "run"],
        ["video", "training"],
        ["map", "run"],
        ["report", "run"],
    ],
    ids=" ".join,
)
def test_code_is_imported_only_if_it_is_named(arguments, training, complaint, folder, monkeypatch):
    """A file of somebody else's must not decide what runs here."""
    monkeypatch.chdir(folder)
    before = set(folder.iterdir())
    assert complaint(*arguments).endswith(
        "whose code is only imported if you name it: add --problem my_game:Lock"
    )
    assert {file for file in set(folder.iterdir()) - before if file.is_file() or any(file.iterdir())} == set()


def test_another_environment_is_not_taken_for_it(run, folder, complaint):
    line = complaint("verify", run, "--problem", "tests.fields:Field")
    assert line.startswith("expected my_game:Lock, as the file says, got tests.fields:Field")


def test_a_run_that_was_moved_is_still_a_run(run, folder, command):
    shutil.copytree(run, folder / "moved")
    assert "no mismatches" in command("verify", "moved", "--all", *NAMED)
