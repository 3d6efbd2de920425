"""Whatever happens to a training, it goes on to the weights of one to which nothing happened."""

import json
import random
import shutil
import subprocess
import sys
import time

import pytest

from tests.cli.commands import checkpoint
from tests.faults.damage import cut, flip_a_bit, lengths_of_a_cut
from tests.faults.test_search import let_work, one_line, wait_for_work

KILLS = 15
TRAINING_FRAMES = 8192


def begin(run):
    command = [sys.executable, "-m", "tests.faults.work", "train", str(run), str(TRAINING_FRAMES)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(run):
    process = begin(run)
    said, _ = process.communicate(timeout=600)
    assert "Traceback" not in said, said
    return process.returncode, said


def result(run):
    """Return the weights, and the expert's episodes: whichever was played first, they are the same."""
    episodes = sorted((run / "expert.jsonl").read_bytes().splitlines())
    return (checkpoint(run) / "optimizer.safetensors").read_bytes(), weights(run), episodes


def weights(run):
    from goexplore.training import TrainingDirectory, load_policy

    policy, _ = load_policy(TrainingDirectory.open(run).last_policy())
    return {name: each.numpy().tobytes() for name, each in policy.state_dict().items()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    code, said = finish(run)
    assert code == 0, said
    return result(run)


def trained(run):
    """Return the training frames of the last checkpoint."""
    if not any((run / "checkpoints").glob("[0-9]*")):
        return 0
    return json.loads((checkpoint(run) / "meta.json").read_text())["content"]["status"]["training_frames"]


def test_a_training_is_killed(tmp_path, undisturbed, figures):
    chance = random.Random(1)
    kills = 0
    while kills < KILLS:
        run = tmp_path / f"run{kills}"
        while True:
            process = begin(run)
            wait_for_work(process, run)
            let_work(process, 3 * chance.random())
            if process.poll() is not None:
                break
            process.kill()
            process.communicate()
            kills += 1
            figures.faults += 1
        said, _ = process.communicate()
        assert process.returncode == 0, said
        assert result(run) == undisturbed
        figures.survived = figures.faults


def wait_until_it_learns(process, run):
    """Wait until PPO has played a quarter of all training frames, or the training is over."""
    while trained(run) < TRAINING_FRAMES // 4 and process.poll() is None:
        time.sleep(0.01)


def stopped(run):
    """Leave a training that was killed while PPO improved the clone."""
    process = begin(run)
    wait_until_it_learns(process, run)
    process.kill()
    process.communicate()
    return run


def test_the_disk_of_a_training_is_full(disk, undisturbed, figures):
    run = disk.path / "run"
    for kilobytes in (40, 400, 1000, 2000, 4000, 8000):
        disk.resize(f"{kilobytes}k")
        code, said = finish(run)
        if code == 0:
            break
        assert "No space left" in one_line(said), said
        figures.faults += 1
        figures.told += 1
    assert figures.told > 1, "the disk was hardly ever full"
    disk.resize("64m")
    code, said = finish(run)
    assert code == 0, said
    assert result(run) == undisturbed
    figures.survived = figures.faults


def test_the_directory_of_a_training_turns_read_only(disk, undisturbed, figures):
    run = disk.path / "run"
    process = begin(run)
    wait_until_it_learns(process, run)
    disk.turn_read_only()
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert "Read-only" in one_line(said), said
    disk.turn_writable()
    code, said = finish(run)
    assert code == 0, said
    assert result(run) == undisturbed
    figures.faults = figures.told = figures.survived = 1


def test_the_directory_of_a_training_disappears(tmp_path, undisturbed, figures):
    run, away = tmp_path / "run", tmp_path / "away"
    process = begin(run)
    wait_until_it_learns(process, run)
    run.rename(away)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert one_line(said), said
    shutil.rmtree(run, ignore_errors=True)  # whatever was left there
    away.rename(run)
    code, said = finish(run)
    assert code == 0, said
    assert result(run) == undisturbed
    figures.faults = figures.told = figures.survived = 1


def test_a_checkpoint_of_a_training_is_cut(tmp_path, undisturbed, figures):
    run = stopped(tmp_path / "run")
    for name in sorted(file.name for file in checkpoint(run).iterdir()):
        size = (checkpoint(run) / name).stat().st_size
        for length in lengths_of_a_cut(size):
            copy = tmp_path / "copy"
            shutil.copytree(run, copy)
            cut(checkpoint(copy) / name, length)
            code, said = finish(copy)
            assert code == 0, said
            is_whole = name == "meta.json" and length == size - 1  # but for the end of its last line
            assert is_whole or "is not used" in one_line(said), said
            assert result(copy) == undisturbed, (name, length)
            figures.faults += 1
            figures.told += not is_whole
            figures.survived += 1
            shutil.rmtree(copy)


def test_one_bit_of_a_training_is_flipped(tmp_path, undisturbed, figures):
    """The weights are the same, or one line says what is lost, or why it does not go on."""
    run, chance = stopped(tmp_path / "run"), random.Random(2)
    files = sorted(file.relative_to(run) for file in run.rglob("*") if file.is_file() and file.stat().st_size)
    for name in files:
        if name.parts[0] in ("policies", "tensorboard"):
            continue  # nothing is read from there
        copy = tmp_path / "copy"
        shutil.copytree(run, copy)
        flip_a_bit(copy / name, chance)
        code, said = finish(copy)
        figures.faults += 1
        figures.told += "told: " in said or "warning: " in said
        if code == 0 and "is lost" not in said:
            assert result(copy) == undisturbed, name
            figures.survived += 1
        elif code == 0:
            assert name.name == "expert.jsonl", said  # and its last line: others end the training
        else:
            assert code == 2, (name, said)
            assert "told: " in said, (name, said)
        shutil.rmtree(copy)
