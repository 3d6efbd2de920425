"""Whatever happens to an evaluation, the same command goes on to the episodes of an undisturbed one."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from goexplore.files import whole_files
from tests.cli.commands import COMMAND, children
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
