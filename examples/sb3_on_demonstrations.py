"""Another learner on our curriculum: Stable-Baselines3's PPO learns the two mazes from a demonstration.

Run it with: pip install 'goexplore[train]' stable-baselines3 && python examples/sb3_on_demonstrations.py
It explores for some seconds, takes the best trajectory as the demonstration, and trains for a few minutes.
"""

import sys
import tempfile
from functools import partial
from pathlib import Path

from stable_baselines3.common.vec_env import DummyVecEnv
from stable_baselines3.ppo import PPO

import goexplore
from goexplore.training import (
    Curriculum,
    CurriculumConfig,
    DemonstrationEnv,
    PreprocessingConfig,
    DemonstrationBuffer,
    RolloutConfig,
)


def find_demonstration() -> goexplore.Demonstration:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        limits = goexplore.Limits(game_frames=500_000)
        goexplore.explore(goexplore.preset("two-mazes"), run_dir=run, limits=limits)
        (best,) = goexplore.extract([goexplore.Source.open(run)], goexplore.Rules())
    return best


def main(training_frames: int = 400_000) -> Curriculum:
    buffer = DemonstrationBuffer([find_demonstration()], PreprocessingConfig(width=20, height=15, stack=1), "ale")
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
