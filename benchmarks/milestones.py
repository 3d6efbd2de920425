"""Repeat the trainings behind docs/results.md: demonstrations into policies, by either method.

Searches and trainings are resumed, so this can be interrupted and started again. Everything goes to
runs/milestones/.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from steps import FIRST_KEYS, evaluate, explore, last_metrics, take_demonstrations, train

FOLDER = Path("runs/milestones")
SIX_SEARCHES = [(problem, seed) for problem in ("montezuma", "montezuma-2021") for seed in range(3)]
TEN_SEARCHES = [("montezuma-2021", seed) for seed in range(10)]
"""Not every search finds the gems within SEARCH_GAME_FRAMES."""
SEARCH_GAME_FRAMES = "3.9M"
TEMPERATURE = 0.5
"""Of the policies that are evaluated: likely actions get likelier."""
BACKWARD = "--method backward --rollout.after-death 0.5"
"""A skull that kills is gone after that: who has not learnt in such a room waits for it for ever."""


class Milestone(NamedTuple):
    """What is to be learnt, from what, and for how long at most."""

    score: float
    minutes: float
    limits: str = ""
    """Where it stops before."""
    seeds: int = 1
    samples: Sequence[str] = ()
    """Demonstrations that are included, or else those of searches."""
    searches: Sequence[tuple[str, int]] = ()
    """Problems and seeds."""
    demos: str = ""
    """Options of `goexplore demos`."""
    settings: str = ""
    """Options of `goexplore robustify`."""


MILESTONES = {
    "first-key": Milestone(
        score=100,
        minutes=7,
        limits="--training-frames 1.6M",
        seeds=3,
        samples=FIRST_KEYS[:1],
        settings="--corrections 50 --correction-rounds 1 --cloning.steps 600 --ppo.decay-over 1600000 "
        "--ppo.discount 0.99 --starts.hope 0.25",
    ),
    "sword": Milestone(
        score=2500,
        minutes=23,
        limits="--training-frames 3M",
        samples=["montezuma-2500-points-00"],
        settings="--correction-rounds 2 --ppo.decay-over 3000000 --ppo.discount 0.99",
    ),
    "gems": Milestone(
        score=5500,
        minutes=90,
        limits="--training-frames 16M --until-success 0.75",
        seeds=3,
        samples=["montezuma-5500-points-00"],
    ),
    "level-1": Milestone(
        score=16_000,
        minutes=240,
        limits="--training-frames 7M",
        samples=["montezuma-level-1-00"],
        settings="--episodes 32 --ppo.decay-over 7000000 --starts.hope 0.25",
    ),
    "pitfall": Milestone(
        score=3000,
        minutes=60,
        limits="--training-frames 5M",
        samples=["pitfall-27055-points"],
        demos="--until-score 3900",
        settings="--preprocessing.colour --expert.horizon 90 --starts.proven-after 70 --rehearsals 4 "
        "--corrections 120 --correction-rounds 1 --starts.hope 0.25 --ppo.decay-over 5000000",
    ),
    "first-key-backward": Milestone(
        score=100,
        minutes=40,
        limits="--until-success 0.9",
        seeds=3,
        samples=FIRST_KEYS,
        settings="--method backward",
    ),
    "door-backward": Milestone(
        score=400,
        minutes=60,
        limits="--until-success 0.7 --held 20M",
        searches=SIX_SEARCHES,
        demos="--until-score 400 --take different --count 10",
        settings=BACKWARD,
    ),
    "sword-backward": Milestone(
        score=2500,
        minutes=150,
        limits="--until-success 0.5 --held 50M",
        searches=SIX_SEARCHES,
        demos="--until-score 2500 --max-training-frames 530 --take different --count 5",
        settings=BACKWARD,
    ),
    "gems-backward": Milestone(
        score=5500,
        minutes=150,
        limits="--until-success 0.5 --held 50M",
        searches=TEN_SEARCHES,
        demos="--until-score 5500 --max-training-frames 1200 --take different --count 6",
        settings=f"{BACKWARD} --ppo.cloning 500",
    ),
}


def find_demonstrations(name: str) -> list[str]:
    """Return samples, cut where that is asked for, or take demonstrations out of searches."""
    milestone, folder = MILESTONES[name], FOLDER / f"{name}-demos"
    if milestone.samples:
        if not milestone.demos:
            return list(milestone.samples)
        take_demonstrations(milestone.samples, folder, milestone.demos.split())
        return [str(folder)]
    searches = {
        (problem, seed): FOLDER / f"search-{problem}-seed{seed}" for problem, seed in milestone.searches
    }
    for (problem, seed), path in searches.items():
        explore(problem, path, game_frames=SEARCH_GAME_FRAMES, seed=seed)
    take_demonstrations([str(path) for path in searches.values()], folder, milestone.demos.split())
    return [str(folder)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=MILESTONES, default=list(MILESTONES))
    parser.add_argument("--seeds", type=int, nargs="*", help="by default those behind docs/results.md")
    parser.add_argument(
        "--max-game-frames", type=int, help="of an evaluated episode, if not as many as the protocol allows"
    )
    chosen = parser.parse_args()
    print(
        "| milestone | points | seed | training frames of plans | training frames | minutes | episodes | "
        "first lives |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in chosen.only:
        milestone = MILESTONES[name]
        for seed in range(milestone.seeds) if chosen.seeds is None else chosen.seeds:
            path = FOLDER / f"{name}-seed{seed}"
            limits = ["--minutes", str(milestone.minutes), *milestone.limits.split()]
            settings = ["--seed", str(seed), *milestone.settings.split()]
            train(find_demonstrations(name), path, settings=settings, limits=limits)
            episodes, lives = evaluate(
                path,
                score=milestone.score,
                temperature=TEMPERATURE,
                max_game_frames=chosen.max_game_frames,
            )
            last = last_metrics(path)
            print(
                f"| {name} | {milestone.score:g} | {seed} | {last.expert_training_frames:,} | "
                f"{last.training_frames:,} | {last.wall_seconds / 60:.1f} | {episodes} | {lives} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
