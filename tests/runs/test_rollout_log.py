"""How rollouts of a training ended, on disk: the newest ones, whatever happens to the training."""

import pytest

from goexplore.errors import RunDirectoryError
from goexplore.runs import EndedRollout, RolloutLog


def ended(training_frames, **changes):
    values = {"demonstration": 0, "start": 7, "success": False, "ending": "death", "level": 0, "room": 1}
    return EndedRollout(training_frames=training_frames, **{**values, "x": 30, "y": 99, **changes})


def test_what_is_added_is_read(tmp_path):
    log = RolloutLog(tmp_path)
    assert log.read() == []
    log.append([])
    assert not log.newer.exists()
    log.append([ended(1), ended(1, demonstration=None, start=None, x=None, y=None)])
    log.append([ended(2, success=True, ending="success")])
    assert RolloutLog(tmp_path).read() == log.read()
    assert [each.training_frames for each in log.read()] == [1, 1, 2]
    assert log.read()[1].start is None


def test_the_oldest_ones_are_let_go(tmp_path, monkeypatch):
    monkeypatch.setattr("goexplore.runs._rollout_log.MOST_LINES", 10)
    log = RolloutLog(tmp_path)
    for number in range(100):
        log.append([ended(number)] * 3)
        lines = log.newer.read_text().count("\n") if log.newer.exists() else 0
        assert lines < 10
    frames = [each.training_frames for each in log.read()]
    assert 10 <= len(frames) < 24
    assert frames == sorted(frames)
    assert frames[-1] == 99
    RolloutLog(tmp_path).append([ended(100)] * 12)
    assert RolloutLog(tmp_path).read()[-1].training_frames == 100
    assert not log.newer.exists(), "another session counts the lines that are there"


def test_what_comes_after_a_checkpoint_is_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr("goexplore.runs._rollout_log.MOST_LINES", 5)
    log = RolloutLog(tmp_path)
    for number in range(8):
        log.append([ended(number)])
    log.rewind(6)
    assert [each.training_frames for each in log.read()] == [0, 1, 2, 3, 4, 5, 6]
    log.rewind(2)
    log.append([ended(3)])
    assert [each.training_frames for each in log.read()] == [0, 1, 2, 3]


def test_damaged_lines_are_left_out(tmp_path):
    log = RolloutLog(tmp_path)
    log.append([ended(1)])
    with log.newer.open("a") as file:
        file.write('{"training_frames": "many"}\nno JSON\n')
    log.append([ended(2)])
    assert [each.training_frames for each in log.read()] == [1, 2]
    log.rewind(9)
    assert log.newer.read_text().count("\n") == 2


def test_a_disk_that_cannot_be_written_is_told(tmp_path):
    log = RolloutLog(tmp_path / "nowhere")
    with pytest.raises(RunDirectoryError, match="expected to write to"):
        log.append([ended(1)])
