"""The run directory: what is written is whole, what is damaged is found, what is there is not overwritten."""

import dataclasses
import json
import multiprocessing
import subprocess
import sys
import time

import pytest

from goexplore.errors import CheckpointError, ConfigError, RunDirectoryError
from goexplore.exploration import Search, SerialExecutor
from goexplore.files import json_sha256
from goexplore.problems import find_problem
from goexplore.replay import Mismatch
from goexplore.runs import SearchDirectory, SearchMetrics, Verification, is_started, is_training
from tests.fields import make_cell_env, make_kernel, make_selection

PROBLEM = find_problem("montezuma")


@pytest.fixture
def search():
    search = Search(
        cell_env=make_cell_env(),
        selection=make_selection(),
        executor=SerialExecutor(make_kernel),
        batch_size=10,
    )
    search.run(lambda status: status.batches >= 5)
    return search


@pytest.fixture
def run(tmp_path):
    with SearchDirectory.create(tmp_path / "run", PROBLEM) as run:
        pass
    return run


def save(run, search):
    return run.write_checkpoint(search.archive, search.status, make_cell_env().cells)


def test_a_checkpoint_brings_back_archive_and_status(run, search):
    save(run, search)
    checkpoint = SearchDirectory.open(run.path).read_checkpoint()
    assert checkpoint.status == search.status
    assert len(checkpoint.archive) == len(search.archive)
    assert checkpoint.warnings == ()


def test_the_last_two_checkpoints_are_kept(run, search):
    for _ in range(4):
        save(run, search)
    assert sorted(folder.name for folder in run.checkpoints.iterdir()) == ["000003", "000004"]


