"""What the Gymnasium adapter costs, what live copies save, and search against random play in a maze.

1. Random play through adapter and cells, beside the same loop written by hand against the environment.
2. Returning to the cells of a real archive by live copies, and by replay alone; and whole searches with both.
3. AntMaze: how often the goal is found within equal budgets of steps, by search and by random play.

All are ratios or counts of one run: absolute speeds depend on the machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import islice
from time import perf_counter
from typing import Any

import gymnasium
from scipy.stats import binomtest

import goexplore
from goexplore.cells import CellEnvironment, FunctionCells
from goexplore.engines import EngineWish
from goexplore.envs.gymnasium import ActionTable
from goexplore.exploration import RandomRepeat
from goexplore.problems import Gymnasium
from goexplore.random import SplitMix64

ENGINES: tuple[EngineWish, ...] = ("copies", "replay")
FAR = 3
"""The seed of a reset that puts the ant and its goal at opposite ends of the maze."""
STEADY = goexplore.ExplorationConfig(batch_size=20, training_frames=50, repeat_probability=0.9)
TURNS = 6
"""Each side of a comparison is played this often, by turns."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--seconds", type=float, default=3.0, help="of each turn of a comparison")
    options.add_argument("--seeds", type=int, default=5, help="searches, and random plays, of the maze")
    options.add_argument("--only-maze", action="store_true", help="leave out the first two comparisons")
    chosen = options.parse_args()
    if chosen.only_maze:
        compare_with_random_play("AntMaze_UMaze-v5", chosen.seeds)
        return
    for id, cell in (("MiniGrid-DoorKey-16x16-v0", facing), ("PointMaze_UMaze-v3", place)):
        by_hand, adapted = compare(play_by_hand(id, cell), play_adapted(id, cell), chosen.seconds)
        print(f"{id}: with adapter and cells, a step takes {by_hand / adapted - 1:.1%} longer than by hand")
    compare_returns("MiniGrid-DoorKey-16x16-v0")
    compare_searches("MiniGrid-ObstructedMaze-Full-v1")
    compare_with_random_play("AntMaze_UMaze-v5", chosen.seeds)


def facing(observation: Any) -> Any:
    """Return what the agent sees, as a cell."""
    return observation["image"].tobytes(), int(observation["direction"])


