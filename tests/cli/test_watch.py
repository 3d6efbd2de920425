"""goexplore watch: a run that goes on, one that ended, one that was killed, one that is gone."""

import dataclasses
import io
import itertools
import os
import re
import shlex
import shutil
import time
from pathlib import Path

import pytest
from rich.console import Console

from goexplore.cli._watch import Follower, _shown, look
from goexplore.problems import find_problem
from goexplore.runs import Limits, SearchDirectory, SearchMetrics, run_search
from tests.cli.commands import goexplore, wait_until
from tests.cli.test_milestones import settle


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
    assert look(run)["state"].startswith("not running: killed, last sign of life")


def test_what_has_ended_says_how_to_go_on(finished):
    shown = look(finished)
    assert shown["state"].startswith("not running: ended, last sign of life")
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
        seen = SearchDirectory.open(finished).last_sign_of_life()
        assert look(finished, seen + 100)["state"] == "stalled?, last sign of life 1:40 ago"


def test_a_clock_that_went_back_is_forgiven(finished):
    with SearchDirectory.open(finished).locked():
        assert look(finished, time.time() - 1e6)["state"] == "going on, last sign of life 0:00 ago"


def test_a_run_that_has_just_begun_has_little_to_show(tmp_path):
    with SearchDirectory.create(tmp_path / "run", find_problem("two-mazes")):
        assert set(look(tmp_path / "run")) == {"state"}


def test_a_run_that_is_gone_is_told(tmp_path):
    assert look(tmp_path / "nowhere") == {"state": "gone: its folder is not there"}


def test_a_name_that_no_folder_can_have_is_no_run():
    assert look(Path("run" * 100_000)) == {"state": "gone: its folder is not there"}


def test_a_run_that_failed_says_why(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")

    def fail():
        with SearchDirectory.open(tmp_path / "run").locked():
            raise OSError("\x1b[2Jno more" + "!" * 10**6)

    with pytest.raises(OSError, match="no more"):
        fail()
    state = look(tmp_path / "run")["state"]
    assert state.startswith("not running: failed: ?[2Jno more!")
    assert len(state) < 2100


def test_damaged_metrics_do_not_stop_it(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run" / "metrics.jsonl").write_bytes(os.urandom(2000))
    assert set(look(tmp_path / "run")) == {"state"}


class TestMilestones:
    """`--on-milestone` of watch: what another process has done, and how it ended."""

    @pytest.fixture
    def followed(self, tmp_path):
        """Return a run on which somebody works, what follows it, and what was said about it."""
        said = tmp_path / "said"
        with SearchDirectory.create(tmp_path / "run", find_problem("two-mazes")) as run:
            command = f'echo "$GOEXPLORE_MILESTONE $GOEXPLORE_VALUE $GOEXPLORE_RUN" >> {said}'
            follower = Follower(command, run.path)

            def lines():
                settle(follower._milestones)
                return said.read_text().replace(f" {run.path}", "").splitlines()

            yield run, follower, lines

    def record(self, run, **values):
        run.append_metrics(dataclasses.asdict(SearchMetrics(**values)))

    def test_a_better_score_and_a_new_level_are_told(self, followed):
        run, follower, lines = followed
        follower.look()
        for score, level in ((0, 0), (100, 0), (100, 0), (100, 1)):
            self.record(run, game_frames=1, max_score=score, has_result=score > 0, level=level)
            follower.look()
            if score:
                lines()
        assert lines() == ["score 100", "level 1"]

    def test_the_end_of_a_run_that_has_saved_everything_is_told(self, finished, tmp_path):
        follower = Follower(f"echo $GOEXPLORE_MILESTONE > {tmp_path / 'said'}", finished)
        with SearchDirectory.open(finished).locked():
            follower.look()
        follower.look()
        settle(follower._milestones)
        assert (tmp_path / "said").read_text() == "end\n"

    def test_an_error_is_a_failure_even_if_all_progress_was_saved(self, finished, tmp_path):
        follower = Follower(f"echo $GOEXPLORE_MILESTONE $GOEXPLORE_VALUE > {tmp_path / 'said'}", finished)

        def fail():
            with SearchDirectory.open(finished).locked():
                follower.look()
                raise OSError("no more")

        with pytest.raises(OSError, match="no more"):
            fail()
        follower.look()
        settle(follower._milestones)
        assert (tmp_path / "said").read_text() == "failure failed: no more\n"

    def test_a_run_that_was_killed_has_failed(self, start, tmp_path):
        run, said = tmp_path / "run", tmp_path / "said"
        process = start("explore", "montezuma-2021", "--run-dir", run, "--workers", "1")
        command = f"echo $GOEXPLORE_MILESTONE $GOEXPLORE_VALUE $GOEXPLORE_RUN >> {said}"
        watch = start("watch", run, "--on-milestone", command, "--seconds", "0.1")
        wait_until(lambda: "game frames" in look(run))
        better = itertools.count(10**6)

        def is_followed():
            """Tell whether what is better than ever before was noticed."""
            self.record(SearchDirectory.open(run), game_frames=1, max_score=next(better), has_result=True)
            return said.exists()

        wait_until(is_followed)
        process.kill()
        process.wait()
        wait_until(lambda: said.exists() and f"failure killed {run}\n" in said.read_text())
        watch.kill()
        watch.wait()


@pytest.mark.parametrize("rows", [40, 12])
def test_a_terminal_that_is_too_small_for_panels_gets_lines(finished, rows):
    console = Console(width=100, height=rows, file=io.StringIO(), force_terminal=True)
    console.print(_shown((finished, finished), console))
    shown = console.file.getvalue()
    assert ("╭" in shown) == (rows == 40)
    assert len(shown.splitlines()) < rows
    assert shown.count("not running") == 2


def test_without_a_terminal_it_prints_a_line_for_each_run(finished):
    result = goexplore("watch", finished, finished)
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 2
    assert f"{finished}: state not running" in result.stdout
