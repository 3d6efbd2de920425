"""Objectives and events as a user has them: `explore`, what the run says, and what is left on disk."""

import dataclasses
import json

import numpy as np
import pytest

import goexplore
from goexplore.api import take_demonstrations
from goexplore.demos import Rules, find_demonstrations
from goexplore.errors import ConfigError, EnvironmentContractError, ProblemError
from tests.fields import Buggy, Field, itself


class Fragile(Buggy):
    """Only the exception."""

    deadly = (99, 99)


class Mortal(Buggy):
    """Only the crash."""

    broken = (99, 99)


def energy(observation, info):
    return info["energy"]


def is_corner(observation, info):
    return observation[0] == 7 and observation[1] >= 5


def is_pit(observation):
    return observation == Field.pit


EVENTS = {"corner": is_corner, "death": is_pit, "lookup": LookupError}
SMALL = goexplore.ExplorationConfig(batch_size=20, training_frames=20)


def explore(env, folder=None, *, game_frames=40_000, workers=0, **settings):
    settings = {"cell": itself, "exploration": SMALL, "events": EVENTS, **settings}
    return goexplore.explore(env, run_dir=folder, game_frames=game_frames, workers=workers, **settings)


def tables(run):
    return [(run.checkpoint / name).read_bytes() for name in ("archive.parquet", "segments.parquet")]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return explore(Fragile, tmp_path_factory.mktemp("runs") / "run")


def test_a_run_has_every_way_to_each_event_the_shortest_first(run):
    assert list(run.events) == ["corner", "death", "lookup"]
    for name, ways in run.events.items():
        assert ways
        assert len({way.cell for way in ways}) == len(ways)
        assert [len(way) for way in ways] == sorted(map(len, ways))
        assert {way.event for way in ways} == {name}
    assert run.status.events == {name: len(ways) for name, ways in run.events.items()}
    assert run.status.cells + sum(run.status.events.values()) == len(run.archive)
    assert {way.end.name for way in run.events["lookup"]} == {"RAISED"}
    assert {way.end.name for way in run.events["death"]} == {"TERMINATED"}
    assert run.verify().passed
    assert "event=death" in repr(run.events["death"][0])


def test_metrics_and_files_name_the_events(run):
    assert run.metrics()[-1].events == run.status.events
    assert run.metrics()[-1].scalars()["events/death"] == run.status.events["death"]
    problem = json.loads((run.path / "config.json").read_text())["search"]["problem"]
    assert problem["events"] == {
        "corner": {"path": "tests.api.test_events:is_corner"},
        "death": {"path": "tests.api.test_events:is_pit"},
        "lookup": {"path": "builtins:LookupError"},
    }
    assert "objective" not in problem
    assert "objective" not in run.to_pandas().columns


@pytest.mark.parametrize("ends", ["keep", "drop"])
@pytest.mark.parametrize("objective", [None, energy])
def test_the_archive_is_the_same_for_any_number_of_workers_and_after_a_pause(ends, objective, tmp_path):
    settings = {"exploration": dataclasses.replace(SMALL, ends=ends), "objective": objective}
    whole = explore(Fragile, tmp_path / "0", **settings)
    assert all(whole.events.values())
    assert tables(explore(Fragile, tmp_path / "2", workers=2, **settings)) == tables(whole)
    explore(Fragile, tmp_path / "paused", game_frames=15_000, **settings)
    assert tables(explore(Fragile, tmp_path / "paused", resume=True, workers=1, **settings)) == tables(whole)
    assert whole.verify().passed


def test_first_ways_are_told(tmp_path):
    class Listener:
        lines = ()

        def progress(self, progress):
            pass

        def log(self, line):
            self.lines = (*self.lines, line)

    listener = Listener()
    explore(Fragile, tmp_path / "run", game_frames=15_000, reporter=listener)
    told = [line for line in listener.lines if line.startswith("event death: first way found, ")]
    assert len(told) == 1
    assert told[0].endswith(" game frames")
    explore(Fragile, tmp_path / "run", game_frames=30_000, reporter=listener, resume=True)
    assert len([line for line in listener.lines if line.startswith("event death")]) == 1, "once for each run"


def test_a_crash_is_an_event_that_can_be_looked_at_without_a_crash(tmp_path):
    settings = {"events": {"death": is_pit}, "game_frames": 6_000}
    one, two = (explore(Mortal, tmp_path / str(workers), workers=workers, **settings) for workers in (1, 2))
    assert tables(one) == tables(two)
    (way, *_) = one.events["worker-crash"]
    verdict = one.verify()
    assert verdict.passed
    assert verdict.crashes == len(one.events["worker-crash"])
    demos = one.demos(tmp_path / "demos", events=("worker-crash",))
    assert demos[0].actions == way.actions[:-1]
    assert demos[0].provenance.fatal_action == way.actions[-1]
    assert demos[0].provenance.event == "worker-crash"
    assert way.demo() == demos[0]
    files = sorted((tmp_path / "demos").iterdir())
    assert files[0].name == "Mortal-worker-crash-00.demo.json"
    assert len(files) == len(demos) == len(one.events["worker-crash"])
    page = one.report(videos=2).read_text()
    assert 'id="events"' in page
    assert "before its last action" in page


