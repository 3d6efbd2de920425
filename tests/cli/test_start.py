"""`goexplore explore --from`: as real processes, killed and resumed, and what they say of mistakes."""

import signal

import pytest

from goexplore.cli import main
from goexplore.runs import SearchDirectory, explore_again_command, resume_command
from tests.cli.commands import goexplore, tables, wait_until

KEY = "montezuma-first-key-00"
SMALL = ["--exploration.batch-size", "20", "--game-frames", "40K"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "key"
    result = goexplore("explore", "montezuma", "--from", KEY, "--run-dir", run, *SMALL)
    assert result.returncode == 0, result.stderr
    assert "start: entry 102 of montezuma-2021-seed1: score 100 after 72 training frames" in result.stderr
    return run


@pytest.mark.slow
def test_killed_at_any_moment_and_resumed_without_the_demonstration_the_archive_is_the_same(
    finished, start, tmp_path
):
    run, often = tmp_path / "run", ["--checkpoint-minutes", "0.002"]
    process = start("explore", "montezuma", "--from", KEY, "--run-dir", run, *SMALL, *often)
    wait_until(lambda: (run / "checkpoints" / "000002").exists())
    process.send_signal(signal.SIGKILL)
    process.wait()
    result = goexplore("explore", "montezuma", "--run-dir", run, *SMALL, "--resume")
    assert result.returncode == 0, result.stderr
    assert tables(run) == tables(finished)


@pytest.mark.slow
def test_ray_finds_the_same(finished, tmp_path):
    pytest.importorskip("ray")
    ray = ["--executor", "ray", "--workers", "1"]
    result = goexplore("explore", "montezuma", "--from", KEY, "--run-dir", tmp_path / "run", *SMALL, *ray)
    assert result.returncode == 0, result.stderr
    assert tables(tmp_path / "run") == tables(finished)


@pytest.mark.parametrize("verb", ["info", "verify", "demos", "report", "map", "cells", "watch"])
def test_all_that_looks_at_runs_looks_at_this_one(verb, finished, tmp_path, capsys):
    more = {
        "verify": ["--all"],
        "demos": ["--out", str(tmp_path / "demos")],
        "report": ["--out", str(tmp_path / "report.html"), "--videos", "0"],
        "map": ["--out", str(tmp_path / "map.png")],
        "watch": ["--once"],
    }
    assert main([verb, str(finished), *more.get(verb, [])]) == 0
    said = capsys.readouterr().out
    if verb == "info":
        assert "started from entry 102 of montezuma-2021-seed1: score 100 after 72 training" in said
    if verb == "verify":
        assert "no mismatches" in said


@pytest.mark.slow
def test_by_default_a_run_is_named_after_what_it_started_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["explore", "montezuma", "--from", KEY, "--game-frames", "1", "--workers", "0"]) == 0
    assert (tmp_path / "runs" / f"montezuma-from-{KEY}-seed0" / "config.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["montezuma", "--from", "nowhere"], "a folder of them or a sample, got 'nowhere': samples are"),
        (["pitfall", "--from", KEY], "expected --from to be a demonstration of pitfall with the settings of"),
        (["two-mazes", "--from", KEY], "expected --from to be a demonstration of two-mazes, got another"),
        (["montezuma", "--from", KEY, "--env.frame-skip", "5"], "frame_skip is 5, not 4"),
    ],
)
def test_mistakes_get_one_line_and_nothing_is_written(arguments, words, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in complaint("explore", *arguments, "--game-frames", "1")
    assert list(tmp_path.iterdir()) == []


def test_a_resume_from_elsewhere_is_refused(finished, complaint):
    line = complaint(
        *("explore", "montezuma", "--run-dir", finished, *SMALL, "--resume"),
        *("--from", "montezuma-first-key-01"),
    )
    assert "score 100 after 72 training frames), got another (" in line
    assert line.endswith("omit --from, or start a new run")


def test_a_run_knows_how_it_is_resumed_and_how_to_explore_from_its_cells(finished):
    directory = SearchDirectory(finished)
    begun = ["goexplore", "explore", "montezuma", *SMALL]
    assert resume_command(directory) == [*begun, "--run-dir", str(finished), "--resume"]
    assert explore_again_command(directory) == begun
