"""A running search says when it does not go as it should, and says nothing when it does."""

from dataclasses import replace

import pytest

from goexplore import _native as native
from goexplore.envs import Step
from goexplore.exploration import ExplorationConfig
from goexplore.problems import Problem, find_problem
from goexplore.runs import Limits, LoggingReporter, _advice, run_search, short_count
from tests.fields import Corridor, Field, itself


class Listener(LoggingReporter):
    def __init__(self):
        self.lines = []

    def log(self, line):
        if line.startswith("warning: "):
            self.lines.append(line.removeprefix("warning: "))


def said(problem, folder, *, game_frames, **settings):
    """Return what a search warns of."""
    listener = Listener()
    limits = Limits(game_frames=game_frames)
    run_search(problem, run_dir=folder / "run", limits=limits, reporter=listener, **settings)
    return listener.lines


class Counting(Field):
    """It says how long the episode has lasted."""

    pit = None

    def reset(self):
        super().reset()
        self.time = 0

    def step(self, action):
        self.time += 1
        return super().step(action)

    def info(self):
        return {"time": self.time}

    def snapshot(self):
        return super().snapshot() + self.time.to_bytes(4, "little")

    def restore(self, snapshot):
        super().restore(snapshot[:3])
        self.time = int.from_bytes(snapshot[3:], "little")


class Churning(Corridor):
    """No state ever comes again."""

    action_count = 1000

    def reset(self):
        self.value = 1

    def step(self, action):
        self.value = (self.value * 1009 + action + 1) % 2**32
        return Step(0.0)

    def observation(self):
        return self.value

    def snapshot(self):
        return self.value.to_bytes(4, "little")

    def restore(self, snapshot):
        self.value = int.from_bytes(snapshot, "little")


class Hurried(Counting):
    """Episodes are cut off so early that most cells are reached when there is hardly any time left."""

    def step(self, action):
        return Step(super().step(action).reward, truncated=self.time >= 8)


class Doomed(Field):
    """Everywhere but at the start, the second step is deadly."""

    def reset(self):
        super().reset()
        self.steps = 0

    def step(self, action):
        self.steps += 1
        return Step(super().step(action).reward, terminated=self.steps >= 3)

    def snapshot(self):
        return super().snapshot() + bytes([self.steps])

    def restore(self, snapshot):
        super().restore(snapshot[:3])
        self.steps = snapshot[3]


@pytest.fixture
def soon(monkeypatch):
    """Let a search have enough explorations five times as soon."""
    monkeypatch.setattr(_advice, "ENOUGH", 1000)


SHORT = ExplorationConfig(training_frames=10, batch_size=100, repeat_probability=0.5)


def test_cells_that_never_come_again_are_too_fine(tmp_path):
    lines = said(Problem(env=Churning, exploration=SHORT), tmp_path, game_frames=7000)
    assert lines[0].startswith("nearly every training frame found a new cell (0.9")
    assert len(lines) == 3, "once, and again whenever the search is twice as long"
    assert "goexplore cells-preview" in lines[0]


def test_cells_that_hold_everything_are_too_coarse(tmp_path, soon):
    problem = Problem(env=Counting, cells=lambda seen: seen[0] // 6, exploration=SHORT)
    lines = said(problem, tmp_path, game_frames=60_000)
    assert [line.partition(":")[0] for line in lines] == ["only 2 cells after 40,000 game frames"]
    assert "make them finer" in lines[0]


def test_a_search_that_finds_no_new_cell_says_for_how_long_and_doubles_the_wait(tmp_path, soon):
    problem = Problem(env=Counting, cells=itself, exploration=SHORT)
    lines = said(problem, tmp_path, game_frames=200_000)
    assert [line.partition(",")[0] for line in lines] == [
        f"no new cell for {frames} game frames" for frames in ("40K", "80K", "160K")
    ]
    assert "raise `training_frames`" in lines[0]


def test_a_resumed_search_remembers_when_its_last_cell_was_found(tmp_path, soon):
    problem = Problem(env=Counting, cells=itself, exploration=SHORT)
    assert said(problem, tmp_path, game_frames=40_000) == []
    lines = said(problem, tmp_path, game_frames=90_000, resume=True)
    assert len(lines) == 1
    assert lines[0].startswith("no new cell for 64K game frames, 80% of the search")


def test_explorations_that_end_at_the_time_limit_are_counted(tmp_path):
    problem = Problem(env=Hurried, cells=itself, exploration=SHORT)
    lines = said(problem, tmp_path, game_frames=60_000)
    assert len(lines) == 3, "after 1,000, 2,000 and 4,000 explorations"
    assert "% of the last 1,000 explorations ended at the time limit: " in lines[0]
    assert "longer time limit" in lines[0]


@pytest.mark.parametrize("ends", ["keep", "drop"])
def test_explorations_that_end_at_once_are_counted(ends, tmp_path):
    problem = Problem(env=Doomed, cells=itself, exploration=replace(SHORT, ends=ends))
    lines = said(problem, tmp_path, game_frames=12_000)
    assert lines
    assert lines[0].startswith(
        "100% of the last 1,000 explorations ended the episode within 3 training frames: "
    )


@pytest.mark.parametrize("problem", [find_problem("two-mazes"), Problem(env=Field, cells=itself), Corridor])
def test_a_healthy_search_says_nothing(problem, tmp_path):
    assert said(find_problem(problem), tmp_path, game_frames=100_000) == []


@pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled")
def test_a_healthy_search_of_an_atari_game_says_nothing(tmp_path):
    assert said(find_problem("montezuma"), tmp_path, game_frames=400_000, engine="native") == []


@pytest.mark.parametrize(
    ("frames", "text"), [(999, "999"), (1000, "1K"), (1_104_000, "1.1M"), (2_340_000_000, "2.34B")]
)
def test_frames_are_short_to_read(frames, text):
    assert short_count(frames) == text
