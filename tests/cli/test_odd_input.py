"""Names, numbers and places that nobody expects: one clear line, and nothing is lost."""

import json
import os
import shlex
import shutil
import subprocess

import pytest

from goexplore.cli import main
from goexplore.cli._progress import event_lines
from goexplore.runs import SearchDirectory
from tests.cli.commands import COMMAND, goexplore, goexplore_here

QUICK = ["--game-frames", "4K", "--engine", "ale", "--exploration.batch-size", "10", "--workers", "0"]


@pytest.mark.slow
def test_a_run_directory_need_not_be_utf_8(tmp_path):
    run = tmp_path / os.fsdecode(b"caf\xe9 \xff")
    result = goexplore("explore", "montezuma", "--run-dir", run, *QUICK)
    assert result.returncode == 0, result.stderr
    assert SearchDirectory.open(run).last_checkpoint().status.game_frames >= 4000
    for verb in ("info", "verify", "report"):
        result = goexplore(verb, run)
        assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a short run in a folder whose name is not UTF-8 and means something to a shell."""
    run = tmp_path_factory.mktemp("runs") / os.fsdecode(b"caf\xe9 $HOME")
    short = ["--game-frames", "20K", "--workers", "0"]
    result = goexplore_here("explore", "two-mazes", "--run-dir", run, *short)
    assert result.returncode == 0, result.stderr
    return run


def test_cells_of_a_run_directory_that_is_not_utf_8_are_listed(finished):
    result = goexplore_here("cells", finished, "--limit", "2")
    assert result.returncode == 0, result.stderr
    assert "2 of " in result.stdout


def test_demonstrations_of_a_run_directory_that_is_not_utf_8_can_be_read(finished, tmp_path):
    assert goexplore_here("demos", finished, "--out", tmp_path).returncode == 0
    result = goexplore_here("verify", tmp_path)
    assert result.returncode == 0, result.stdout
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text())["content"]["provenance"]["run"] == "caf? $HOME"


def test_what_a_file_says_does_nothing_to_a_terminal_and_is_cut(finished, tmp_path):
    shutil.copytree(finished, run := tmp_path / "run")
    written = json.loads((run / "config.json").read_text())
    written["command"] = ["goexplore", "explore", "two mazes", "\x1b[2J" + "x" * 10**6]
    written["versions"]["\x1b]0;title\x07"] = "y" * 10**6
    (run / "config.json").write_text(json.dumps(written))
    for verb in ("info", "watch"):
        shown = goexplore_here(verb, run).stdout
        assert "\x1b" not in shown
        assert len(shown) < 10_000
    assert "command      goexplore explore 'two mazes' '?[2Jxxx" in goexplore_here("info", run).stdout


def test_names_of_events_do_nothing_to_a_terminal():
    assert event_lines({"\x1b[2J": 1}) == ["event ?[2J: 1 way found, one for each cell"]


def test_errors_do_nothing_to_a_terminal(complaint):
    assert "\x1b" not in complaint("info", "\x1b[2J")


@pytest.mark.parametrize("arguments", [["--help"], ["info", "--help"], ["info", "RUN"], ["verify", "RUN"]])
def test_output_that_cannot_be_written_is_one_line(finished, arguments):
    words = [str(finished) if word == "RUN" else word for word in arguments]
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 2
    assert result.stderr.startswith("goexplore: expected free disk space, got ")
    assert result.stderr.count("\n") == 1


def test_output_that_nobody_reads_is_no_failure_of_ours(finished):
    reads, writes = os.pipe()
    os.close(reads)
    try:
        command = [*COMMAND, "info", str(finished)]
        result = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writes)
    assert (result.returncode, result.stderr) == (141, "")


def test_a_folder_that_cannot_be_written_is_told_by_the_option_that_names_it(complaint):
    assert "choose another --run-dir" in complaint("compare", "two-mazes", "--run-dir", "/proc/compared")


def test_commands_to_copy_can_be_copied(tmp_path):
    run = tmp_path / "it's $HOME; `run`"
    result = goexplore("explore", "montezuma", "--run-dir", run, *QUICK)
    assert f"check: {shlex.join(['goexplore', 'verify', str(run)])})" in result.stdout


def test_an_endless_name_is_not_echoed_whole(complaint):
    assert len(complaint("explore", "montezuma" * 100_000)) < 2100
    assert len(complaint("info", "run" * 100_000)) < 2100


def test_an_endless_argument_is_not_echoed_whole(capsys):
    with pytest.raises(SystemExit):
        main(["info", "run", "--" + "x" * 100_000])
    said = capsys.readouterr()
    assert 100 < len(said.err) < 2100
    assert not said.out


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--env.frame-skip", "1000000000", "--env.frame-skip to be 1,000 or less"),
        ("--minutes", "1e308", "--minutes to be 1,000,000,000,000,000 or less"),
        ("--seed", str(2**64), "--seed to be 18,446,744,073,709,551,615 or less"),
        ("--exploration.batch-size", "1000000000", "batch-size to be 10,000,000 or less"),
        ("--selection.rank-weight", "inf", "rank"),
        ("--timeout-seconds", "1e15", "--timeout-seconds to be 10,000,000 or less"),
        ("--game-frames", "9" * 5000, "--game-frames to be a whole number such as 250000"),
        ("--memory-limit", "9" * 5000 + "G", "--memory-limit to be a size such as 2G"),
    ],
)
def test_numbers_that_nobody_can_mean_are_refused(complaint, tmp_path, option, value, message):
    said = complaint("explore", "montezuma", "--run-dir", tmp_path / "run", option, value)
    assert message in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("robustify KEY --expert.horizon 1000000000", "--expert.horizon to be between 1 and 10,000"),
        ("robustify KEY --expert.tries 1000000000", "--expert.tries to be between 1 and 1,000"),
        ("robustify KEY --network.hidden 1000000000", "--network.hidden to be 16,384 or less"),
        ("robustify KEY --network.channels 1000000000", "--network.channels to be 4,096 or less"),
        ("robustify KEY --cloning.batch 1000000000000", "--cloning.batch to be 65,536 or less"),
        ("robustify KEY --preprocessing.stack 10000", "--preprocessing.stack to be 100 or less"),
        ("robustify KEY --allowed-deficit nan", "--allowed-deficit to be 0 or more, got nan"),
        ("robustify KEY --allowed-deficit inf", "--allowed-deficit to be 1,000,000,000,000,000 or less"),
        ("robustify KEY --environments 1000000000000", "--environments to be between 1 and 65,536"),
        ("robustify KEY --ppo.steps 1000000000000", "--ppo.steps to be 65,536 or less"),
        ("explore ALE/Pong-v5 --cells.draws 100000000000", "--cells.draws to be 1,000,000 or less"),
        ("video montezuma-first-key --no-ops 1000000000", "--no-ops to be 10,000 or less"),
        ("watch . --seconds 1e15 --on-milestone true", "--seconds to be between 0.01 and 86,400"),
        ("compare two-mazes --seeds 1000000000000", "--seeds to be 10,000 or less"),
        ("verify KEY --workers 4097", "--workers to be 4,096 or less"),
        ("certify pong --workers 100000", "--workers to be 4,096 or less"),
        ("certify pong --seed -1", "--seed to be a whole number of 0 or more"),
        ("play-expert KEY --seed -1", "--seed to be a whole number of 0 or more"),
        (
            "play-expert KEY --seed 100000000000000000000000",
            "--seed to be 18,446,744,073,709,551,615 or less",
        ),
        ("play-expert KEY --deficit nan", "--deficit to be 0 or more"),
    ],
)
def test_each_command_refuses_them(complaint, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    verb, *rest = arguments.replace("KEY", "montezuma-first-key-00").split()
    where = ["--run-dir", "run"] if verb in ("robustify", "explore", "compare") else []
    assert message in complaint(verb, *rest, *where)
    assert not list(tmp_path.iterdir())


def test_the_largest_seed_is_a_seed(tmp_path, capsys):
    seed = str(2**64 - 1)
    assert main(["explore", "montezuma", "--run-dir", str(tmp_path / "run"), "--seed", seed, *QUICK]) == 0
    assert SearchDirectory.open(tmp_path / "run").seed() == 2**64 - 1
