"""Repeat the runs behind docs/results.md: several seeds of each preset, verified, tabled and drawn.

Runs are resumed, so this can be interrupted and started again. Everything goes to runs/results/.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PLAN: dict[str, list[str]] = {
    "montezuma-2021": ["--game-frames", "3.9M"],
    "montezuma": ["--game-frames", "3.9M"],
    "montezuma-pixels": ["--game-frames", "3.3M"],
    "pitfall": ["--game-frames", "3M"],
    "pitfall-pixels": ["--game-frames", "3M"],
    "pitfall-pixels-fine": ["--game-frames", "3M"],
}
"""Limits in game frames: enough to compare with what is known of other code (docs/results.md)."""

THREE_SEEDS = ("montezuma-2021", "montezuma", "montezuma-pixels", "pitfall")


def explore(name: str, seed: int, folder: Path) -> Path:
    """Run one search, unless it is there already."""
    run = folder / f"{name}-seed{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    if not (run / "done").exists():
        command = [sys.executable, "-m", "goexplore", "explore", name, "--seed", str(seed)]
        resume = ["--resume"] if (run / "config.json").exists() else []
        with (folder / f"{run.name}.log").open("a") as log:
            subprocess.run([*command, *PLAN[name], "--run-dir", str(run), *resume], check=True, stdout=log)
        (run / "done").touch()
    return run


def verify(run: Path) -> str:
    """Verify every entry of a run and return the verdict."""
    verdict = run / "verdict.txt"
    if not verdict.exists():
        command = [sys.executable, "-m", "goexplore", "verify", str(run), "--all"]
        verdict.write_text(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return verdict.read_text().strip().splitlines()[-1]


def metrics(run: Path) -> list[dict[str, Any]]:
    """Return the run's curve."""
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def draw(curves: dict[str, list[list[dict[str, Any]]]], file: Path) -> None:
    """Draw rooms, cells and best score over game frames, one line per seed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    for index, (name, runs) in enumerate(curves.items()):
        for seed, curve in enumerate(runs):
            frames = [point["game_frames"] / 1e6 for point in curve]
            for axis, column in zip(axes, ("rooms", "cells", "max_score"), strict=True):
                label = name if seed == 0 else None
                axis.plot(frames, [point[column] for point in curve], color=f"C{index}", lw=1.3, label=label)
    for axis, title in zip(axes, ("rooms", "cells", "best search score"), strict=True):
        axis.set(title=title, xlabel="million game frames")
        axis.grid(alpha=0.3)
        axis.yaxis.get_major_locator().set_params(integer=True)
    axes[0].legend(frameon=False)
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/results"))
    parser.add_argument("--images", type=Path, default=Path("docs/images"))
    parser.add_argument("--only", choices=PLAN, nargs="*", default=list(PLAN))
    chosen = parser.parse_args()
    curves: dict[str, list[list[dict[str, Any]]]] = {}
    print("| preset | seed | game frames | minutes | rooms | cells | best search score | game frames/s |")
    print("|---|---|---|---|---|---|---|---|")
    for seed in range(3):
        for name in chosen.only:
            if seed > 0 and name not in THREE_SEEDS:
                continue
            curve = metrics(explore(name, seed, chosen.folder))
            curves.setdefault(name, []).append(curve)
            last = curve[-1]
            print(
                f"| {name} | {seed} | {last['game_frames']:,} | {last['wall_seconds'] / 60:.1f} | "
                f"{last['rooms']} | {last['cells']:,} | {last['max_score']:,.0f} | "
                f"{last['game_frames'] / last['wall_seconds']:,.0f} |",
                flush=True,
            )
    for name in chosen.only:
        print(f"{name}, seed 0: {verify(chosen.folder / f'{name}-seed0')}", flush=True)
    chosen.images.mkdir(parents=True, exist_ok=True)
    for game in ("montezuma", "pitfall"):
        of_game = {name: runs for name, runs in curves.items() if name.startswith(game)}
        if of_game:
            draw(of_game, chosen.images / f"{game}.png")


if __name__ == "__main__":
    main()