def test_crashes_by_different_actions_in_one_state_are_not_taken_for_one():
    (way,) = find_demonstrations("montezuma-first-key-00")
    crashes = [
        dataclasses.replace(
            way,
            provenance=dataclasses.replace(way.provenance, event="worker-crash", fatal_action=action),
        )
        for action in (3, 4, 3)
    ]
    assert take_demonstrations(crashes, Rules(), out=None) == crashes[:2]


def test_demonstrations_of_events_come_shortest_first(run, tmp_path):
    demos = run.demos(tmp_path / "demos", events=("death", "corner"))
    ways = [*run.events["death"], *run.events["corner"]]
    assert sorted(map(len, ways)) == [len(each.actions) for each in demos]
    assert {each.provenance.event for each in demos} == {"death", "corner"}
    few = run.demos(events=("corner",), take="different", count=2)
    assert few[0].actions == run.events["corner"][0].actions
    assert len(few) == 2
    with pytest.raises(
        ConfigError, match=r"expected `events` of run \(corner, .*\), got 'corners'. Did you mean"
    ):
        run.demos(events=("corners",))
    with pytest.raises(ConfigError, match="expected `events` without `cell`"):
        run.demos(events=("corner",), cell="3")


def test_ways_to_events_are_no_demonstrations_unless_they_are_asked_for(run):
    (best,) = run.demos()
    assert best.provenance.event == ""
    assert not any(run.archive.is_event(entry) for entry in run.ranked())


def test_an_exception_that_is_no_event_is_refused_as_ever(tmp_path):
    with pytest.raises(EnvironmentContractError, match="expected `step` to raise nothing, got LookupError"):
        explore(Fragile, tmp_path / "run", events={"death": is_pit})


def test_an_objective_decides_which_trajectory_a_cell_keeps(tmp_path):
    def waste(observation, info):
        return -info["energy"]

    thrifty = explore(Fragile, tmp_path / "thrifty", objective=energy)
    wasteful = explore(Fragile, tmp_path / "wasteful", objective=waste)
    assert thrifty.to_pandas().query("event == ''").length.max() < 40
    assert wasteful.to_pandas().query("event == ''").length.min() > 40
    for run in (thrifty, wasteful):
        assert run.verify().passed
        assert run.best.score == run.to_pandas().query("event == ''").score.max()


def test_a_crash_that_the_check_meets_is_told_and_looked_for_but_only_if_there_are_events(tmp_path, caplog):
    with pytest.raises(EnvironmentContractError, match=r"expected the process to outlive `step`.*SIGSEGV"):
        explore(Mortal, tmp_path / "run", events={})
    assert not (tmp_path / "run").exists()
    explore(Mortal, tmp_path / "run", events={"death": is_pit}, workers=1, game_frames=2_000)
    assert (
        "warning: the check met a crash, which the search will look for: expected the process" in caplog.text
    )


# ---- what is refused, before anything is written ----------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"events": ["death"]}, ConfigError, "expected `events` to be a mapping"),
        ({"events": {"death": "pit"}}, ConfigError, "expected the event death to be a function"),
        ({"events": {"worker-hang": is_pit}}, ConfigError, "other than worker-crash and worker-hang"),
        (
            {"events": {"odd": lambda observation, info: info["x"]}},
            EnvironmentContractError,
            "expected the event odd to raise nothing, got KeyError: 'x'",
        ),
        (
            {"events": {"odd": lambda observation: np.array(observation) > 5}},
            EnvironmentContractError,
            r"expected the event odd to be True or False, got \[False False\] \(ndarray\)",
        ),
        (
            {"events": {"odd": lambda observation: observation == (0, 0)}},
            EnvironmentContractError,
            "expected the event odd not to happen yet in the initial state",
        ),
        ({"objective": 3}, ConfigError, "expected the objective to be a function"),
        (
            {"objective": lambda observation: float("nan")},
            EnvironmentContractError,
            "expected the objective to be a finite number, got nan",
        ),
    ],
)
def test_bad_objectives_and_events_are_refused_before_anything_is_written(settings, error, message, tmp_path):
    with pytest.raises(error, match=message):
        explore(Field, tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()


def test_a_run_goes_on_only_with_its_own_objective_and_events(run):
    with pytest.raises(ConfigError, match="events"):
        explore(Fragile, run.path, events={"death": is_pit}, resume=True)
    with pytest.raises(ConfigError, match="objective"):
        explore(Fragile, run.path, objective=energy, resume=True)


def test_a_run_can_be_looked_at_without_its_functions_but_neither_verified_nor_continued(run):
    bare = goexplore.open_run(run.path, goexplore.Problem(env=Fragile, cells=itself, exploration=SMALL))
    assert {name: len(ways) for name, ways in bare.events.items()} == run.status.events
    assert bare.demos(events=("death",))
    for forbidden in (bare.verify, lambda: bare.resume(game_frames=50_000, workers=0)):
        with pytest.raises(ProblemError, match=r"expected `events` with tests\.api\.test_events:is_corner"):
            forbidden()
    with pytest.raises(ConfigError, match="expected the events corner, death, lookup, got death"):
        goexplore.open_run(run.path, goexplore.Problem(env=Fragile, cells=itself, events={"death": is_pit}))
