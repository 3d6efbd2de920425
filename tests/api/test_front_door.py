"""`goexplore.explore` and the run that it returns: any problem in a few calls."""

import gc
import json
import struct
import subprocess
import sys

import av
import pytest

import goexplore
from goexplore.cells import End
from goexplore.demos import Demonstration
from goexplore.errors import (
    ConfigError,
    DemonstrationError,
    EnvironmentContractError,
    ProblemError,
    RunDirectoryError,
)
from goexplore.problems import _registry
from tests.fields import Corridor, Field, itself

QUICK = {"game_frames": 4000, "workers": 0, "exploration": goexplore.ExplorationConfig(batch_size=10)}


def explore(target=Field, **settings):
    return goexplore.explore(target, **{**QUICK, **settings})


def contents(run):
    """Return everything that a search found."""
    return [(run.trajectory(entry.number).actions, entry.score, entry.cell) for entry in run.archive]


class Lake(goexplore.Environment):
    """Right, left, down, up on 4 x 4 fields of ice. Holes end the episode; so does the goal, which pays 1."""

    action_count = 4
    holes = ((1, 1), (3, 1), (3, 2), (0, 3))
    goal = (3, 3)

    def __init__(self):
        self.reset()

    def reset(self):
        self.x = self.y = 0

    def step(self, action):
        right, down = ((1, 0), (-1, 0), (0, 1), (0, -1))[action]
        self.x, self.y = min(max(self.x + right, 0), 3), min(max(self.y + down, 0), 3)
        at_goal = (self.x, self.y) == self.goal
        return goexplore.Step(float(at_goal), terminated=at_goal or (self.x, self.y) in self.holes)

    def observation(self):
        return 4 * self.y + self.x

    def snapshot(self):
        return struct.pack("<2B", self.x, self.y)

    def restore(self, snapshot):
        self.x, self.y = struct.unpack("<2B", snapshot)


# What can be explored


def test_an_environments_class_and_a_cell_function_are_enough():
    run = explore(Field, cell=itself)
    assert run.best.score == 20
    assert run.problem.name == "tests.fields:Field"
    assert run.problem.cells.path == "tests.fields:itself"
    assert run.status.cells == len(run.archive)


def test_without_a_cell_function_whole_numbers_are_their_own_cells():
    assert contents(explore(Field)) == contents(explore(Field, cell=itself))


def test_a_problem_brings_its_own_settings():
    problem = goexplore.Problem(
        env=Field,
        cells=itself,
        selection=goexplore.SelectionConfig(rule="uniform"),
        exploration=goexplore.ExplorationConfig(batch_size=7, training_frames=20),
        name="a field",
    )
    run = explore(problem, exploration=None)
    assert run.problem == problem
    assert run.problem.name == "a field"


def test_settings_that_are_given_replace_those_of_the_problem():
    problem = goexplore.Problem(env=Field, exploration=goexplore.ExplorationConfig(batch_size=7))
    run = explore(problem, selection=goexplore.SelectionConfig(rule="uniform"))
    assert run.problem.exploration.batch_size == 10
    assert run.problem.selection.rule == "uniform"


def test_an_import_path():
    run = explore("tests.fields:Field")
    assert run.problem.name == "tests.fields:Field"
    assert contents(run) == contents(explore(Field))


def make_field():
    return Field()


def test_a_function_that_makes_environments():
    assert contents(explore(make_field)) == contents(explore(Field))


@pytest.fixture
def registry(monkeypatch):
    """What is registered here is forgotten after the test."""
    monkeypatch.setattr(_registry, "_registered", dict(_registry._registered))


@pytest.mark.usefixtures("registry")
def test_a_registered_name(tmp_path):
    goexplore.register("a-field", goexplore.Problem(env=Field, cells=itself))
    assert "a-field" in goexplore.problem_names()
    run = explore("a-field", run_dir=tmp_path / "run")
    assert run.problem.name == "a-field"
    again = goexplore.open_run(tmp_path / "run")  # no need to name the problem
    assert contents(again) == contents(run)
    assert again.verify().passed


