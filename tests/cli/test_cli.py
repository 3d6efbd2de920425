"""The command line as a user meets it: real processes, real games, real signals."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from goexplore.cli import main
from goexplore.demos import SUFFIX, sample_file
from tests.cli.commands import (
    COMMAND,
    checkpoint,
    children,
    goexplore,
    goexplore_here,
    is_at_work,
    tables,
    wait_until,
)

QUICK = ["--engine", "ale", "--exploration.batch-size", "5"]
LIMIT = ["--game-frames", "20K"]


def test_help_answers_at_once():
    began = os.times()
    result = goexplore("--help")
    ended = os.times()
    assert result.returncode == 0
    assert "explore" in result.stdout
    spent = ended.children_user - began.children_user + ended.children_system - began.children_system
    assert spent < 1.0, "seconds of a processor, which others may be using too"


def test_help_of_explore_lists_every_setting():
    text = goexplore("explore", "montezuma", "--help").stdout
    for option in (
        "--game-frames",
        "--until-level",
        "--selection.rank-weight",
        "--exploration.repeat-probability",
        "--cells.cell-width",
        "--env.frame-skip",
        "--env.episode-end",
    ):
        assert option in text


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "run"
    result = goexplore("explore", "montezuma", *LIMIT, "--run-dir", run, *QUICK)
    assert result.returncode == 0, result.stderr
    return run, result


def test_explore_reports_progress_and_what_it_found(finished):
    run, result = finished
    assert re.search(r"game frames [\d,]+ \| game frames/s", result.stdout)
    assert re.search(r"done: [\d,]+ game frames, [\d,]+ cells, \d+ rooms, level 0", result.stdout)
    assert str(run) in result.stdout


def test_metrics_have_the_documented_names(finished):
    line = json.loads((finished[0] / "metrics.jsonl").read_text().splitlines()[-1])
    assert set(line) == {
        "batches",
        "game_frames",
        "game_frames_with_replay",
        "game_frames_replayed",
        "wall_seconds",
        "cells",
        "ends",
        "events",
        "revisions",
        "given_up",
        "rooms",
        "level",
        "max_score",
        "has_result",
        "game_frames_per_second",
        "memory_bytes",
        "spilled_bytes",
        "spill_seconds",
        "page_reads",
    }
    assert line["game_frames"] >= 20_000
    assert line["game_frames_with_replay"] >= line["game_frames"]


def test_tensorboard_reads_the_event_file(finished):
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    (file,) = (finished[0] / "tensorboard").iterdir()
    events = list(EventFileLoader(str(file)).Load())
    tags = {value.tag for event in events for value in event.summary.value}
    assert "explore/cells" in tags
    assert events[-1].step >= 20_000


def test_verify_confirms_every_entry(finished):
    result = goexplore_here("verify", finished[0], "--all")
    assert result.returncode == 0, result.stderr
    assert re.search(r"verified ([\d,]+) of \1 entries .* no mismatches", result.stdout)


def test_info_summarises_the_run(finished):
    text = goexplore_here("info", finished[0]).stdout
    for words in (
        "problem      montezuma, seed 0",
        "engine       ale",
        "game frames",
        "cells",
        "rooms",
        "search score",
        "ale-py",
    ):
        assert words in text


def test_pandas_opens_the_archive(finished):
    import pandas

    frame = pandas.read_parquet(checkpoint(finished[0]) / "archive.parquet")
    assert {"cell", "score", "length", "room", "x", "y", "keys"} <= set(frame.columns)
    assert frame.score.max() >= 0
    assert frame.cell.is_unique


def test_verify_finds_a_trajectory_that_does_not_lead_where_it_should(finished, tmp_path):
    """A changed action and a changed score, with checksums that fit: only the replay can tell."""
    import hashlib

    import pyarrow as pa
    import pyarrow.parquet as pq

    run = tmp_path / "changed"
    shutil.copytree(finished[0], run)
    folder = checkpoint(run)
    table = pq.read_table(folder / "archive.parquet")
    scores = table["score"].to_pylist()
    scores[3] += 100
    table = table.set_column(table.column_names.index("score"), "score", pa.array(scores))
    pq.write_table(table, folder / "archive.parquet")
    meta = json.loads((folder / "meta.json").read_text())
    meta["sha256"]["archive.parquet"] = hashlib.sha256((folder / "archive.parquet").read_bytes()).hexdigest()
    (folder / "meta.json").write_text(json.dumps(meta))
    result = goexplore_here("verify", run, "--all")
    assert result.returncode == 1
    assert "entry 3: expected score" in result.stdout


@pytest.mark.parametrize(
    "workers", [pytest.param(["--workers", "0"], marks=pytest.mark.slow), ["--workers", "3"]]
)
def test_the_number_of_workers_does_not_change_a_byte(finished, workers, tmp_path):
    result = goexplore("explore", "montezuma", *LIMIT, "--run-dir", tmp_path / "run", *QUICK, *workers)
    assert result.returncode == 0, result.stderr
    assert tables(tmp_path / "run") == tables(finished[0])


@pytest.mark.parametrize(
    "preset",
    [
        "montezuma",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("montezuma-2021", "pitfall-pixels")),
    ],
)
def test_killed_at_any_moment_and_resumed_the_archive_is_the_same(preset, finished, start, tmp_path):
    whole, run = finished[0], tmp_path / "run"
    if preset != "montezuma":
        whole = tmp_path / "whole"
        result = goexplore("explore", preset, *LIMIT, "--run-dir", whole, *QUICK)
        assert result.returncode == 0, result.stderr
    arguments = ["explore", preset, *LIMIT, "--run-dir", run, *QUICK]
    often = ["--checkpoint-minutes", "0.002"]
    process = start(*arguments, *often)
    wait_until(lambda: (run / "checkpoints" / "000002").exists())
    process.send_signal(signal.SIGKILL)
    process.wait()
    result = goexplore(*arguments, *often, "--resume")
    assert result.returncode == 0, result.stderr
    assert tables(run) == tables(whole)
    frames = [json.loads(line)["game_frames"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert frames == sorted(frames)


def test_a_worker_killed_in_the_middle_does_not_change_a_byte(finished, start, tmp_path):
    run = tmp_path / "run"
    arguments = ["explore", "montezuma", *LIMIT, "--run-dir", run, "--workers", "2", *QUICK]
    process = start(*arguments, "--checkpoint-minutes", "0.002")
    wait_until(lambda: (run / "checkpoints" / "000001").exists())
    os.kill(children(process)[0], signal.SIGKILL)
    assert process.wait(120) == 0
    assert tables(run) == tables(finished[0])


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        *(pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGINT, signal.SIGHUP)),
    ],
)
def test_an_interrupt_writes_a_checkpoint_and_stops_cleanly(finished, start, number, tmp_path):
    run = tmp_path / "run"
    arguments = ["explore", "montezuma", "--run-dir", run, *QUICK]
    process = start(*arguments)
    wait_until(lambda: (run / "tensorboard").exists() and is_at_work(process))
    workers = children(process)
    process.send_signal(number)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "stopped:" in output
    assert "--resume" in errors
    assert len(list((run / "checkpoints").iterdir())) == 1
    for worker in workers:
        wait_until(lambda worker=worker: not Path(f"/proc/{worker}").exists())
    result = goexplore(*arguments, "--resume", *LIMIT)
    assert result.returncode == 0, result.stderr
    assert tables(run) == tables(finished[0])


@pytest.mark.parametrize("ending", ["| head -1", "> /dev/full 2>&1"])
def test_a_search_goes_on_where_nobody_can_read_what_it_prints(finished, ending, tmp_path):
    run = tmp_path / "run"
    arguments = ["explore", "montezuma", *LIMIT, "--run-dir", str(run), *QUICK]
    command = shlex.join([*COMMAND, *arguments])
    subprocess.run(f"{command} {ending}", shell=True, capture_output=True, timeout=120, check=False)
    assert tables(run) == tables(finished[0])


def test_workers_end_with_a_main_process_that_was_killed(start, tmp_path):
    run = tmp_path / "run"
    process = start("explore", "montezuma", "--run-dir", run, *QUICK)
    wait_until(lambda: (run / "tensorboard").exists() and is_at_work(process))
    workers = children(process)
    process.kill()
    process.wait()
    for worker in workers:
        wait_until(lambda worker=worker: not Path(f"/proc/{worker}").exists())


MISTAKES = [
    (["explore", "montezumma"], "Did you mean montezuma?"),
    (["explore", "ALE/Pitfal-v5"], "Did you mean ALE/Pitfall-v5?"),
    (["explore", "ALE"], "expected a name that begins with ALE/ (any Atari game"),
    (["explore", "no_such_module:Lock"], "expected a module no_such_module on Python's path"),
    (
        ["explore", "tests.fields:Feld"],
        "expected Feld in the module tests.fields, got none. Did you mean Field?",
    ),
    (["explore", "--minutes", "3"], "expected TARGET first, got '--minutes'"),
    (["explode"], "Did you mean explore?"),
    (["explore", "montezuma", "--workers", "-1"], "expected --workers to be 0 or more, got -1"),
    (["explore", "montezuma", "--executor", "ray", "--workers", "0"], "--workers to be 1 or more, got 0"),
    (["explore", "montezuma", "--ray-address", "auto"], "expected --executor ray with --ray-address auto"),
    (
        ["explore", "montezuma", "--executor", "ray", "--ray-address", "127.0.0.1:1"],
        "expected a Ray cluster at --ray-address 127.0.0.1:1, got no answer",
    ),
    (["explore", "montezuma", "--game-frames", "-5"], "expected --game-frames to be more than 0, got -5"),
    (
        ["explore", "montezuma", "--game-frames", "many"],
        "expected --game-frames to be a whole number such as",
    ),
    (["explore", "montezuma", "--minutes", "0"], "expected --minutes to be more than 0, got 0"),
    (["explore", "montezuma", "--minutes", "inf"], "expected --minutes to be more than 0, got inf"),
    (["explore", "montezuma", "--until-level", "0"], "expected --until-level to be more than 0, got 0"),
    (["explore", "montezuma", "--checkpoint-minutes", "nan"], "--checkpoint-minutes to be more than 0"),
    (["explore", "montezuma", "--seed", "-1"], "0 or more, got -1"),
    (["explore", "montezuma", "--env.game", "ALE/Pong-v5"], "for montezuma cells, got ALE/Pong-v5"),
    (["explore", "montezuma", "--env.frame-skip", "0"], "expected --env.frame-skip to be 1 or more, got 0"),
    (["explore", "montezuma", "--cells.cell-width", "0"], "expected --cells.cell-width to be"),
    (["explore", "montezuma-pixels", "--cells.width", "200"], "at least 200 x 8 pixels, got 160 x 210"),
    (["explore", "montezuma-pixels", "--cells", "dynamc"], "got 'dynamc'. Did you mean dynamic?"),
    (["explore", "montezuma-pixels", "--cells"], "expected cells such as downscaled, dynamic"),
    (["explore", "montezuma", "--cells", "dynamic"], "to be 0 for cells that have no neighbours"),
    (
        ["explore", "montezuma-pixels", "--selection.rank-weight", "1"],
        "expected --selection.rank-weight to be 0 for cells that have no rank, got 1",
    ),
    (
        ["explore", "montezuma", "--exploration.batch-size", "0"],
        "expected --exploration.batch-size to be a whole number of 1 or more, got 0",
    ),
    (["explore", "two-mazes", "--engine", "native"], "expected --engine auto for two-mazes"),
    (["explore", "montezuma", "--run-dir", "/dev/null/run"], "Not a directory"),
    (["explore", "montezuma", "--resume", "--run-dir", "/nowhere"], "config.json"),
    (["info", "/nowhere"], "config.json"),
    (["cells", "/nowhere"], "config.json"),
    (["report", "/nowhere"], "config.json"),
    (["verify", "/nowhere"], "expected a demonstration's file, a folder of them or a sample, got '/nowhere'"),
    (["check-env", "montezuma", "--steps", "0"], "expected --steps to be 1 or more, got 0"),
    (["check-env", "montezuma", "--timeout-seconds", "0"], "--timeout-seconds to be between 0.001 and"),
]


@pytest.mark.parametrize(("arguments", "words"), MISTAKES)
def test_bad_input_gets_one_clear_line_with_the_flag_to_change(
    arguments, words, complaint, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    line = complaint(*arguments)
    assert words in line
    assert list(tmp_path.iterdir()) == []


def test_one_line_is_all_that_a_real_process_says(tmp_path):
    result = goexplore("explore", "montezuma", "--exploration.batch-size", "0", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith("goexplore: expected --exploration.batch-size to be a whole number")
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ["info", "cells", "verify", "video", "report", "map", "demos", "explore"])
def test_a_run_of_the_first_format_is_refused(verb, finished, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = Path(shutil.copytree(finished[0], tmp_path / "run"))
    config = json.loads((run / "config.json").read_text())
    config["format"] = 1
    config["config"] = config.pop("search")
    (run / "config.json").write_text(json.dumps(config))
    more = {"demos": ["--out", "demos"], "explore": ["--resume", *QUICK]}.get(verb, [])
    arguments = [verb, "montezuma", "--run-dir", run] if verb == "explore" else [verb, run]
    line = complaint(*arguments, *more)
    assert "expected a run of format 2, got format 1" in line
    assert "read it with the version of goexplore in its config.json" in line


def test_the_problems_that_are_registered_are_listed(capsys):
    assert main(["explore", "--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"montezuma", "montezuma-2021", "pitfall-pixels", "two-mazes", "ALE/..."} <= set(names)
    assert names == sorted(names)


@pytest.mark.parametrize("verb", ["explore", "compare"])
def test_a_verb_without_a_target_says_what_one_is(verb, capsys):
    assert main([verb]) == 2
    assert f"usage: goexplore {verb} TARGET" in capsys.readouterr().out
    assert main([verb, "--help"]) == 0


def test_an_environment_can_be_checked(capsys):
    assert main(["check-env", "two-mazes", "--steps", "100"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("two-mazes: keeps the contract\n")
    assert "steps/s" in said


def test_an_environment_that_fails_is_told_check_by_check(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["check-env", "tests.api.test_front_door:Textual", "--steps", "100"]) == 1
    said = capsys.readouterr().out
    assert "FAIL" in said
    assert "expected bytes from Textual.snapshot, got str" in said
    assert complains_about(capsys, "explore", "tests.api.test_front_door:Textual") == (
        "expected bytes from Textual.snapshot, got str: return everything that `restore` needs, as bytes"
    )
    assert list(tmp_path.iterdir()) == []


def complains_about(capsys, *arguments):
    assert main(list(arguments)) == 2
    return capsys.readouterr().err.strip().removeprefix("goexplore: ").partition(" (check ")[0]


def test_a_run_that_exists_is_not_touched(finished):
    before = tables(finished[0])
    result = goexplore_here("explore", "montezuma", "--run-dir", finished[0], *QUICK)
    assert result.returncode == 2
    assert "continue it with --resume" in result.stderr
    assert tables(finished[0]) == before


def test_a_resume_with_other_settings_is_refused(finished):
    result = goexplore_here("explore", "montezuma", "--run-dir", finished[0], "--resume")
    assert result.returncode == 2
    assert "exploration.batch_size is 5, not 1000" in result.stderr


@pytest.mark.parametrize(
    ("text", "number"),
    [("4.1M", 4_100_000), ("60M", 60_000_000), ("1.2B", 1_200_000_000), ("250_000", 250_000)],
)
def test_counts_may_be_written_short(text, number):
    from goexplore.cli._arguments import parse_count

    assert parse_count(text) == number


FULL_DISK = """
import resource, sys
import goexplore.api._explore as front
from goexplore.cli import main

