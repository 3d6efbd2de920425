"""MiniGrid: find the key, open the door and reach the goal. The reward comes only with the last step.

Run it with: pip install goexplore minigrid && python examples/minigrid_doorkey.py
Random play with the same actions reached the goal in none of 78 episodes (200,000 steps).
"""

from typing import Any

import goexplore


def cell(observation: Any, info: Any, env: Any) -> tuple[Any, ...]:
    """Where the agent stands and looks, whether it carries the key, whether the door is open."""
    doors = [each.is_open for each in env.grid.grid if each is not None and each.type == "door"]
    return env.agent_pos, env.agent_dir, env.carrying is not None, doors


if __name__ == "__main__":
    exploration = goexplore.ExplorationConfig(batch_size=20, training_frames=50, repeat_probability=0.7)
    run = goexplore.explore("MiniGrid-DoorKey-16x16-v0", cell=cell, exploration=exploration, until_score=0.1)
    print(run.best)
    print("replayed:", run.best.verify())
