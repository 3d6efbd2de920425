"""PointMaze through both phases: a ball finds its way through a maze, then a network learns to repeat it.

Run it with: pip install 'goexplore[mujoco,train]' && python examples/pointmaze_policy.py
The search takes less than a minute on two cores, and the training takes a few minutes.
"""

import dataclasses
from typing import Any

import gymnasium
import gymnasium_robotics

import goexplore
from goexplore.training import training_preset

gymnasium.register_envs(gymnasium_robotics)


def maze() -> gymnasium.Env[Any, Any]:
    """The maze; its episodes end at the goal."""
    return gymnasium.make("PointMaze_Medium-v3", continuing_task=False)


if __name__ == "__main__":
    problem = goexplore.Gymnasium(factory=maze, seed=3, draws=16)  # 16 pushes, so that a policy can choose
    run = goexplore.explore(problem, cell=goexplore.Grid("achieved_goal", size=0.25), game_frames=400_000)
    print("the way to the goal takes", len(run.best), "steps")
    tiny = training_preset("tiny", "backward")
    config = dataclasses.replace(tiny, ppo=dataclasses.replace(tiny.ppo, discount=0.995))
    training = goexplore.robustify(run.demos(), config=config, run_dir="runs/pointmaze", minutes=8)
    print(
        "with sticky actions it gets there in", training.evaluate(until_score=1).reached(1).text(percent=True)
    )