check = front.require_env

def check_then_fill(*problem, **settings):
    notes = check(*problem, **settings)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
    return notes

front.require_env = check_then_fill
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("size", [100, 2500])
def test_a_full_disk_is_one_clear_line(size, tmp_path):
    arguments = ["explore", "montezuma", "--game-frames", "10K", "--run-dir", tmp_path / "run", *QUICK]
    command = [sys.executable, "-c", FULL_DISK, str(size), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "File too large: free space" in result.stderr
    assert len(re.findall(r"^(?!engine: )", result.stderr.strip(), re.MULTILINE)) == 1


def test_a_limit_on_the_score_stops_the_search_and_a_game_without_rooms_speaks_of_none(tmp_path, capsys):
    run = tmp_path / "run"
    result = goexplore_here("explore", "two-mazes", "--until-score", "100", "--run-dir", run)
    assert result.returncode == 0, result.stderr
    assert re.search(r"done: [\d,]+ game frames, [\d,]+ cells, best score [12]00", result.stdout)
    assert main(["info", str(run)]) == 0
    assert main(["demos", str(run), "--out", str(tmp_path / "demos")]) == 0
    said = capsys.readouterr().out.replace(str(tmp_path), "")
    assert "search score" in said
    assert "room" not in said
    assert "-1" not in said


def test_demonstrations_are_cut_and_read_again(tmp_path, capsys):
    where = tmp_path / "key"
    assert main(["demos", "montezuma-2500-points-00", "--until-score", "100", "--out", str(where)]) == 0
    assert "score 100 (search score)" in capsys.readouterr().out
    assert main(["demos", str(where), "--out", str(tmp_path / "again")]) == 0
    (file,) = (tmp_path / "again").iterdir()
    assert file.read_text() == (where / file.name).read_text()
    assert main(["verify", str(file)]) == 0


def test_runs_and_demonstrations_are_not_mixed(finished, complaint, tmp_path):
    line = complaint("demos", finished[0], "montezuma-first-key-00", "--out", tmp_path / "demos")
    assert "expected only runs or only demonstrations, got montezuma-first-key-00, a demonstration" in line
    assert str(finished[0]) in line


def test_demonstrations_that_are_equal_once_cut_are_one(tmp_path):
    name, where = "montezuma-first-key-00", tmp_path / "demos"
    (tmp_path / "copy.demo.json").write_bytes(sample_file(name, SUFFIX).read_bytes())
    assert main(["demos", name, str(tmp_path / "copy.demo.json"), "--out", str(where)]) == 0
    assert len(list(where.iterdir())) == 1


def test_any_atari_game_can_be_explored(tmp_path):
    run = tmp_path / "run"
    result = goexplore_here("explore", "ALE/Freeway-v5", "--game-frames", "10K", "--run-dir", run)
    assert result.returncode == 0, result.stderr
    assert goexplore_here("verify", run, "--sample", "5").returncode == 0
