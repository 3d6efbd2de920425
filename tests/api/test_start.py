"""A search that starts from a demonstration: `explore(..., start_from=...)`."""

import dataclasses
import json
from pathlib import Path

import pytest

import goexplore
from goexplore import _native as native
from goexplore.demos import find_demonstrations, write_demonstration
from goexplore.errors import ConfigError, DemonstrationError, RunDirectoryError
from goexplore.exploration import ExplorationConfig
from goexplore.problems import Problem
from tests.cli.commands import tables
from tests.fields import Corridor, Field, Lock, itself

KEY = "montezuma-first-key-00"
SMALL = ExplorationConfig(batch_size=20)


def montezuma(**settings):
    return goexplore.explore(
        "montezuma-2021", **{"start_from": KEY, "exploration": SMALL, "game_frames": 12_000, **settings}
    )


@pytest.fixture(scope="module")
def from_the_key(tmp_path_factory):
    """A search that begins with the first key in hand."""
    return montezuma(run_dir=tmp_path_factory.mktemp("runs") / "run", workers=0)


@pytest.fixture(scope="module")
def field():
    """A search of a small field, from its initial state."""
    return goexplore.explore(Field, cell=itself, game_frames=20_000, workers=0)


def test_the_archive_begins_with_the_demonstrations_end_alone(tmp_path):
    (demonstration,) = find_demonstrations(KEY)
    run = montezuma(run_dir=tmp_path / "run", until_score=100, workers=0)
    (only,) = run.archive
    assert (only.score, only.length) == (100, 72)
    assert run.archive.trajectory(0) == demonstration.actions
    assert run.status.game_frames == 0
    assert run.best.demo().actions == demonstration.actions


def test_cells_remember_what_was_done_on_the_way_there(from_the_key, tmp_path):
    cells = from_the_key.to_pandas()
    assert cells["score"].min() == 100, "nothing was found before the key"
    with_the_key = int((cells["keys"] == "1").to_numpy().nonzero()[0][-1])
    run = montezuma(
        start_from=from_the_key.trajectory(with_the_key), run_dir=tmp_path / "run", game_frames=1, workers=0
    )
    assert run.archive.cell(0) == from_the_key.archive.cell(with_the_key)
    assert run.archive[0].snapshot == from_the_key.archive[with_the_key].snapshot


def test_every_trajectory_begins_with_the_demonstration_and_replays_from_the_initial_state(from_the_key):
    (demonstration,) = find_demonstrations(KEY)
    for entry in range(len(from_the_key.archive)):
        assert from_the_key.archive.trajectory(entry)[:72] == demonstration.actions
    verdict = from_the_key.verify()
    assert verdict.passed
    assert verdict.checked == len(from_the_key.archive)


@pytest.mark.parametrize(
    ("engine", "workers"),
    [
        ("ale", 2),
        pytest.param("native", 2, marks=pytest.mark.skipif(native.atari is None, reason="not built")),
    ],
)
def test_workers_change_nothing_but_the_speed(engine, workers, tmp_path):
    for name, count in (("alone", 0), ("together", workers)):
        montezuma(run_dir=tmp_path / name, workers=count, engine=engine, game_frames=6_000)
    assert tables(tmp_path / "alone") == tables(tmp_path / "together")


def test_a_resumed_search_needs_no_demonstration_and_finds_the_same(from_the_key, tmp_path):
    (demonstration,) = find_demonstrations(KEY)
    write_demonstration(demonstration, tmp_path / "key.demo.json")
    run = montezuma(run_dir=tmp_path / "run", workers=0, game_frames=1, start_from=tmp_path / "key.demo.json")
    (tmp_path / "key.demo.json").unlink()
    assert 0 < run.status.game_frames < from_the_key.status.game_frames
    run.resume(game_frames=12_000, workers=0)
    assert tables(tmp_path / "run") == tables(from_the_key.path)


def test_a_search_that_was_killed_before_its_first_checkpoint_starts_there_again(from_the_key, tmp_path):
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    config = (from_the_key.path / "config.json").read_text()
    (tmp_path / "run" / "config.json").write_text(config)
    montezuma(run_dir=tmp_path / "run", workers=0, resume=True, start_from=None)
    assert tables(tmp_path / "run") == tables(from_the_key.path)


def test_a_resume_from_elsewhere_is_refused(from_the_key, field):
    with pytest.raises(ConfigError, match=r"score 100 after 72 training frames.*omit `start_from`"):
        montezuma(run_dir=from_the_key.path, resume=True, start_from="montezuma-first-key-01")
    with pytest.raises(ConfigError, match=r"expected the start that .* has .the initial state., got another"):
        goexplore.explore(
            Field, cell=itself, run_dir=field.path, resume=True, game_frames=1, start_from=field.best
        )


def test_the_same_demonstration_may_be_named_again(from_the_key):
    before = tables(from_the_key.path)
    run = montezuma(run_dir=from_the_key.path, resume=True, game_frames=1)
    assert run.status == from_the_key.status
    assert tables(from_the_key.path) == before


