"""Compare dynamic cells with the paper's fixed 11 x 8 x 8 at equal game frames, on five games.

Both have the same selection, exploration, seeds and engine. Runs are resumed, so this can be interrupted and
started again, or run for some games at a time. Everything goes to runs/dynamic-cells/.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from statistics import mean

from goexplore.runs import SavedRun, SearchDirectory, SearchMetrics, is_started

GAMES = ("MontezumaRevenge", "Pitfall", "Venture", "PrivateEye", "Gravitar")
CELLS = ("dynamic", "downscaled")
LABELS = {"dynamic": "dynamic", "downscaled": "11 x 8 x 8"}


def explore(game: str, cells: str, seed: int, game_frames: str, folder: Path) -> Path:
    """Run one search, unless it is there already."""
    run = folder / f"{game}-{cells}-seed{seed}"
    if not (run / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "goexplore", "explore", f"ALE/{game}-v5", "--cells", cells]
        limits = ["--seed", str(seed), "--game-frames", game_frames, "--workers", "1", "--run-dir", str(run)]
        resume = ["--resume"] if is_started(run) else []
        with (folder / f"{run.name}.log").open("a") as log:
            subprocess.run([*command, *limits, *resume], check=True, stdout=log, stderr=log)
        (run / "done").touch()
    return run


def spread(values: list[float]) -> str:
    """Return a mean, and the values that it is of."""
    return f"{mean(values):,.0f} ({', '.join(f'{value:,.0f}' for value in sorted(values))})"


def describe(game: str, cells: str, runs: list[Path]) -> str:
    """Return the row of a game and its cells."""
    last = [SearchDirectory.open(run).metrics()[-1] for run in runs]
    revisions = SavedRun.open(runs[0]).revisions
    chosen = ", ".join(f"{each.width} x {each.height} x {each.levels}" for each in revisions)
    row = (
        game,
        LABELS[cells],
        spread([point.max_score for point in last]),
        spread([point.rooms for point in last]) if last[0].rooms else "",
        f"{mean(point.cells for point in last):,.0f}",
        f"{mean(point.game_frames / point.wall_seconds for point in last):,.0f}",
        f"{mean(point.memory_bytes for point in last) / 1e6:.0f}",
        chosen,
    )
    return f"| {' | '.join(row)} |"


def draw(curves: dict[str, dict[str, list[list[SearchMetrics]]]], file: Path) -> None:
    """Draw best score, rooms and cells of each game over game frames, a line per seed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = {"max_score": "best search score", "rooms": "rooms", "cells": "cells"}
    figure, grid = pyplot.subplots(
        len(curves), len(columns), figsize=(13, 2.8 * len(curves)), layout="constrained", squeeze=False
    )
    for axes, (game, kinds) in zip(grid, curves.items(), strict=True):
        for axis, (column, title) in zip(axes, columns.items(), strict=True):
            for index, (cells, runs) in enumerate(kinds.items()):
                for number, curve in enumerate(runs):
                    axis.plot(
                        [point.game_frames / 1e6 for point in curve],
                        [getattr(point, column) for point in curve],
                        color=f"C{index}",
                        lw=1.3,
                        label=None if number else LABELS[cells],
                    )
            axis.set(title=f"{game}: {title}", xlabel="million game frames")
            axis.grid(alpha=0.3)
            axis.yaxis.get_major_locator().set_params(integer=True)
            axis.yaxis.set_major_formatter("{x:,.0f}")
            if column == "rooms" and not any(point.rooms for runs in kinds.values() for point in runs[0]):
                axis.set_visible(False)  # no room is known of this game
        axes[0].legend(frameon=False)
    figure.savefig(file, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game-frames", default="3M")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=GAMES, default=GAMES, help="games")
    parser.add_argument("--folder", type=Path, default=Path("runs/dynamic-cells"))
    parser.add_argument("--image", type=Path, default=Path("docs/images/dynamic-cells.png"))
    chosen = parser.parse_args()
    runs: dict[tuple[str, str], list[Path]] = {}
    for seed in range(chosen.seeds):
        for game in chosen.only:
            for cells in CELLS:
                run = explore(game, cells, seed, chosen.game_frames, chosen.folder)
                runs.setdefault((game, cells), []).append(run)
    print(
        "| game | cells | best search score | rooms | cells found | game frames/s | MB | revised to, seed 0 |"
    )
    print("|---|---|---|---|---:|---:|---:|---|")
    for (game, cells), found in runs.items():
        print(describe(game, cells, found), flush=True)
    curves = {
        game: {cells: [SearchDirectory.open(run).metrics() for run in runs[game, cells]] for cells in CELLS}
        for game in chosen.only
    }
    chosen.image.parent.mkdir(parents=True, exist_ok=True)
    draw(curves, chosen.image)


if __name__ == "__main__":
    main()
