"""Repeat the trainings behind docs/results.md: demonstrations of Montezuma's Revenge into policies.

Searches and trainings are resumed, so this can be interrupted and started again. Everything goes to
runs/milestones/.
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
SIX_SEARCHES = [(preset, seed) for preset in ("montezuma", "montezuma-2021") for seed in range(3)]
TEN_SEARCHES = [("montezuma-2021", seed) for seed in range(10)]
"""Not every search has found the gems by then."""
SEARCH_GAME_FRAMES = "3.9M"
SHARPNESS = "2"
EVALUATION_SEED = "1000"


AFTER_DEATH = ["--rollout.after-death", "0.5"]
"""A skull that kills is gone after that: who has not learnt in such a room waits for it for ever."""


class Milestone(NamedTuple):
    """What is to be learnt, from what, and for how long at most."""

    score: float
    minutes: float
    seeds: int
    searches: list[tuple[str, int]]
    """Presets and seeds; none takes the samples of the first key."""
    demos: list[str]
    """Options of `goexplore demos`."""
    options: list[str]
    """Options of `goexplore robustify`."""


MILESTONES = {
    "first-key": Milestone(100, 40, 3, [], [], ["--until-success", "0.9"]),
    "door": Milestone(
        400,
        60,
        1,
        SIX_SEARCHES,
        ["--until-score", "400", "--take", "different", "--count", "10"],
        [*AFTER_DEATH, "--until-success", "0.7", "--held", "20M"],
    ),
    "sword": Milestone(
        2500,
        150,
        1,
        SIX_SEARCHES,
        ["--until-score", "2500", "--max-training-frames", "530", "--take", "different", "--count", "5"],
        [*AFTER_DEATH, "--until-success", "0.5", "--held", "50M"],
    ),
    "gems": Milestone(
        5500,
        150,
        1,
        TEN_SEARCHES,
        ["--until-score", "5500", "--max-training-frames", "1200", "--take", "different", "--count", "6"],
        [*AFTER_DEATH, "--ppo.cloning", "500", "--until-success", "0.5", "--held", "50M"],
    ),
}


def run(*arguments: str, log: str) -> str:
    """Run a command of goexplore and return what it says; the log has it too."""
    with (FOLDER / f"{log}.log").open("a") as file:
        print("$ goexplore", *arguments, file=file, flush=True)
        command = [sys.executable, "-m", "goexplore", *arguments]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=file, text=True).stdout
        file.write(said)
    return said


def find_demonstrations(name: str) -> list[str]:
    """Search, and take demonstrations out of the searches, unless they are there already."""
    milestone, folder = MILESTONES[name], FOLDER / f"{name}-demos"
    if not milestone.searches:
        return [sample for sample in sample_names() if "first-key" in sample]
    if not folder.exists():
        searches = [FOLDER / f"search-{preset}-seed{seed}" for preset, seed in milestone.searches]
        for (preset, seed), path in zip(milestone.searches, searches, strict=True):
            if not path.exists():
                limits = ["--game-frames", SEARCH_GAME_FRAMES, "--seed", str(seed)]
                run("explore", preset, *limits, "--run-dir", str(path), log="search")
        cut = [*milestone.demos, "--after-last-reward", "--out", str(folder)]
        run("demos", *map(str, searches), *cut, log="search")
    return [str(folder)]


def train(name: str, seed: int) -> Path:
    """Train with one seed, unless that is done already."""
    milestone, path = MILESTONES[name], FOLDER / f"{name}-seed{seed}"
    if not (path / "done").exists():
        limits = ["--minutes", str(milestone.minutes), *milestone.options, "--run-dir", str(path)]
        if (path / "config.json").exists():
            run("robustify", *limits, "--resume", log=path.name)
        else:
            run("robustify", *find_demonstrations(name), "--seed", str(seed), *limits, log=path.name)
        (path / "done").touch()
    return path


def evaluate(name: str, path: Path) -> tuple[str, str]:
    """Evaluate the last policy under the whole protocol; return shares of episodes and of first lives."""
    how = ["--until-score", f"{MILESTONES[name].score:g}", "--sharpness", SHARPNESS]
    said = run("evaluate", str(path), *how, "--seed", EVALUATION_SEED, log=path.name)
    shares = re.search(r"([\d.]+%) \(.*?\) of episodes and ([\d.]+%) \(.*?\) of first lives", said)
    assert shares is not None, said
    return shares[1], shares[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=MILESTONES, default=list(MILESTONES))
    chosen = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    print("| milestone | points | seed | training frames | minutes | episodes | first lives |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in chosen.only:
        for seed in range(MILESTONES[name].seeds):
            path = train(name, seed)
            episodes, lives = evaluate(name, path)
            last = json.loads((path / "metrics.jsonl").read_text().splitlines()[-1])
            print(
                f"| {name} | {MILESTONES[name].score:g} | {seed} | {last['training_frames']:,} | "
                f"{last['wall_seconds'] / 60:.1f} | {episodes} | {lives} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
