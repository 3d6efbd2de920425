"""What the benchmarks of training share: steps that are done once, and resumed if they were interrupted."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from goexplore.demos import sample_names
from goexplore.runs import TrainingMetrics, is_started
from goexplore.training import TrainingDirectory

FIRST_KEYS = [name for name in sample_names() if "first-key" in name]


def run(*arguments: str, log: Path) -> str:
    """Run a command of goexplore and return what it says; the log has it too."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        print("$ goexplore", *arguments, file=file, flush=True)
        command = [sys.executable, "-m", "goexplore", *arguments]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=file, text=True).stdout
        file.write(said)
    return said


def explore(problem: str, path: Path, *, game_frames: str, seed: int = 0) -> None:
    """Search a problem."""
    resume = ["--resume"] if is_started(path) else []
    where = ["--seed", str(seed), "--game-frames", game_frames, "--run-dir", str(path), *resume]
    _once(path, "explore", problem, *where)


def take_demonstrations(sources: Sequence[str], folder: Path, truncation: Sequence[str]) -> None:
    """Take demonstrations out of searches, or cut samples."""
    _once(folder, "demos", *sources, *truncation, "--after-last-reward", "--out", str(folder))


def train(
    demonstrations: Sequence[str], path: Path, *, settings: Sequence[str], limits: Sequence[str]
) -> None:
    """Train a policy."""
    how = ["--resume"] if is_started(path) else [*demonstrations, *settings]
    _once(path, "robustify", *how, *limits, "--run-dir", str(path))


def evaluate(
    path: Path, *, score: float, temperature: float, max_game_frames: int | None = None
) -> tuple[str, str]:
    """Evaluate a training's last policy by the protocol; return shares of episodes and of first lives.

    Without `max_game_frames`, episodes are truncated where the protocol says.
    """
    how = ["--until-score", f"{score:g}", "--temperature", f"{temperature:g}", "--seed", "1000"]
    if max_game_frames is not None:
        how += ["--max-game-frames", str(max_game_frames)]
    said = run("evaluate", str(path), *how, log=_log(path))
    shares = re.search(r"([\d.]+%) \(.*?\) of episodes and ([\d.]+%) \(.*?\) of first lives", said)
    assert shares is not None, said
    return shares[1], shares[2]


def last_metrics(path: Path) -> TrainingMetrics:
    """Return how far a training came."""
    return TrainingDirectory.open(path).metrics()[-1]


def _once(path: Path, *arguments: str) -> None:
    """Run a command that fills a folder, unless it has been run to its end already."""
    if not (path / "done").exists():
        run(*arguments, log=_log(path))
        (path / "done").touch()


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}.log")
