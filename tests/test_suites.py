"""Environments that nobody here wrote, as the examples use them: they verify and resume to the same bytes."""

import importlib.util
import sys
import warnings
from pathlib import Path

import pytest

import goexplore

EXAMPLES = Path(__file__).parents[1] / "examples"

pytestmark = pytest.mark.filterwarnings("ignore")


def load(name):
    """Import an example without running it."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module


def minigrid():
    pytest.importorskip("minigrid")
    return "MiniGrid-DoorKey-16x16-v0", load("minigrid_doorkey").cell, "copies"


def antmaze():
    pytest.importorskip("gymnasium_robotics")
    return "AntMaze_UMaze-v5", goexplore.Grid("achieved_goal", size=1.0), "state"


def pointmaze():
    pytest.importorskip("gymnasium_robotics")
    return load("pointmaze_policy").maze, goexplore.Grid("achieved_goal", size=0.25), "state"


def minihack():
    pytest.importorskip("minihack")
    return "MiniHack-KeyRoom-S15-v0", load("minihack_keyroom").cell, "replay"


def retro():
    pytest.importorskip("stable_retro")
    return load("retro_airstriker").make, goexplore.Rendering(width=11, height=8), "copies"


def textworld():
    pytest.importorskip("textworld")
    example = load("textworld_coin")
    example.generate()
    return example.make, example.room, "state"


def crafter():
    pytest.importorskip("crafter")
    example = load("crafter_achievements")
    return example.Crafter, example.cell, "copies"


def last_tables(run):
    folder = sorted((run / "checkpoints").iterdir())[-1]
    return [(folder / name).read_bytes() for name in ("archive.parquet", "segments.parquet")]


@pytest.mark.parametrize(
    "suite",
    [
        minigrid,
        pointmaze,
        minihack,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (antmaze, crafter, retro, textworld)),
    ],
)
def test_a_suite_verifies_and_resumes_to_the_same_bytes(suite, tmp_path):
    target, cell, engine = suite()
    settings = {
        "cell": cell,
        "exploration": goexplore.ExplorationConfig(batch_size=10, training_frames=10, repeat_probability=0.7),
    }
    whole = goexplore.explore(target, run_dir=tmp_path / "whole", game_frames=400, workers=2, **settings)
    assert whole.directory.engine() == engine
    assert whole.verify().mismatches == ()
    goexplore.explore(target, run_dir=tmp_path / "parts", game_frames=150, workers=0, **settings)
    goexplore.explore(target, run_dir=tmp_path / "parts", game_frames=400, workers=1, resume=True, **settings)
    assert last_tables(tmp_path / "parts") == last_tables(tmp_path / "whole")


@pytest.mark.slow
def test_achievements_are_events(tmp_path):
    crafter()
    example = sys.modules["crafter_achievements"]
    run = goexplore.explore(
        example.Crafter, cell=example.cell, events=example.EVENTS, game_frames=2000, workers=2
    )
    assert "collect_sapling" in run.events or "collect_wood" in run.events
    for ways in run.events.values():
        assert [len(way) for way in ways] == sorted(len(way) for way in ways)
    assert run.verify().mismatches == ()
