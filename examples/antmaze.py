"""AntMaze: an ant with eight joints finds its way round the U-shaped wall between it and its goal.

Run it with: pip install goexplore gymnasium-robotics && python examples/antmaze.py
Actions are continuous. The reward is 1 for each step at the goal, and otherwise 0. Random play with the same
actions reached the goal in none of 285 episodes (200,000 steps). Set MUJOCO_GL=egl to get pictures without a
screen.
"""

import goexplore

if __name__ == "__main__":
    run = goexplore.explore(
        goexplore.Gymnasium(id="AntMaze_UMaze-v5", seed=3),  # the seed that puts the goal behind the wall
        cell=goexplore.Grid("achieved_goal", size=0.5),  # where the ant is, in bins of half a metre
        exploration=goexplore.ExplorationConfig(batch_size=20, training_frames=50, repeat_probability=0.8),
        until_score=1,
    )
    print(run.best)
    print("replayed:", run.best.verify())
