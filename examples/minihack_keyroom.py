"""MiniHack: pick up a key, unlock a door with it, and go through.

Run it with: pip install goexplore minihack 'setuptools<81' && python examples/minihack_keyroom.py
NetHack cannot save its state in memory, so Go-Explore returns to cells by replaying their actions. Random
play with the same actions reached the goal in none of 500 episodes (200,000 steps).
"""

from typing import Any

import goexplore


def cell(observation: Any, info: Any) -> tuple[Any, ...]:
    """Where the agent stands, whether the key lies on the floor, how many closed doors are in sight."""
    x, y = observation["blstats"][:2]
    characters = observation["chars"]
    return x, y, (characters == ord("(")).any(), (characters == ord("+")).sum()


if __name__ == "__main__":
    exploration = goexplore.ExplorationConfig(batch_size=20, training_frames=30, repeat_probability=0.5)
    run = goexplore.explore("MiniHack-KeyRoom-S15-v0", cell=cell, exploration=exploration, until_score=0.1)
    print(run.best)
    print("replayed:", run.best.verify())
