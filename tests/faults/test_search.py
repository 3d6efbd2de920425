"""Whatever happens to a search, it goes on to the archive of one to which nothing happened."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest

from goexplore.runs import is_started
from tests.cli.commands import checkpoint, children, tables
from tests.faults.damage import cut, flip_a_bit, lengths_of_a_cut

KILLS = 50
"""Of the main process, over all kinds of searches together."""
KINDS = {
    "threads": ("montezuma-2021", "600000", "2"),
    "processes": ("two-mazes", "60000", "2"),
    "one process": ("two-mazes", "60000", "0"),
    "threads at a memory limit": ("limited montezuma-2021", "600000", "2"),
}
"""Problem, game frames, workers."""


def begin(kind, run, **settings):
    command = [sys.executable, "-m", "tests.faults.work", kind[0], str(run), *kind[1:]]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **settings)


def finish(kind, run, **settings):
    """Let a search go on to its end; return its exit code and what it said."""
    process = begin(kind, run, **settings)
    said, _ = process.communicate(timeout=600)
    return process.returncode, said


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return the archive of a kind of search to which nothing happens, not even a memory limit."""
    archives = {}

    def archive(kind):
        kind = (kind[0].removeprefix("limited "), *kind[1:])
        if kind not in archives:
            run = tmp_path_factory.mktemp("undisturbed") / "run"
            assert finish(kind, run)[0] == 0
            archives[kind] = tables(run)
        return archives[kind]

    return archive


def stopped(kind, run, chance):
    """Leave a run that was killed after its second checkpoint."""
    process = begin(kind, run)
    while not (run / "checkpoints" / "000003").exists() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.2 * chance.random())
    process.kill()
    process.communicate()
    return run


def wait_for_work(process, run):
    """Wait until a search has begun to explore, or is over."""
    began = time.time()
    while process.poll() is None:
        with contextlib.suppress(FileNotFoundError):
            if (run / "checkpoints").stat().st_mtime > began:
                return
        time.sleep(0.01)


