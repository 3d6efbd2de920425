"""Names, numbers and places that nobody expects: one clear line, and nothing is lost."""

import os
import shlex

import pytest

from goexplore.cli import main
from goexplore.runs import SearchDirectory
from tests.cli.commands import goexplore

QUICK = ["--game-frames", "4K", "--engine", "ale", "--exploration.batch-size", "10", "--workers", "0"]


def test_a_run_directory_need_not_be_utf_8(tmp_path):
    run = tmp_path / os.fsdecode(b"caf\xe9 \xff")
    result = goexplore("explore", "montezuma", "--run-dir", run, *QUICK)
    assert result.returncode == 0, result.stderr
    assert SearchDirectory.open(run).last_checkpoint().status.game_frames >= 4000
    for verb in ("info", "verify", "report"):
        result = goexplore(verb, run)
        assert result.returncode == 0, result.stderr


def test_commands_to_copy_can_be_copied(tmp_path):
    run = tmp_path / "it's $HOME; `run`"
    result = goexplore("explore", "montezuma", "--run-dir", run, *QUICK)
    assert f"check: {shlex.join(['goexplore', 'verify', str(run)])})" in result.stdout


def test_an_endless_name_is_not_echoed_whole(complaint):
    assert len(complaint("explore", "montezuma" * 100_000)) < 2100
    assert len(complaint("info", "run" * 100_000)) < 2100


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--env.frame-skip", "1000000000", "--env.frame-skip to be 1,000 or less"),
        ("--minutes", "1e308", "--minutes to be 1,000,000,000,000,000 or less"),
        ("--seed", str(2**64), "--seed to be 18,446,744,073,709,551,615 or less"),
        ("--exploration.batch-size", "1000000000", "batch-size to be 10,000,000 or less"),
        ("--selection.rank-weight", "inf", "rank"),
    ],
)
def test_numbers_that_nobody_can_mean_are_refused(complaint, tmp_path, option, value, message):
    said = complaint("explore", "montezuma", "--run-dir", tmp_path / "run", option, value)
    assert message in said
    assert not (tmp_path / "run").exists()


def test_the_largest_seed_is_a_seed(tmp_path, capsys):
    seed = str(2**64 - 1)
    assert main(["explore", "montezuma", "--run-dir", str(tmp_path / "run"), "--seed", seed, *QUICK]) == 0
    assert SearchDirectory.open(tmp_path / "run").seed() == 2**64 - 1
