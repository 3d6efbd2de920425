"""Another learner on our curriculum: Stable-Baselines3's PPO learns the two mazes from a demonstration.

Run it with: pip install 'goexplore[train]' stable-baselines3 && python examples/sb3_on_demonstrations.py
It explores for a few seconds, takes the best trajectory as the demonstration, and trains for a few minutes.
"""

import sys
from functools import partial

from stable_baselines3.common.vec_env import DummyVecEnv
from stable_baselines3.ppo import PPO

import goexplore
from goexplore.play import PreprocessingConfig
from goexplore.training import (
    Curriculum,
    CurriculumConfig,
    DemonstrationBuffer,
    DemonstrationEnv,
    RolloutConfig,
)


def main(training_frames: int = 400_000) -> Curriculum:
    run = goexplore.explore("two-mazes", game_frames=500_000)
    buffer = DemonstrationBuffer(run.demos(), PreprocessingConfig(stack=1))
    curriculum = Curriculum(buffer.lengths, CurriculumConfig(window=6))
    rollout = RolloutConfig(allowed_lag=20)
    # All environments share one curriculum: they climb together.
    make = partial(DemonstrationEnv, buffer, curriculum, rollout)
    envs = DummyVecEnv([partial(make, seed=seed) for seed in range(16)])
    learner = PPO(
        "MlpPolicy",
        envs,
        n_steps=64,
        batch_size=256,
        n_epochs=4,
        gamma=0.98,
        ent_coef=0.005,
        learning_rate=1e-3,
        seed=0,
        device="cpu",
    )
    print(f"a demonstration of {buffer.lengths[0]} training frames")
    while learner.num_timesteps < training_frames:
        learner.learn(20_480, reset_num_timesteps=False)
        print(f"{learner.num_timesteps:,} training frames: starting point {curriculum.starting_points[0]}")
    return curriculum


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