def place(observation: Any) -> Any:
    """Return the square in which the body is, as a cell."""
    x, y = observation["achieved_goal"]
    return int(x // 0.5), int(y // 0.5)


def compare(
    one: Callable[[float], float], other: Callable[[float], float], seconds: float
) -> tuple[float, float]:
    """Return how many steps per second two ways to play make, played by turns: the best turn of each."""
    rates: tuple[list[float], list[float]] = ([], [])
    for _ in range(TURNS):
        for play, found in zip((one, other), rates, strict=True):
            found.append(play(seconds))
    return max(rates[0]), max(rates[1])


def play_by_hand(id: str, cell: Callable[[Any], Any]) -> Callable[[float], float]:
    """Return random play that counts cells, as a user would write it."""
    gymnasium.register_envs(__import__("minigrid"))
    gymnasium.register_envs(__import__("gymnasium_robotics"))
    env = gymnasium.make(id, disable_env_checker=True)
    actions = ActionTable(env.action_space)
    table = [actions[number] for number in range(actions.action_count)]
    cells: dict[Any, float] = {}

    def play(seconds: float) -> float:
        steps, score = 0, 0.0
        source = RandomRepeat(0.5).actions(actions, SplitMix64(0), 10**9)  # type: ignore[arg-type]
        env.reset(seed=0)
        start = perf_counter()
        while perf_counter() - start < seconds:
            for number in islice(source, 100):
                observation, reward, terminated, truncated, _ = env.step(table[number])
                score += float(reward)
                key = cell(observation)
                if score > cells.get(key, -1.0):
                    cells[key] = score
                steps += 1
                if terminated or truncated:
                    env.reset(seed=0)
                    score = 0.0
        return steps / (perf_counter() - start)

    return play


def play_adapted(id: str, cell: Callable[[Any], Any]) -> Callable[[float], float]:
    """Return the same play through the adapter and our cells."""
    env = Gymnasium(id=id).with_engine("replay").env()
    cell_env = CellEnvironment(env, FunctionCells(cell))
    cells: dict[Any, float] = {}

    def play(seconds: float) -> float:
        steps, score = 0, 0.0
        cell_env.reset()
        source = RandomRepeat(0.5).actions(cell_env, SplitMix64(0), 10**9)
        start = perf_counter()
        while perf_counter() - start < seconds:
            for action in islice(source, 100):
                reward, key, end = cell_env.step(action)
                score += reward
                if score > cells.get(key, -1.0):
                    cells[key] = score
                steps += 1
                if end:
                    cell_env.reset()
                    score = 0.0
        return steps / (perf_counter() - start)

    return play


def compare_returns(id: str) -> None:
    """Return to cells of an archive by copies and by replay."""
    grid = goexplore.Grid("agent_pos", "agent_dir", "carrying.type")
    run = goexplore.explore(id, cell=grid, game_frames=100_000, workers=0, engine="copies")
    entries = [entry for entry in run.archive if entry.snapshot]
    entries = entries[:: max(1, len(entries) // 200)]
    seconds = {}
    for engine in ENGINES:
        cell_env = run.problem.with_engine(engine)[0].make_cell_env()
        for _ in range(2):  # the first time around there are no copies yet
            start = perf_counter()
            for entry in entries:
                cell_env.restore(entry.snapshot)
            seconds[engine] = perf_counter() - start
    length = sum(entry.length for entry in entries) / len(entries)
    print(
        f"{id}: a return to one of {len(entries)} cells, {length:.0f} steps from the start on "
        f"average, is {seconds['replay'] / seconds['copies']:.0f} times as fast by a live copy as by replay"
    )


def compare_searches(id: str) -> None:
    """Search with both ways, short explorations far from the start."""
    grid = goexplore.Grid("agent_pos", "agent_dir", "carrying.type")
    exploration = goexplore.ExplorationConfig(training_frames=10)
    seconds = {}
    for engine in ENGINES:
        run = goexplore.explore(
            id, cell=grid, exploration=exploration, game_frames=100_000, workers=0, engine=engine
        )
        seconds[engine] = run.status.seconds
    status = run.status
    print(
        f"{id}: a whole search with explorations of 10 training frames is "
        f"{seconds['replay'] / seconds['copies']:.1f} times as fast with live copies as with replay "
        f"({status.game_frames:,} game frames, {status.game_frames_replayed:,} more replayed)"
    )


def compare_with_random_play(id: str, seeds: int) -> None:
    """Count the searches and the random plays that find the goal within equal budgets."""
    budget = 80_000
    grid = goexplore.Grid("achieved_goal", size=1.0)
    problem = Gymnasium(id=id, seed=FAR)
    found = random_found = 0
    for seed in range(seeds):
        run = goexplore.explore(
            problem,
            cell=grid,
            exploration=STEADY,
            seed=seed,
            game_frames=budget,
            until_score=1,
            workers=0,
            engine="state",
        )
        found += run.best.score >= 1
        random_found += _random_play(problem, seed, budget)
    for name, count in (("search", found), ("random play", random_found)):
        low, high = binomtest(count, seeds).proportion_ci(method="wilson")
        print(f"{id}: {name} found the goal in {count} of {seeds} (95 % interval {low:.0%} to {high:.0%})")


def _random_play(problem: Gymnasium, seed: int, budget: int) -> bool:
    env = problem.with_engine("replay").env()
    cell_env = CellEnvironment(env, FunctionCells(place))
    cell_env.reset()
    for action in RandomRepeat(STEADY.repeat_probability).actions(cell_env, SplitMix64(seed), budget):
        step = env.step(action)
        if step.reward > 0:
            return True
        if step.ended:
            env.reset()
    return False


if __name__ == "__main__":
    main()