@pytest.mark.parametrize("name", ["archive.parquet", "segments.parquet", "meta.json"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before_and_says_so(run, search, name, damage):
    save(run, search)
    first = search.status
    search.run(lambda status: status.batches >= 8)
    file = save(run, search) / name
    content = bytearray(file.read_bytes())
    if damage == "missing":
        file.unlink()
    elif damage == "truncated":
        file.write_bytes(content[: len(content) // 2])
    else:
        content[len(content) // 2] ^= 0x01
        file.write_bytes(content)
    checkpoint = run.read_checkpoint()
    assert checkpoint.status == first
    assert len(checkpoint.warnings) == 1
    assert "000002" in checkpoint.warnings[0]


def test_every_single_changed_character_of_the_description_is_found_or_changes_nothing(run, search):
    file = save(run, search) / "meta.json"
    text, found = file.read_text(), 0
    for position, character in enumerate(text):
        if not character.isspace():
            file.write_text(text[:position] + chr(ord(character) ^ 1) + text[position + 1 :])
            try:
                checkpoint = run.read_checkpoint()
            except CheckpointError:
                found += 1
            else:  # the last of 17 digits of the seconds
                assert checkpoint.status == search.status
                assert checkpoint.archive.locations == search.archive.locations
    assert found > 0.99 * len("".join(text.split()))


def test_a_damaged_checkpoint_that_is_set_aside_does_not_push_out_a_whole_one(run, search):
    first = save(run, search)
    (save(run, search) / "archive.parquet").write_bytes(b"")
    run.set_aside(run.read_checkpoint().damaged)
    save(run, search)
    assert first.exists()
    assert run.read_checkpoint().warnings == ()


def test_a_run_that_ended_before_it_had_begun_can_be_begun_again(tmp_path):
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / ".config.0123.part.json").write_text("{")
    (tmp_path / "run" / "lock").touch()
    with SearchDirectory.create(tmp_path / "run", PROBLEM):
        names = {each.name for each in (tmp_path / "run").iterdir()}
        assert names - {".config.0123.part.json"} == {"checkpoints", "config.json", "lock"}


def test_no_whole_checkpoint_is_an_error(run, search):
    (save(run, search) / "archive.parquet").write_bytes(b"")
    with pytest.raises(CheckpointError, match="No checkpoint is whole"):
        run.read_checkpoint()


def test_an_unfinished_checkpoint_is_ignored_and_cleaned_up(run, search):
    (run.checkpoints / ".000001.part").mkdir()
    assert run.read_checkpoint() is None
    save(run, search)
    assert [folder.name for folder in run.checkpoints.iterdir()] == ["000001"]


def test_a_directory_that_exists_is_not_overwritten(run):
    with pytest.raises(RunDirectoryError, match="continue it with `resume`, or choose another `run_dir`"):
        SearchDirectory.create(run.path, PROBLEM).__enter__()


def test_nothing_is_left_in_a_folder_that_is_not_ours(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to Ada.txt").write_text("Dear Ada")
    with pytest.raises(RunDirectoryError, match="new or empty"):
        SearchDirectory.create(tmp_path / "letters", PROBLEM).__enter__()
    assert [each.name for each in (tmp_path / "letters").iterdir()] == ["to Ada.txt"]


def _begin(path, seed, barrier, winners):
    barrier.wait()
    try:
        with SearchDirectory.create(path, PROBLEM, seed):
            winners.put(seed)
            time.sleep(0.05)
    except RunDirectoryError:
        pass


def test_of_two_that_start_at_the_same_moment_one_wins_and_the_settings_are_its_own(tmp_path):
    context = multiprocessing.get_context("fork")
    for attempt in range(10):
        path, barrier, winners = tmp_path / str(attempt), context.Barrier(2), context.SimpleQueue()
        both = [context.Process(target=_begin, args=(path, seed, barrier, winners)) for seed in (1, 2)]
        for each in both:
            each.start()
        for each in both:
            each.join()
        assert SearchDirectory.open(path).seed() == winners.get()
        assert winners.empty()


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunDirectoryError, match="Not a directory"):
        SearchDirectory.create(tmp_path / "file" / "run", PROBLEM).__enter__()


def test_a_run_is_worked_on_by_one_process_at_a_time(run):
    with run.locked(), pytest.raises(RunDirectoryError, match="another process"), run.locked():
        pass
    with run.locked():
        pass


def test_a_resume_with_other_settings_names_the_difference(run):
    run.require(PROBLEM, 0)
    with pytest.raises(ConfigError, match="seed is 0, not 1"):
        run.require(PROBLEM, 1)
    with pytest.raises(ConfigError, match=r"problem\.exploration\.batch_size is 1000, not 100"):
        run.require(find_problem("montezuma-pixels"), 0)


def test_a_resume_on_another_engine_is_refused(run):
    run.require(PROBLEM, 0, "ale")
    with pytest.raises(ConfigError, match="expected `engine` ale, whose snapshots"):
        run.require(PROBLEM, 0, "native")


def test_the_config_has_what_decides_what_a_search_finds(run):
    config = json.loads((run.path / "config.json").read_text())
    assert config["format"] == 2
    assert config["search"] == {"problem": PROBLEM.settings(), "seed": 0}
    assert config["engine"] == "ale"
    assert {"goexplore", "python"} <= config["versions"].keys()


def change_config(run, **values):
    file = run.path / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


@pytest.mark.parametrize("number", [1, 99, None])
def test_a_run_of_another_format_is_refused(run, number):
    change_config(run, format=number)
    with pytest.raises(RunDirectoryError, match=f"expected a run of format 2, got format {number}"):
        SearchDirectory.open(run.path)


def test_a_run_of_another_kind_is_refused(run):
    file = run.path / "config.json"
    config = json.loads(file.read_text())
    config["training"] = config.pop("search")
    file.write_text(json.dumps(config))
    assert is_training(run.path)
    with pytest.raises(RunDirectoryError, match="expected a run of `goexplore explore`"):
        SearchDirectory.open(run.path)


@pytest.mark.parametrize("content", ["", "{", "[1]"])
def test_a_damaged_config_is_one_clear_line(run, content):
    (run.path / "config.json").write_text(content)
    with pytest.raises(RunDirectoryError, match=r"expected a run's settings in .*config\.json.*: put"):
        SearchDirectory.open(run.path)


def test_a_directory_without_a_run_is_refused(tmp_path):
    assert not is_started(tmp_path)
    assert not is_training(tmp_path)
    with pytest.raises(RunDirectoryError, match=r"expected a run directory with a config\.json"):
        SearchDirectory.open(tmp_path)


def test_a_verification_is_kept_beside_the_run(run):
    assert run.verification() is None
    mismatch = Mismatch(number=3, reason="expected score 1, got 0")
    found = Verification(checkpoint="000001", checked=5, entries=9, game_frames=1234, mismatches=[mismatch])
    run.write_verification(found)
    assert run.verification() == found
    (run.path / "verification.json").write_text("{")
    assert run.verification() is None


def test_metrics_after_the_checkpoint_are_dropped_and_a_cut_line_is_forgiven(run):
    for frames in (100, 200, 300):
        run.append_metrics({"game_frames": frames, "cells": 2})
    with run.metrics_file.open("a") as file:
        file.write('{"game_frames": 4')
    assert run.rewind_metrics(200) == ["1 damaged line of metrics.jsonl set aside in metrics.damaged.jsonl"]
    assert (run.path / "metrics.damaged.jsonl").read_text() == '{"game_frames": 4\n'
    assert run.metrics() == [SearchMetrics(game_frames=frames, cells=2) for frames in (100, 200)]


def test_one_bit_flipped_anywhere_in_the_metrics_stops_nothing_and_is_told_where_it_matters(run):
    lines = [SearchMetrics(game_frames=frames, events={"death": 2}) for frames in (100, 200)]
    text = "".join(json.dumps(dataclasses.asdict(line)) + "\n" for line in lines).encode()
    told = 0
    for bit in range(0, 8 * len(text), 3):
        flipped = bytearray(text)
        flipped[bit // 8] ^= 1 << bit % 8
        run.metrics_file.write_bytes(flipped)
        found = run.metrics()
        warnings = run.rewind_metrics(10**9)
        told += bool(warnings)
        assert len(found) == 2 or warnings
        assert run.metrics() == [line for line in found if line.game_frames <= 10**9]
    assert told > len(text) / 3, "most of them are found"


@pytest.mark.parametrize("number", [10**400, 2**70, 2**63, -1])
@pytest.mark.parametrize("name", ["game_frames", "batches"])
def test_a_status_with_impossible_counts_is_refused(run, search, name, number):
    folder = save(run, search)
    meta = json.loads((folder / "meta.json").read_text())
    meta["content"]["status"][name] = number
    meta["sha256"]["content"] = json_sha256(meta["content"])
    (folder / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(CheckpointError, match=r"which is no count|more than 64 bits"):
        run.last_checkpoint()


HUGE = f'{{"game_frames": {10**400}}}\n{{"memory_bytes": {2**70}}}\n'


@pytest.mark.parametrize("content", ["null\n", "[1]\n{\n", "7\n", HUGE])
def test_lines_that_are_no_metrics_are_left_out(run, content):
    run.metrics_file.write_text(content + '{"game_frames": 5, "of a newer version": true}\n')
    assert run.metrics() == [SearchMetrics(game_frames=5)]


DISK_FULL = """
import resource, sys
from pathlib import Path
from goexplore.errors import RunDirectoryError
from goexplore.exploration import Search, SerialExecutor
from goexplore.runs import SearchDirectory
from tests.fields import make_cell_env, make_kernel, make_selection
from tests.runs.test_directory import save

run = SearchDirectory.open(Path(sys.argv[1]))
search = Search(
    cell_env=make_cell_env(), selection=make_selection(), executor=SerialExecutor(make_kernel)
)
search.run(lambda status: status.batches >= 5)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    save(run, search)
except RunDirectoryError as error:
    print(error)
"""


def test_a_checkpoint_that_does_not_fit_leaves_the_one_before(run, search):
    save(run, search)
    result = subprocess.run(
        [sys.executable, "-c", DISK_FULL, run.path], capture_output=True, text=True, check=True
    )
    assert "File too large: free space" in result.stdout
    assert [folder.name for folder in run.checkpoints.iterdir()] == ["000001"]
    assert run.read_checkpoint().status == search.status