def test_problems_that_come_with_the_library():
    run = explore("two-mazes", exploration=None)
    assert run.problem.name == "two-mazes"
    assert len(run.archive) > 20


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("two-maze", "Did you mean two-mazes?"),
        ("tests.fields:Feld", "Did you mean Field?"),
        ("no_such_module:Lock", "expected a module no_such_module on Python's path"),
        (Field(), "got an environment .*so give the class"),
        (7, "expected a goexplore.Problem, an environment's class or a function"),
    ],
)
def test_what_is_no_problem_is_told(target, message, tmp_path):
    with pytest.raises(ProblemError, match=message):
        explore(target, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


# What a run directory is for


def test_a_run_directory_is_left_as_it_was_returned(tmp_path):
    run = explore(run_dir=tmp_path / "run", seed=3)
    assert run.path == tmp_path / "run"
    assert run.seed == 3
    assert not run.interrupted
    assert json.loads((run.path / "config.json").read_text())["search"]["seed"] == 3
    again = goexplore.open_run(tmp_path / "run", run.problem)
    assert contents(again) == contents(run)
    assert again.status == run.status


def test_a_run_is_not_overwritten(tmp_path):
    explore(run_dir=tmp_path / "run")
    with pytest.raises(RunDirectoryError, match="continue it with `resume`, or choose another `run_dir`"):
        explore(run_dir=tmp_path / "run")


def test_a_resumed_run_finds_what_an_uninterrupted_one_finds(tmp_path):
    whole = explore(game_frames=16_000)
    explore(run_dir=tmp_path / "run", game_frames=4000)
    resumed = explore(run_dir=tmp_path / "run", game_frames=16_000, resume=True)
    assert contents(resumed) == contents(whole)


def test_a_run_is_resumed_from_where_it_is_returned_or_opened(tmp_path):
    whole = explore(game_frames=16_000)
    first = explore(run_dir=tmp_path / "run", game_frames=4000)
    second = first.resume(game_frames=8000, workers=0)
    assert second.status.game_frames > first.status.game_frames
    third = goexplore.open_run(tmp_path / "run", first.problem).resume(game_frames=16_000, workers=0)
    assert contents(third) == contents(whole)


def test_a_run_of_a_registered_problem_is_opened_and_resumed_by_its_path_alone(tmp_path):
    explore("two-mazes", exploration=None, run_dir=tmp_path / "run")
    run = goexplore.open_run(tmp_path / "run").resume(game_frames=12_000, workers=0)
    assert run.status.game_frames >= 12_000


def test_a_resume_with_other_settings_is_refused(tmp_path):
    explore(run_dir=tmp_path / "run")
    with pytest.raises(ConfigError, match=r"exploration\.batch_size is 10, not 20"):
        explore(run_dir=tmp_path / "run", resume=True, exploration=goexplore.ExplorationConfig(batch_size=20))


def test_a_file_never_imports_code(tmp_path):
    """A run of an import path opens with the problem that the user names, and with no other."""
    explore("tests.fields:Field", run_dir=tmp_path / "run")
    with pytest.raises(
        ProblemError, match=r"only imported if you name it: add `problem` tests\.fields:Field"
    ):
        goexplore.open_run(tmp_path / "run")
    with pytest.raises(ConfigError, match=r"expected tests\.fields:Field, as the file says, got"):
        goexplore.open_run(tmp_path / "run", goexplore.Problem(env=Corridor))


def test_without_a_run_directory_it_is_temporary():
    run = explore(game_frames=500)
    path = run.path
    assert (path / "config.json").exists()
    resumed = run.resume(game_frames=1000, workers=0)
    del run
    gc.collect()
    assert (path / "config.json").exists(), "the run that goes on holds it"
    del resumed
    gc.collect()
    assert not path.exists()


@pytest.mark.parametrize("workers", [1, 2, None])
def test_workers_change_nothing_but_the_speed(workers):
    assert contents(explore(workers=workers)) == contents(explore(workers=0))


def test_another_seed_finds_other_trajectories():
    assert contents(explore(seed=1)) != contents(explore(seed=0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": -1}, "expected `workers` to be 0 or more, got -1"),
        ({"seed": -1}, "expected `seed` to be .*0 or more, got -1"),
        ({"game_frames": 0}, "expected `game_frames` to be more than 0, got 0"),
        ({"minutes": 0}, "expected `minutes` to be more than 0, got 0"),
        ({"checkpoint_minutes": -1}, "expected `checkpoint_minutes` to be more than 0"),
        ({"timeout_seconds": 1e308}, "expected `timeout_seconds` to be between 0.001 and 1,000,000"),
        ({"memory_limit": "9" * 400}, "expected `memory_limit` to be a size"),
        ({"engine": "native"}, "expected `engine` auto for Field, which is played by its own Python code"),
    ],
)
def test_settings_that_make_no_sense_are_refused_and_nothing_is_written(settings, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        explore(run_dir=tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()


# What can be asked of a run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return explore(cell=itself, run_dir=tmp_path_factory.mktemp("runs") / "field")


def test_the_best_trajectory(run):
    best = run.best
    assert best.score == max(entry.score for entry in run.archive) == 20
    assert len(best) == len(best.actions) == best.entry.length
    assert best.end is End.NONE
    assert best.cell == run.archive[best.entry.number].cell
    assert best.verify()
    env, score = Field(), 0.0
    for action in best.actions:
        score += env.step(action).reward
    assert score == best.score
    assert repr(best) == f"Trajectory(entry={best.entry.number}, score=20, length={len(best)}, end=none)"


def test_any_trajectory(run):
    assert len(run.trajectory(3)) == run.archive[3].length
    assert run.trajectory(3).verify()
    for number in (-1, len(run.archive)):
        with pytest.raises(ConfigError, match=f"expected `entry` to be from 0 to {len(run.archive) - 1}"):
            run.trajectory(number)


def test_the_archive_as_a_table(run):
    frame = run.to_pandas()
    assert len(frame) == len(run.archive)
    assert frame.score.max() == run.best.score
    assert {"cell", "score", "length", "end", "times_seen"} <= set(frame.columns)


def test_how_the_search_went(run):
    metrics = run.metrics()
    assert metrics[-1].cells == run.status.cells == len(run.archive)
    assert metrics[-1].max_score == 20


def test_every_trajectory_replays(run):
    verdict = run.verify()
    assert verdict.passed
    assert verdict.checked == len(run.archive)
    kept = json.loads((run.path / "verification.json").read_text())
    assert (kept["checked"], kept["mismatches"]) == (len(run.archive), [])


def test_a_verdict_that_cannot_be_kept_is_given_all_the_same(run, caplog):
    kept = run.path / "verification.json"
    kept.unlink(missing_ok=True)
    kept.mkdir()  # as good as a disk that is read-only
    try:
        assert run.verify(3).passed
    finally:
        kept.rmdir()
    assert "the verdict is not kept for reports" in caplog.text


def test_a_sample_has_the_best_in_it(run):
    sample = run.sample(5)
    assert len(sample) in (4, 5)
    assert run.archive.best in sample
    assert run.verify(5).checked == len(sample)
    assert run.sample(None) == list(range(len(run.archive)))
    with pytest.raises(ConfigError, match="expected `sample` to be 1 or more"):
        run.sample(0)


@pytest.mark.parametrize("name", ["best.mp4", "best.gif"])
def test_a_video_of_an_environment_without_a_picture(run, name, tmp_path):
    file = run.best.video(tmp_path / name, scale=1, speed=4)
    assert file == tmp_path / name
    with av.open(str(file)) as container:
        frames = list(container.decode(video=0))
    assert len(frames) > 2
    assert frames[0].width >= 300


def test_a_video_that_cannot_be_written_is_told(run, tmp_path):
    with pytest.raises(ConfigError, match=r"expected `out` to be a file name that ends in \.mp4 or \.gif"):
        run.best.video(tmp_path / "best.avi")


def test_demonstrations(run, tmp_path):
    (best,) = run.demos(tmp_path / "demos")
    assert isinstance(best, Demonstration)
    assert best.score == 20
    assert best.actions == run.best.actions
    (file,) = (tmp_path / "demos").iterdir()
    assert goexplore.read_demonstration(file, run.problem) == best
    with pytest.raises(ProblemError, match=r"add `problem` tests\.fields:Field"):
        goexplore.read_demonstration(file)
    with pytest.raises(DemonstrationError, match="expected a folder without demonstrations"):
        run.demos(tmp_path / "demos")


def test_demonstrations_by_rules(run):
    several = run.demos(take="different", count=3)
    assert 1 < len(several) <= 3
    assert len({each.actions for each in several}) == len(several)
    (cut,) = run.demos(truncation=goexplore.Truncation(until_score=10))
    assert cut.score == 10
    assert run.trajectory(5).demo().actions == run.trajectory(5).actions


def test_a_report(run, tmp_path):
    file = run.report(tmp_path / "page.html", videos=1)
    page = file.read_text()
    assert "<b>20</b>best search score" in page
    assert "tests.fields:Field" in page
    assert "<video" in page
    assert run.report(videos=0) == run.path / "report.html"


def test_an_evaluation_of_a_demonstration_and_of_chance(run):
    (best,) = run.demos()
    short = {"repetitions": 1, "max_game_frames": 200, "workers": 1}
    played = goexplore.evaluate(best, repeat_action_probability=0.0, until_score=20.0, **short)
    assert all(episode.score == 20 for episode in played.episodes if episode.no_ops == 0)
    chance = goexplore.evaluate("random:tests.fields:Field", **short)
    assert chance.score < played.score


# Ends of episodes


def test_a_goal_that_costs_becomes_the_best():
    """Every step costs a point, so that doing nothing has the highest score: but it is no result."""
    run = explore(Corridor, game_frames=3000)
    assert run.best.end is End.TERMINATED
    assert run.best.score == -4
    assert bytes(run.best.actions) == bytes([1, 1, 1, 1])
    assert run.best.verify()


def test_a_score_below_zero_is_reached_by_the_end_of_an_episode_alone():
    """The start has 0 points, more than -50: the search goes on until an episode has ended with that."""
    run = explore(Corridor, game_frames=None, minutes=1, until_score=-50)
    assert run.status.has_result
    assert run.best.end is not End.NONE
    assert run.best.score >= -50


def test_a_goal_that_is_paid_with_the_last_step_is_found_and_kept(tmp_path):
    first = explore(Lake, game_frames=None, minutes=1, until_score=1, run_dir=tmp_path / "run")
    assert first.best.score == 1
    assert first.best.end is End.TERMINATED
    run = first.resume(game_frames=first.status.game_frames + 8000, workers=0)
    best = run.best
    assert best.score == 1
    assert best.end is End.TERMINATED
    assert len(best) == 6, "the shortest way is kept"
    assert run.verify().passed
    opened = goexplore.open_run(run.path, run.problem)
    assert opened.best.actions == best.actions
    (demonstration,) = opened.demos()
    assert demonstration.score == 1
    assert demonstration.end is End.TERMINATED
    assert best.video(tmp_path / "goal.mp4", scale=1).stat().st_size > 500


def test_ends_may_be_dropped():
    exploration = goexplore.ExplorationConfig(batch_size=10, ends="drop")
    run = explore(Lake, exploration=exploration)
    assert run.best.score == 0
    assert run.status.ends == 0


# What does not keep the contract


class Clocked(Field):
    """Remembers something that snapshots do not have."""

    def __init__(self):
        self.played = 0
        super().__init__()

    def step(self, action):
        self.played += 1
        return super().step(self.played % 4)


class Crashing(Field):
    def step(self, action):
        raise ValueError("no such key")


class Textual(Field):
    def snapshot(self):
        return "a state"


class Actionless(Field):
    action_count = 0


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Clocked, "expected"),
        (Crashing, r"expected `step` to raise nothing, got ValueError: no such key \(test_front_door\.py, "),
        (Textual, r"expected bytes from Textual\.snapshot, got str"),
        (Actionless, r"expected Actionless\.action_count to be a whole number from 1 to 65,536, got 0"),
    ],
)
def test_an_environment_that_does_not_keep_its_contract_is_refused_and_nothing_is_written(
    env, message, tmp_path
):
    with pytest.raises(EnvironmentContractError, match=message):
        explore(env, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_cells_that_are_none_are_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(EnvironmentContractError, match="cell"):
        explore(Field, cell=lambda observation: object(), run_dir=tmp_path / "run")
    with pytest.raises(ConfigError, match="expected a cell function for observations that are real numbers"):
        explore(Halves, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


class Halves(Field):
    def observation(self):
        return self.x / 2, self.y / 2


SCRIPT = """
import goexplore
from tests.fields import Field

class Mine(Field):
    pass

run = goexplore.explore(Mine, game_frames=500, run_dir="run")
print(run.best.score, run.best.verify())
assert goexplore.open_run("run", run.problem).verify().passed
goexplore.open_run("run")
"""


def test_a_script_s_own_class_is_explored_and_opened_from_the_script(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    result = subprocess.run(
        [sys.executable, str(file)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(__file__).partition("/tests/")[0], "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.endswith("True\n"), result.stderr
    assert "whose code is only imported if you name it: add `problem` script:Mine" in result.stderr
