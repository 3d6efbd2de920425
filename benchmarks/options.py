"""Measure the options of training: each of them alone beside the preset.

Trainings are resumed, so this can be interrupted and started again. Everything goes to runs/options/.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

from steps import FIRST_KEYS, evaluate, explore, last_metrics, take_demonstrations, train

FOLDER = Path("runs/options")
TEMPERATURES = (1, 0.5, 0.25)


class Task(NamedTuple):
    """What is learnt."""

    score: float
    training_frames: str
    """At most."""
    success: str
    """Where training stops: of the last 200 rollouts from the real start."""
    preset: str
    options: dict[str, list[str]]


RECURRENT = ["--network.kind", "recurrent", "--rollout.burn-in"]
COMMON = {
    "the preset": [],
    "no self-imitation": ["--ppo.imitation", "0"],
    "cloning first": ["--ppo.cloning", "500"],
    "real starts from the beginning": ["--curriculum.near-start", "100000"],
}
TASKS = {
    "two-mazes": Task(200, "400K", "0.97", "tiny", {**COMMON, "recurrent": [*RECURRENT, "5"]}),
    "first-key": Task(
        100,
        "1500K",
        "0.9",
        "small",
        {**COMMON, "starts after death": ["--rollout.after-death", "0.5"], "recurrent": [*RECURRENT, "20"]},
    ),
}


def find_demonstrations(name: str) -> list[str]:
    """Return samples, or what a short search finds."""
    if name == "first-key":
        return FIRST_KEYS
    search, folder = FOLDER / f"{name}-search", FOLDER / f"{name}-demos"
    explore(name, search, game_frames="500K")
    take_demonstrations([str(search)], folder, [])
    return [str(folder)]


def train_with(name: str, option: str, seed: int) -> Path:
    """Train with one option and seed."""
    task, path = TASKS[name], FOLDER / f"{name}-{option.replace(' ', '-')}-seed{seed}"
    settings = ["--method", "backward", "--preset", task.preset, "--seed", str(seed), *task.options[option]]
    limits = ["--training-frames", task.training_frames, "--until-success", task.success]
    train(find_demonstrations(name), path, settings=settings, limits=limits)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="names of options")
    chosen = parser.parse_args()
    task = TASKS[chosen.task]
    print("| option | training frames | minutes |", *(f"temperature {each:g} |" for each in TEMPERATURES))
    print(f"|---|{'---:|' * (2 + len(TEMPERATURES))}")
    for option in chosen.only or task.options:
        paths = [train_with(chosen.task, option, seed) for seed in range(chosen.seeds)]
        ends = [last_metrics(path) for path in paths]
        columns = [
            " ".join(f"{end.training_frames / 1e3:.0f}K" for end in ends),
            " ".join(f"{end.wall_seconds / 60:.1f}" for end in ends),
            *(
                " ".join(evaluate(path, score=task.score, temperature=each)[0] for path in paths)
                for each in TEMPERATURES
            ),
        ]
        print("|", option, "|", " | ".join(columns), "|", flush=True)


if __name__ == "__main__":
    main()
