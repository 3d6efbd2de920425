"""--on-milestone: a user's command that runs when something happens."""

import subprocess
import time
from types import SimpleNamespace

import pytest

from goexplore.cli import _milestones, _robustify
from goexplore.cli._milestones import Milestones, announcing
from goexplore.errors import RunDirectoryError
from tests.cli.commands import goexplore

SAY = 'echo "$GOEXPLORE_MILESTONE $GOEXPLORE_VALUE" >> said'


def heights(progress):
    return progress


class Listener(SimpleNamespace):
    def __init__(self):
        super().__init__(lines=[], shown=[])
        self.log, self.progress = self.lines.append, self.shown.append


@pytest.fixture
def said(tmp_path, monkeypatch):
    """Return what commands have said, one line each."""
    monkeypatch.chdir(tmp_path)
    return lambda: (tmp_path / "said").read_text().splitlines()


def settle(milestones):
    while milestones._running is not None and milestones._running.poll() is None:
        time.sleep(0.01)


def test_it_runs_at_every_new_height_and_at_the_end(said, tmp_path):
    with announcing(Listener(), SAY, tmp_path, heights) as milestones:
        for level, score in ((0, 0), (0, 100), (0, 100), (1, 100), (0, 50)):
            milestones.progress({"level": level, "score": score})
            settle(milestones)
    assert said() == ["score 100", "level 1", "end "]


def test_progress_and_words_are_shown_as_ever(said, tmp_path):
    listener = Listener()
    with announcing(listener, SAY, tmp_path, heights) as milestones:
        milestones.progress({"score": 1.0})
        milestones.log("a line")
    assert listener.shown == [{"score": 1.0}]
    assert listener.lines == ["a line"]


def test_what_was_reached_before_is_nothing_new(said, tmp_path):
    with announcing(Listener(), SAY, tmp_path, heights) as milestones:
        milestones.progress({"score": 4000.0})
        milestones.progress({"score": 4000.0, "level": 1.0})
    assert said() == ["level 1", "end "]


def test_of_what_happens_meanwhile_the_last_is_told(said, tmp_path):
    milestones = Milestones(Listener(), f"sleep 0.3; {SAY}", tmp_path, heights)
    for score in range(5):
        milestones.progress({"score": float(score)})
    milestones.finish("end", "")
    assert said() == ["score 1", "score 4", "end "]


def test_a_failure_is_told_and_raised(said, tmp_path):
    failing = announcing(Listener(), SAY, tmp_path, heights)
    with pytest.raises(RunDirectoryError), failing:
        raise RunDirectoryError("the disk is full")
    assert said() == ["failure the disk is full"]


def test_a_command_that_fails_is_told_and_nothing_else_happens(said, tmp_path):
    listener = Listener()
    with announcing(listener, "exit 3", tmp_path, heights) as milestones:
        milestones.progress({"score": 1.0})
        milestones.progress({"score": 2.0})
    assert listener.lines == ["warning: the command for milestones ended with 3"] * 2


def test_an_error_that_no_variable_can_hold_is_told_all_the_same(said, tmp_path):
    failing = announcing(Listener(), SAY, tmp_path, heights)
    with pytest.raises(RunDirectoryError), failing:
        raise RunDirectoryError("a\0b" + "c" * 10**6)
    assert said()[0].startswith("failure a bccc")


def test_the_end_is_told_even_if_another_command_does_not_end(said, tmp_path, monkeypatch):
    monkeypatch.setattr(_milestones, "_SECONDS_TO_END", 0.3)
    listener = Listener()
    command = f'[ "$GOEXPLORE_MILESTONE" = end ] || sleep 3; {SAY}'
    with announcing(listener, command, tmp_path, heights) as milestones:
        milestones.progress({"score": 1.0})
        milestones.progress({"score": 2.0})
    assert said() == ["end "]
    assert "takes longer than" in listener.lines[0]
    for left in milestones._left:
        left.wait()


def test_nobody_has_to_wait_for_a_command_that_does_not_end(said, tmp_path, monkeypatch):
    listener = Listener()

    def interrupted(process, timeout=None):
        raise KeyboardInterrupt

    with announcing(listener, "sleep 3", tmp_path, heights) as milestones:
        milestones.progress({"score": 1.0})
        milestones.progress({"score": 2.0})
        monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    assert listener.lines == ["interrupted: the command for milestones is left alone"]
    monkeypatch.undo()
    milestones._running.wait()


def test_the_user_is_told_what_is_waited_for(said, tmp_path):
    listener = Listener()
    with announcing(listener, "sleep 1.5", tmp_path, heights) as milestones:
        milestones.progress({"score": 1.0})
    assert listener.lines == ["waiting for the command for milestones, at most 60 s"]


def test_success_in_training_is_told_by_tenths_once_it_says_something():
    def after(count, share):
        status = SimpleNamespace(real_starts=[True] * count)
        return SimpleNamespace(real_start_success=share if count else None, status=status)

    assert _robustify._heights(after(0, 0.0)) == {}
    assert _robustify._heights(after(10, 1.0)) == {}
    assert _robustify._heights(after(200, 0.0)) == {}
    assert _robustify._heights(after(200, 0.37)) == {"success": 30.0}


def test_a_search_tells_its_scores_and_its_end(tmp_path):
    command = 'echo "$GOEXPLORE_MILESTONE $GOEXPLORE_RUN"'
    run = tmp_path / "run"
    result = goexplore(
        "explore", "two-mazes", "--run-dir", run, "--game-frames", "20K", "--on-milestone", command
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert f"score {run}" in lines
    assert f"end {run}" in lines
