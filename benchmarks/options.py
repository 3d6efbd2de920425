"""Measure the options of training: each of them alone beside the preset.

Trainings are resumed, so this can be interrupted and started again. Everything goes to runs/options/.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from goexplore.demos import sample_names

FOLDER = Path("runs/options")
SHARPNESS = ("1", "2", "4")


class Task(NamedTuple):
    """What is learnt."""

    score: str
    training_frames: str
    """At most."""
    success: str
    """Where training stops: of the last 200 rollouts from the real start."""
    preset: str
    options: dict[str, list[str]]


RECURRENT = ["--network.kind", "recurrent", "--rollout.lead-in"]
COMMON = {
    "the preset": [],
    "no self-imitation": ["--ppo.imitation", "0"],
    "cloning first": ["--ppo.cloning", "500"],
    "real starts from the beginning": ["--curriculum.near-start", "100000"],
}
TASKS = {
    "two-mazes": Task("200", "400K", "0.97", "two-mazes", {**COMMON, "recurrent": [*RECURRENT, "5"]}),
    "first-key": Task(
        "100",
        "1500K",
        "0.9",
        "small",
        {**COMMON, "starts after death": ["--rollout.after-death", "0.5"], "recurrent": [*RECURRENT, "20"]},
    ),
}


def run(*arguments: str) -> str:
    """Run a command of goexplore and return what it says."""
    command = [sys.executable, "-m", "goexplore", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def find_demonstrations(name: str) -> list[str]:
    """Return samples, or what a short search finds."""
    if name == "first-key":
        return [sample for sample in sample_names() if "first-key" in sample]
    folder = FOLDER / f"{name}-demos"
    if not folder.exists():
        search = str(FOLDER / f"{name}-search")
        run("explore", name, "--game-frames", "500K", "--run-dir", search)
        run("demos", search, "--out", str(folder), "--after-last-reward")
    return [str(folder)]


def train(name: str, option: str, seed: int) -> Path:
    """Train with one option and seed, unless that is done already."""
    task, path = TASKS[name], FOLDER / f"{name}-{option.replace(' ', '-')}-seed{seed}"
    if not (path / "done").exists():
        limits = ["--training-frames", task.training_frames, "--until-success", task.success]
        if (path / "config.json").exists():
            run("robustify", "--run-dir", str(path), "--resume", *limits)
        else:
            settings = ["--preset", task.preset, "--seed", str(seed), *task.options[option]]
            run("robustify", *find_demonstrations(name), "--run-dir", str(path), *settings, *limits)
        (path / "done").touch()
    return path


def success(path: Path, score: str, sharpness: str) -> str:
    """Return the share of episodes under the whole protocol that reach a score."""
    said = run("evaluate", str(path), "--until-score", score, "--sharpness", sharpness, "--seed", "1000")
    shares = re.search(r"([\d.]+%) \(.*?\) of episodes", said)
    assert shares is not None, said
    return shares[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="names of options")
    chosen = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    task = TASKS[chosen.task]
    print("| option | training frames | minutes |", *(f"logits x {each} |" for each in SHARPNESS))
    print(f"|---|{'---:|' * (2 + len(SHARPNESS))}")
    for option in chosen.only or task.options:
        paths = [train(chosen.task, option, seed) for seed in range(chosen.seeds)]
        ends = [json.loads((path / "metrics.jsonl").read_text().splitlines()[-1]) for path in paths]
        columns = [
            " ".join(f"{end['training_frames'] / 1e3:.0f}K" for end in ends),
            " ".join(f"{end['wall_seconds'] / 60:.1f}" for end in ends),
            *(" ".join(success(path, task.score, each) for path in paths) for each in SHARPNESS),
        ]
        print("|", option, "|", " | ".join(columns), "|", flush=True)


if __name__ == "__main__":
    main()
