"""goexplore watch: a run that goes on, one that ended, one that was killed, one that is gone."""

import os
import re
import shlex
import shutil
import time

import pytest

from goexplore.cli._watch import look
from goexplore.problems import find_problem
from goexplore.runs import Limits, SearchDirectory, run_search
from tests.cli.commands import goexplore, wait_until


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "run"
    run_search(find_problem("two-mazes"), run_dir=run, limits=Limits(game_frames=20_000))
    return run


def test_a_run_that_goes_on_is_followed_and_not_disturbed(start, tmp_path):
    run = tmp_path / "run"
    process = start("explore", "montezuma-2021", "--run-dir", run, "--workers", "1")
    wait_until(lambda: "game frames" in look(run))
    shown = look(run)
    assert re.fullmatch(r"going on, last sign of life 0:\d\d ago", shown["state"])
    assert int(shown["game frames"].replace(",", "")) > 0
    wait_until(lambda: look(run)["game frames"] != shown["game frames"])
    process.kill()
    process.wait()
    assert look(run)["state"].startswith("not running")


def test_what_has_ended_says_how_to_go_on(finished):
    shown = look(finished)
    assert shown["state"].endswith(f"to resume it: goexplore explore two-mazes --run-dir {finished} --resume")
    assert shown["best score"] == "100"
    assert shown["since"].endswith("game frames")


def test_the_command_that_it_says_goes_on_with_all_settings(tmp_path):
    run = tmp_path / "a run"
    settings = ["--seed", "3", "--exploration.batch-size", "7", "--game-frames", "2000", "--workers", "0"]
    assert goexplore("explore", "two-mazes", *settings, "--run-dir", run).returncode == 0
    _, command = look(run)["state"].split("to resume it: goexplore ")
    result = goexplore(*shlex.split(command))
    assert result.returncode == 0, result.stderr


def test_what_is_silent_for_long_may_be_stalled(finished):
    with SearchDirectory.open(finished).locked():
        assert look(finished, time.time() + 100)["state"].startswith("stalled?, last sign of life 1:4")


def test_a_clock_that_went_back_is_forgiven(finished):
    with SearchDirectory.open(finished).locked():
        assert look(finished, time.time() - 1e6)["state"] == "going on, last sign of life 0:00 ago"


def test_a_run_that_has_just_begun_has_little_to_show(tmp_path):
    with SearchDirectory.create(tmp_path / "run", find_problem("two-mazes")):
        assert set(look(tmp_path / "run")) == {"state"}


def test_a_run_that_is_gone_is_told(tmp_path):
    assert look(tmp_path / "nowhere") == {"state": "gone: its folder is not there"}


def test_damaged_metrics_do_not_stop_it(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run" / "metrics.jsonl").write_bytes(os.urandom(2000))
    assert set(look(tmp_path / "run")) == {"state"}


def test_without_a_terminal_it_prints_a_line_for_each_run(finished):
    result = goexplore("watch", finished, finished)
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 2
    assert f"{finished}: state not running" in result.stdout
