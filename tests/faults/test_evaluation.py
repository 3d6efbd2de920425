"""Whatever happens to an evaluation, the same command goes on to the episodes of an undisturbed one."""

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from goexplore.files import whole_files
from tests.cli.commands import COMMAND, children
from tests.faults.damage import cut, flip_a_bit, lengths_of_a_cut
from tests.faults.test_search import let_work

KILLS = 10
ARGUMENTS = [
    "evaluate",
    "montezuma-first-key",
    *("--repetitions", "2", "--max-game-frames", "4000", "--workers", "2", "--out"),
]


def begin(folder):
    command = [*COMMAND, *ARGUMENTS, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(folder):
    """Let an evaluation go on to its end; return its exit code and its last line, which tells of an error."""
    process = begin(folder)
    said, _ = process.communicate(timeout=600)
    assert "Traceback" not in said, said
    return process.returncode, said.splitlines()[-1]


def wait_for_episodes(process, folder):
    """Wait until an evaluation has episodes in its file, or is over."""
    while process.poll() is None and not (folder.is_dir() and whole_files(folder, "*.parquet")):
        time.sleep(0.02)


def episodes(folder):
    (file,) = whole_files(folder, "*.parquet")  # a killed process may leave one that it was writing
    return pq.read_table(file)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    process = begin(folder)
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    return episodes(folder)


def alive_after(processes, seconds):
    """Return which processes are still there after some time; none as soon as all are gone."""
    until = time.monotonic() + seconds
    while alive := [each for each in processes if Path(f"/proc/{each}").exists()]:
        if time.monotonic() > until:
            break
        time.sleep(0.05)
    return alive


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_evaluation_is_killed(number, tmp_path, undisturbed, figures):
    chance, kills = random.Random(int(number)), 0
    while kills < KILLS // 2:
        folder = tmp_path / f"episodes{kills}"
        while True:
            process, began = begin(folder), time.time()
            while process.poll() is None and not any(
                file.stat().st_mtime > began for file in whole_files(folder, "*.parquet")
            ):
                time.sleep(0.02)  # until it has something to lose
            let_work(process, 2 * chance.random())
            workers = children(process) if process.poll() is None else []
            if process.poll() is not None:
                break
            process.send_signal(number)
            process.communicate()
            kills += 1
            figures.faults += 1
            assert not alive_after(workers, seconds=30), "its workers end with it"
        assert process.returncode == 0
        process.communicate()
        assert episodes(folder).equals(undisturbed)
        figures.survived = figures.faults


def test_a_worker_of_an_evaluation_is_killed(tmp_path, undisturbed, figures):
    process = begin(tmp_path)
    while len(children(process)) < 2:
        time.sleep(0.05)
    time.sleep(3)
    os.kill(children(process)[-1], signal.SIGKILL)
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 2
    assert "run the same command again" in said
    process = begin(tmp_path)
    process.communicate(timeout=600)
    assert process.returncode == 0
    assert episodes(tmp_path).equals(undisturbed)
    figures.faults = figures.told = figures.survived = 1


def test_the_disk_of_an_evaluation_is_full(disk, undisturbed, figures):
    folder = disk.path / "episodes"
    for kilobytes in (4, 8, 12, 16, 20, 24):
        disk.resize(f"{kilobytes}k")
        code, told = finish(folder)
        if code == 0:
            break
        assert "No space left" in told
        figures.faults += 1
        figures.told += 1
    assert figures.told > 0, "the disk was never full"
    disk.resize("64m")
    assert finish(folder)[0] == 0
    assert episodes(folder).equals(undisturbed)
    figures.survived = figures.faults


def test_the_directory_of_an_evaluation_turns_read_only(disk, undisturbed, figures):
    folder = disk.path / "episodes"
    process = begin(folder)
    wait_for_episodes(process, folder)
    disk.turn_read_only()
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 2, said
    assert "Read-only" in said.splitlines()[-1], said
    disk.turn_writable()
    assert finish(folder)[0] == 0
    assert episodes(folder).equals(undisturbed)
    figures.faults = figures.told = figures.survived = 1


def test_the_directory_of_an_evaluation_disappears(tmp_path, undisturbed, figures):
    """All episodes so far are still in memory, and written with the next ones."""
    folder = tmp_path / "episodes"
    process = begin(folder)
    wait_for_episodes(process, folder)
    folder.rename(tmp_path / "away")
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    assert episodes(folder).equals(undisturbed)
    figures.faults = figures.survived = 1


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """Return the folder of an evaluation that was killed when it had some episodes."""
    folder = tmp_path_factory.mktemp("begun") / "episodes"
    process = begin(folder)
    wait_for_episodes(process, folder)
    process.kill()
    process.communicate()
    return folder


def goes_on_or_is_told(folder, undisturbed, figures):
    """The same command goes on to the same episodes, at the latest after the file that it names is gone."""
    (file,) = whole_files(folder, "*.parquet")
    code, told = finish(folder)
    figures.faults += 1
    if code != 0:
        assert code == 2
        assert f"{file}, got" in told
        assert "delete it and evaluate again" in told
        figures.told += 1
        return
    assert episodes(folder).equals(undisturbed)
    figures.survived += 1


def test_episodes_are_cut(tmp_path, begun, undisturbed, figures):
    (file,) = whole_files(begun, "*.parquet")
    for length in lengths_of_a_cut(file.stat().st_size)[:-1]:
        folder = tmp_path / f"{length}"
        shutil.copytree(begun, folder)
        cut(folder / file.name, length)
        goes_on_or_is_told(folder, undisturbed, figures)


def test_one_bit_of_episodes_is_flipped(tmp_path, begun, undisturbed, figures):
    (file,) = whole_files(begun, "*.parquet")
    chance = random.Random(4)
    for turn in range(10):
        folder = tmp_path / f"{turn}"
        shutil.copytree(begun, folder)
        flip_a_bit(folder / file.name, chance)
        goes_on_or_is_told(folder, undisturbed, figures)