def processor_seconds(process):
    """Return how much processor time a process and its workers have used."""
    seconds = 0.0
    with contextlib.suppress(psutil.Error):
        top = psutil.Process(process.pid)
        for each in [top, *top.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                used = each.cpu_times()
                seconds += used.user + used.system
    return seconds


def let_work(process, seconds):
    """Wait until a process has worked for some seconds, or is over. On a busy machine that takes longer."""
    until = processor_seconds(process) + seconds
    while process.poll() is None and processor_seconds(process) < until:
        time.sleep(0.01)


def lost_game_frames(run):
    """Return the game frames of the batches that were done, and are not in the last checkpoint."""
    lines = (run / "metrics.jsonl").read_bytes().split(b"\n") if (run / "metrics.jsonl").exists() else []
    done = [json.loads(line)["game_frames"] for line in lines[:-1]]
    if not done:
        return 0
    saved = 0
    if any((run / "checkpoints").glob("[0-9]*")):
        saved = json.loads((checkpoint(run) / "meta.json").read_text())["content"]["status"]["game_frames"]
    return max(0, done[-1] - saved)


def one_line(said):
    """Return the line that tells what is lost or to be done, if there is one."""
    lines = [line for line in said.splitlines() if line.startswith(("told: ", "warning: "))]
    assert "Traceback" not in said, said
    return lines[-1] if lines else None


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_main_process_is_killed(kind, tmp_path, undisturbed, figures):
    chance = random.Random(str(kind))
    kills = 0
    while kills < -(-KILLS // len(KINDS)):
        run = tmp_path / f"run{kills}"
        while True:
            process = begin(kind, run)
            if chance.random() < 0.8:  # else while it starts
                wait_for_work(process, run)
            let_work(process, chance.random())
            if process.poll() is not None:
                break
            process.kill()
            process.communicate()
            kills += 1
            figures.faults += 1
            figures.lost.append(lost_game_frames(run) if is_started(run) else 0)
        said, _ = process.communicate()
        assert process.returncode == 0, said
        assert tables(run) == undisturbed(kind)
        figures.survived = figures.faults


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_workers_are_killed_and_stopped(number, tmp_path, undisturbed, figures):
    kind, run = KINDS["processes"], tmp_path / "run"
    chance = random.Random(int(number))
    process = begin(kind, run)
    faults = 0
    while process.poll() is None and faults < 25:
        time.sleep(0.05 if number == signal.SIGKILL else 0.5)
        workers = children(process) if process.poll() is None else []
        if len(workers) > 1:
            os.kill(chance.choice(workers), number)
            faults += 1
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    assert tables(run) == undisturbed(kind)
    figures.faults += faults
    figures.survived += faults


def test_an_emulator_crashes_now_and_then(tmp_path, undisturbed, figures):
    run = tmp_path / "run"
    crashes = tmp_path / "crashes"
    environment = {**os.environ, "CRASHES": str(crashes)}
    code, said = finish(("crashing", *KINDS["processes"][1:]), run, env=environment)
    assert code == 0, said
    assert tables(run) == undisturbed(KINDS["processes"])
    line = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    assert line["given_up"] == 0
    figures.faults = figures.survived = crashes.stat().st_size


def test_the_disk_is_full(disk, undisturbed, figures):
    kind, run = KINDS["one process"], disk.path / "run"
    for kilobytes in range(40, 1000, 30):
        disk.resize(f"{kilobytes}k")
        code, said = finish(kind, run)
        if code == 0:
            break
        assert "No space left" in one_line(said), said
        figures.faults += 1
        figures.told += 1
    assert figures.told > 0, "the disk was never full"
    disk.resize("64m")
    code, said = finish(kind, run)
    assert code == 0, said
    assert tables(run) == undisturbed(kind)
    figures.survived += figures.faults


def test_the_disk_is_full_when_the_archive_moves_there(disk, undisturbed, figures):
    kind, run = ("limited two-mazes", "60000", "0"), disk.path / "run"
    for kilobytes in (600, 1200, 1800, 2400):  # it moves as two files of a megabyte at least
        disk.resize(f"{kilobytes}k")
        code, said = finish(kind, run)
        if code == 0:
            break
        assert "No space left" in one_line(said), said
        figures.faults += 1
        figures.told += 1
    assert figures.told > 1, "the disk was hardly ever full"
    disk.resize("64m")
    code, said = finish(kind, run)
    assert code == 0, said
    assert tables(run) == undisturbed(kind)
    figures.survived += figures.faults


def test_the_directory_turns_read_only(disk, undisturbed, figures):
    kind, run = KINDS["one process"], disk.path / "run"
    process = begin(kind, run)
    while not (run / "checkpoints" / "000002").exists():
        time.sleep(0.01)
    disk.turn_read_only()
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert "Read-only" in one_line(said), said
    figures.faults, figures.told = 1, 1
    disk.turn_writable()
    code, said = finish(kind, run)
    assert code == 0, said
    assert tables(run) == undisturbed(kind)
    figures.survived = 1


def test_the_directory_disappears(tmp_path, undisturbed, figures):
    kind, run, away = KINDS["one process"], tmp_path / "run", tmp_path / "away"
    process = begin(kind, run)
    while not (run / "checkpoints" / "000002").exists():
        time.sleep(0.01)
    run.rename(away)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert one_line(said), said
    shutil.rmtree(run, ignore_errors=True)  # whatever was left there
    away.rename(run)
    code, said = finish(kind, run)
    assert code == 0, said
    assert tables(run) == undisturbed(kind)
    figures.faults, figures.told, figures.survived = 1, 1, 1


def test_the_clock_goes_back(tmp_path, undisturbed, figures):
    kind, run = ("clock", *KINDS["one process"][1:]), tmp_path / "run"
    stopped(kind, run, random.Random(1))
    code, said = finish(kind, run)
    assert code == 0, said
    assert tables(run) == undisturbed(KINDS["one process"])
    figures.faults, figures.survived = 1, 1


def test_a_checkpoint_is_cut(tmp_path, undisturbed, figures):
    """At its beginning, in its middle, before its last byte, and missing as a whole: each of its files."""
    kind = KINDS["one process"]
    run = stopped(kind, tmp_path / "run", random.Random(2))
    for name in sorted(file.name for file in checkpoint(run).iterdir()):
        size = (checkpoint(run) / name).stat().st_size
        for length in lengths_of_a_cut(size):
            copy = tmp_path / f"{name}-{length}"
            shutil.copytree(run, copy)
            cut(checkpoint(copy) / name, length)
            code, said = finish(kind, copy)
            assert code == 0, said
            is_whole = name == "meta.json" and length == size - 1  # but for the end of its last line
            assert is_whole or "is not used" in one_line(said), said
            assert tables(copy) == undisturbed(kind)
            figures.faults += 1
            figures.told += not is_whole
            figures.survived += 1
            shutil.rmtree(copy)


def test_one_bit_is_flipped_anywhere(tmp_path, undisturbed, figures):
    """The archive is the same, or one line says why it does not go on. Only metrics may be off by a digit."""
    kind, chance = KINDS["one process"], random.Random(3)
    run = stopped(kind, tmp_path / "run", chance)
    files = sorted(file.relative_to(run) for file in run.rglob("*") if file.is_file() and file.stat().st_size)
    for name in files:
        for turn in range(3):
            copy = tmp_path / f"copy{turn}"
            shutil.copytree(run, copy)
            flip_a_bit(copy / name, chance)
            code, said = finish(kind, copy)
            figures.faults += 1
            figures.told += one_line(said) is not None
            if code == 0:
                assert tables(copy) == undisturbed(kind), name
                figures.survived += 1
            else:
                assert code == 2, (name, said)
                assert one_line(said), (name, said)
            shutil.rmtree(copy)
