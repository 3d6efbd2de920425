"""The examples with environments of others beside random play: the table of docs/gymnasium.md.

Each search ends when its task is solved, or with its budget of game frames. Random play has the same actions,
the same repetition and the same seed of the environment. What is not installed is left out. The pictures show
the cells of the first search, or the last state of its best trajectory.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import goexplore
from goexplore.exploration import RandomRepeat
from goexplore.problems import Problem, find_problem
from goexplore.random import SplitMix64

EXAMPLES = Path(__file__).parents[1] / "examples"


@dataclass(frozen=True)
class Suite:
    """A task of a suite."""

    name: str
    package: str
    make: Callable[[], tuple[Any, Any]]
    """Returns what is explored, and its cells."""
    goal: float | None
    """The score that solves it, if one does."""
    game_frames: int
    random_steps: int
    exploration: goexplore.ExplorationConfig | None = None


def _minigrid() -> tuple[Any, Any]:
    return "MiniGrid-DoorKey-16x16-v0", _example("minigrid_doorkey").cell


def _antmaze() -> tuple[Any, Any]:
    return goexplore.Gymnasium(id="AntMaze_UMaze-v5", seed=3), goexplore.Grid("achieved_goal", size=1.0)


def _pointmaze() -> tuple[Any, Any]:
    return goexplore.Gymnasium(id="PointMaze_Large-v3", seed=2), goexplore.Grid("achieved_goal", size=0.5)


def _minihack() -> tuple[Any, Any]:
    return "MiniHack-KeyRoom-S15-v0", _example("minihack_keyroom").cell


def _textworld() -> tuple[Any, Any]:
    example = _example("textworld_coin")
    example.generate()
    return example.make, example.room


def _retro() -> tuple[Any, Any]:
    return _example("retro_airstriker").make, goexplore.Rendering(width=11, height=8)


def _crafter() -> tuple[Any, Any]:
    example = _example("crafter_achievements")
    return example.Crafter, example.cell


STEADY = goexplore.ExplorationConfig(batch_size=20, training_frames=50, repeat_probability=0.9)
SUITES = [
    Suite("MiniGrid-DoorKey-16x16-v0", "minigrid", _minigrid, 0.1, 400_000, 200_000),
    Suite("PointMaze_Large-v3, seed 2", "gymnasium_robotics", _pointmaze, 1, 200_000, 200_000, STEADY),
    Suite("AntMaze_UMaze-v5, seed 3", "gymnasium_robotics", _antmaze, 1, 200_000, 100_000, STEADY),
    Suite("MiniHack-KeyRoom-S15-v0", "minihack", _minihack, 0.1, 200_000, 200_000),
    Suite("TextWorld, a coin 60 rooms away", "textworld", _textworld, 1, 60_000, 30_000),
    Suite("stable-retro, Airstriker", "stable_retro", _retro, None, 6_000, 6_000),
    Suite("Crafter", "crafter", _crafter, None, 20_000, 20_000),
]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--seeds", type=int, default=3, help="searches of each task")
    options.add_argument("--only", default="", help="tasks whose names have this in them")
    options.add_argument("--picture", type=Path, help="where to draw the cells that were found")
    chosen = options.parse_args()
    shown = []
    print("| task | returns by | solved by search | game frames (replayed) | best score | random play |")
    print("|---|---|---|---|---|---|")
    for suite in SUITES:
        if importlib.util.find_spec(suite.package) is None or chosen.only not in suite.name:
            continue
        runs = [_search(suite, seed) for seed in range(chosen.seeds)]
        shown.append((suite.name, runs[0]))
        print(_row(suite, runs), flush=True)
    if chosen.picture is not None:
        _draw(shown, chosen.picture)


def _example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _problem(suite: Suite) -> Problem:
    target, cell = suite.make()
    found = find_problem(target)
    exploration = suite.exploration or found.exploration
    return Problem(env=found.env, cells=cell, exploration=exploration, name=found.name)


def _search(suite: Suite, seed: int) -> goexplore.Run:
    return goexplore.explore(
        _problem(suite), seed=seed, game_frames=suite.game_frames, until_score=suite.goal, workers=2
    )


def _row(suite: Suite, runs: Sequence[goexplore.Run]) -> str:
    frames = ", ".join(f"{run.status.game_frames:,} ({run.status.game_frames_replayed:,})" for run in runs)
    scores = ", ".join(f"{run.best.score:.3g}" for run in runs)
    solved = "no goal"
    if suite.goal is not None:
        solved = f"{sum(run.best.score >= suite.goal for run in runs)} of {len(runs)}"
    engine = runs[0].directory.engine()
    return f"| {suite.name} | {engine} | {solved} | {frames} | {scores} | {_random_play(suite)} |"


def _random_play(suite: Suite) -> str:
    """Play at random and say what came of it."""
    problem = _problem(suite)
    env = problem.with_engine("replay")[0].env()
    env.reset()
    episodes, successes, score, best = 0, 0, 0.0, 0.0
    cell_env = problem.with_cells(env)
    cell_env.reset()
    repeat = RandomRepeat(problem.exploration.repeat_probability)
    for action in repeat.actions(cell_env, SplitMix64(0), suite.random_steps):
        step = env.step(action)
        score += step.reward
        best = max(best, score)
        reached = suite.goal is not None and score >= suite.goal
        if step.ended or reached:
            episodes, successes, score = episodes + 1, successes + reached, 0.0
            env.reset()
    env.close()
    if suite.goal is None:
        return f"best score {best:.3g} in {suite.random_steps:,} steps"
    return f"{successes} of {episodes} episodes ({suite.random_steps:,} steps)"


def _draw(shown: Sequence[tuple[str, goexplore.Run]], file: Path) -> None:
    """Draw cells of two numbers as points, and of other searches the last picture of the best trajectory."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    drawn = [
        (name, _places(run), None if _places(run) is not None else _last_picture(run)) for name, run in shown
    ]
    drawn = [each for each in drawn if each[1] is not None or each[2] is not None]
    figure, axes = plt.subplots(1, len(drawn), figsize=(3.2 * len(drawn), 3.4), squeeze=False)
    for axis, (name, places, picture) in zip(axes[0], drawn, strict=True):
        axis.set_title(name, fontsize=9)
        axis.set_xticks([])
        axis.set_yticks([])
        if places is not None:
            points = axis.scatter(places[0], places[1], c=places[2], s=14, cmap="viridis", marker="s")
            figure.colorbar(points, ax=axis, label="found at game frame", fraction=0.046)
            axis.set_aspect("equal")
        else:
            axis.imshow(picture)
    figure.tight_layout()
    figure.savefig(file, dpi=110)


def _places(run: goexplore.Run) -> tuple[Any, Any, Any] | None:
    table = run.to_pandas()
    if "achieved_goal_0" not in table:
        return None
    return table.achieved_goal_0, table.achieved_goal_1, table.found_at_game_frame


def _last_picture(run: goexplore.Run) -> np.ndarray[Any, Any] | None:
    env = run.problem.env()
    if env.unwrapped.render_mode != "rgb_array":
        return None  # what it observes is not meant for people
    env.reset()
    actions = list(run.best.actions)
    env.play(actions[:-1])  # an ended episode may have nothing to show any more
    picture = env.picture()
    env.close()
    return picture


if __name__ == "__main__":
    main()