def test_a_search_goes_on_from_what_another_found(field):
    further = goexplore.explore(Field, cell=itself, game_frames=4_000, workers=0, start_from=field.best)
    assert further.archive.trajectory(0) == field.best.actions
    assert further.archive[0].score == field.best.score
    assert further.verify(workers=1).passed
    (demonstration,) = further.demos()
    assert demonstration.score == further.best.score
    again = goexplore.explore(Field, cell=itself, game_frames=400, workers=0, start_from=demonstration)
    assert again.archive.trajectory(0) == demonstration.actions


@pytest.mark.parametrize("target", ["FrozenLake8x8-v1", pytest.param("Taxi-v4", marks=pytest.mark.slow)])
def test_gymnasium_environments_replay_and_workers_change_nothing(target, tmp_path):
    first = goexplore.explore(target, game_frames=4_000, workers=0)
    start = max(filter(first.archive.is_explorable, range(len(first.archive))))
    for name, workers in (("alone", 0), ("together", 2)):
        run = goexplore.explore(
            target,
            game_frames=2_000,
            workers=workers,
            run_dir=tmp_path / name,
            start_from=first.trajectory(start),
        )
        assert run.archive.cell(0) == first.archive.cell(start)
        assert run.verify(workers=1).passed
    assert tables(tmp_path / "alone") == tables(tmp_path / "together")


def test_actions_that_need_two_bytes(tmp_path):
    problem = Problem(env=Lock, exploration=SMALL)
    first = goexplore.explore(problem, game_frames=60_000, workers=0)
    longest = max(range(len(first.archive)), key=lambda entry: first.archive[entry].length)
    start = first.trajectory(longest)
    assert isinstance(start.actions, tuple)
    run = goexplore.explore(problem, game_frames=2_000, workers=0, start_from=start, run_dir=tmp_path / "run")
    assert run.archive.trajectory(0) == start.actions
    assert run.resume(game_frames=4_000, workers=0).verify(workers=1).passed


def test_dynamic_cells_are_revised_and_the_start_stays_the_first(tmp_path):
    settings = {
        "cell": "dynamic",
        "exploration": SMALL,
        "game_frames": 12_000,
        "workers": 0,
        "start_from": KEY,
        "run_dir": tmp_path / "run",
    }
    run = goexplore.explore("ALE/MontezumaRevenge-v5", **settings)
    assert run.archive[0].length >= 72
    assert run.verify(sample=20).passed
    assert run.resume(game_frames=16_000, workers=0).status.cells >= run.status.cells


def altered(demonstration, **changes):
    return dataclasses.replace(demonstration, **changes)


def test_a_demonstration_that_the_game_does_not_play_is_refused_and_nothing_is_written(tmp_path):
    (demonstration,) = find_demonstrations(KEY)
    other = bytes([demonstration.actions[0] ^ 1]) + demonstration.actions[1:]
    for wrong in (altered(demonstration, actions=other), altered(demonstration, digest="0" * 64)):
        with pytest.raises(DemonstrationError, match=r"make it anew|got one that ends after"):
            montezuma(start_from=wrong, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("pitfall-three-rooms-right", "of montezuma_revenge with the settings of the search.*game is"),
        ("nowhere", "expected a demonstration's file, a folder of them or a sample, got 'nowhere'"),
        (str(Path(goexplore.__file__).parent / "samples"), "expected `start_from` to be one demonstration"),
        (5, "expected `start_from` to be a demonstration, a trajectory of a run, or a file's .* got int"),
    ],
)
def test_what_cannot_be_started_from_is_told(start, message, tmp_path):
    with pytest.raises((ConfigError, DemonstrationError), match=message):
        montezuma(start_from=start, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_demonstration_with_another_frame_skip_is_refused(tmp_path):
    (demonstration,) = find_demonstrations(KEY)
    other = altered(demonstration, env=dataclasses.replace(demonstration.env, frame_skip=3))
    with pytest.raises(ConfigError, match="frame_skip is 4, not 3"):
        montezuma(start_from=other, run_dir=tmp_path / "run")


def test_the_end_of_an_episode_cannot_be_started_from(field, tmp_path):
    ended = next(entry for entry in range(len(field.archive)) if field.archive.has_ended(entry))
    with pytest.raises(DemonstrationError, match="got an episode that is over at training frame"):
        goexplore.explore(
            Field, cell=itself, start_from=field.trajectory(ended), run_dir=tmp_path / "run", game_frames=1
        )
    assert not (tmp_path / "run").exists()


def test_the_initial_state_is_no_demonstration():
    run = goexplore.explore(Corridor, cell=itself, game_frames=200, workers=0)
    with pytest.raises(DemonstrationError, match="of at least one training frame"):
        goexplore.explore(Corridor, cell=itself, start_from=run.trajectory(0), game_frames=1)


@pytest.mark.parametrize(
    "change",
    [
        {"actions": "eJw"},
        {"actions": "!"},
        {"training_frames": 71},
        {"training_frames": 10**9},
        {"score": None},
        {"action_count": -1, "actions": 5},
    ],
)
def test_a_start_that_somebody_has_damaged_is_told(from_the_key, change, tmp_path):
    config = json.loads((from_the_key.path / "config.json").read_text())
    config["search"]["start"] |= change
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    with pytest.raises(RunDirectoryError, match=r"expected the start of a search in .* Put the file back"):
        montezuma(run_dir=tmp_path / "run", resume=True, start_from=None)
