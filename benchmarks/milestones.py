"""Repeat the trainings behind docs/results.md: Montezuma's Revenge from demonstrations, several seeds, evaluated.

Trainings are resumed, so this can be interrupted and started again. Everything goes to runs/milestones/.
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

FOLDER = Path("runs/milestones")
SHARPNESS = "2"
EVALUATION_SEED = "1000"


class Milestone(NamedTuple):
    """What is to be learnt, from what, and for how long at most."""

    demonstrations: list[str]
    score: float
    minutes: float
    seeds: int
    options: list[str]


MILESTONES = {
    "first-key": Milestone(
        demonstrations=[name for name in sample_names() if "first-key" in name],
        score=100,
        minutes=40,
        seeds=3,
        options=["--until-success", "0.95"],
    ),
}


def run(*arguments: str, log: Path) -> str:
    """Run a command of goexplore and return what it says; the log has it too."""
    command = [sys.executable, "-m", "goexplore", *arguments]
    with log.open("a") as file:
        print("$ goexplore", *arguments, file=file, flush=True)
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=file, text=True).stdout
        file.write(said)
    return said


def train(name: str, seed: int) -> Path:
    """Train with one seed, unless that is done already."""
    milestone, path = MILESTONES[name], FOLDER / f"{name}-seed{seed}"
    if not (path / "done").exists():
        limits = ["--minutes", str(milestone.minutes), *milestone.options, "--run-dir", str(path)]
        if (path / "config.json").exists():
            run("robustify", *limits, "--resume", log=FOLDER / f"{path.name}.log")
        else:
            demos = [*milestone.demonstrations, "--seed", str(seed)]
            run("robustify", *demos, *limits, log=FOLDER / f"{path.name}.log")
        (path / "done").touch()
    return path


def evaluate(name: str, path: Path, *more: str) -> str:
    """Evaluate the last policy under the whole protocol."""
    how = [
        "--until-score",
        f"{MILESTONES[name].score:g}",
        "--sharpness",
        SHARPNESS,
        "--seed",
        EVALUATION_SEED,
    ]
    return run("evaluate", str(path), *how, *more, log=FOLDER / f"{path.name}.log")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=MILESTONES, default=list(MILESTONES))
    chosen = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    print("| milestone | seed | training frames | minutes | episodes | first lives |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in chosen.only:
        for seed in range(MILESTONES[name].seeds):
            path = train(name, seed)
            said = evaluate(name, path)
            shares = re.search(r"([\d.]+%) of episodes and ([\d.]+%) of first lives", said)
            assert shares is not None, said
            last = json.loads((path / "metrics.jsonl").read_text().splitlines()[-1])
            print(
                f"| {name} | {seed} | {last['training_frames']:,} | {last['wall_seconds'] / 60:.1f} | "
                f"{shares[1]} | {shares[2]} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
