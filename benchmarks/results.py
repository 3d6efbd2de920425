"""Repeat the runs behind docs/results.md: several seeds of each problem, verified, tabled and drawn.

Runs are resumed, so this can be interrupted and started again. Everything goes to runs/results-PLAN/.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from goexplore.problems import find_problem
from goexplore.report._paper import paper_search
from goexplore.runs import SearchDirectory, SearchMetrics, is_started


class Plan(NamedTuple):
    """How far to search, and with how many seeds."""

    game_frames: str
    seeds: int


PLANS: dict[str, dict[str, Plan]] = {
    # Enough to compare with what is known of other code at equal game frames.
    "short": {
        "montezuma-2021": Plan("3.9M", 3),
        "montezuma": Plan("3.9M", 3),
        "montezuma-pixels": Plan("3.3M", 3),
        "pitfall": Plan("3M", 3),
        "pitfall-pixels": Plan("3M", 1),
        "pitfall-pixels-fine": Plan("3M", 1),
    },
    # As far as the paper's own searches of Montezuma's Revenge with domain knowledge (appendix A.8); the
    # others as far as half an hour goes.
    "long": {
        "montezuma-2021": Plan("600M", 2),
        "montezuma": Plan("600M", 2),
        "montezuma-pixels": Plan("200M", 1),
        "pitfall": Plan("200M", 1),
    },
}

_VERIFIED = {"short": ["--all"], "long": ["--sample", "100"]}


def explore(name: str, seed: int, game_frames: str, engine: str, folder: Path) -> Path:
    """Run one search, unless it is there already."""
    run = folder / f"{name}-seed{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    if not (run / "done").exists():
        command = [sys.executable, "-m", "goexplore", "explore", name, "--seed", str(seed)]
        resume = ["--resume"] if is_started(run) else []
        with (folder / f"{run.name}.log").open("a") as log:
            limits = ["--game-frames", game_frames, "--engine", engine, "--run-dir", str(run)]
            subprocess.run([*command, *limits, *resume], check=True, stdout=log)
        (run / "done").touch()
    return run


def verify(run: Path, how: list[str]) -> str:
    """Verify a run and return the verdict."""
    verdict = run / "verdict.txt"
    if not verdict.exists():
        command = [sys.executable, "-m", "goexplore", "verify", str(run), *how]
        verdict.write_text(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return verdict.read_text().strip().splitlines()[-1]


def metrics(run: Path) -> list[SearchMetrics]:
    """Return the run's curve."""
    return SearchDirectory.open(run).metrics()


def first_reached(curve: list[SearchMetrics]) -> dict[int, str]:
    """Return when each level was first seen: game frames, hours, and game frames had cells been replayed."""
    first: dict[int, str] = {}
    for point in curve:
        for level in range(1, point.level + 1):
            frames, replayed = point.game_frames / 1e6, point.game_frames_with_replay / 1e9
            first.setdefault(level, f"{frames:.1f}M, {point.wall_seconds / 3600:.2f} h, {replayed:.1f}B")
    return first


def print_levels(name: str, curves: dict[int, list[SearchMetrics]]) -> None:
    """Print when each level was reached with each seed, beside the paper's means over the runs that did."""
    found = [first_reached(curve) for curve in curves.values()]
    paper = paper_search(find_problem(name))
    theirs = {} if paper is None else {each.level: each for each in paper.levels}
    print(f"\n| `{name}`: level | {' | '.join(f'seed {seed}' for seed in curves)} | paper |")
    print("|---" * (len(found) + 2) + "|")
    for level in sorted({*theirs, *(level for each in found for level in each)}):
        of_paper = theirs.get(level)
        said = (
            f"{of_paper.game_frames / 1e6:.0f}M, {of_paper.hours:g} h, {of_paper.solved:.0%} of runs"
            if of_paper
            else ""
        )
        print(f"| {level} | {' | '.join(each.get(level, '') for each in found)} | {said} |", flush=True)


def best_on_highest_level(run: Path) -> float:
    """Return the best search score there, to which the treasure room bug does not add (appendix A.4)."""
    archive = SearchDirectory.open(run).last_checkpoint().archive
    level = archive.values("level")
    return float(archive.values("score")[level == level.max()].max())


COLUMNS = (
    "problem",
    "seed",
    "game frames",
    "minutes",
    "rooms",
    "cells",
    "best search score",
    "on the highest level",
    "MB",
    "game frames/s",
    "with replay",
)


def describe(name: str, seed: int, run: Path) -> str:
    """Return a run's row of the table."""
    curve = metrics(run)
    last = curve[-1]
    row = (
        f"`{name}`",
        str(seed),
        f"{last.game_frames:,}",
        f"{last.wall_seconds / 60:.1f}",
        str(last.rooms),
        f"{last.cells:,}",
        f"{last.max_score:,.0f}",
        f"{best_on_highest_level(run):,.0f}",
        f"{last.memory_bytes / 1e6:.0f}",
        f"{last.game_frames / last.wall_seconds:,.0f}",
        f"{last.game_frames_with_replay / 1e9:.1f}B",
    )
    return f"| {' | '.join(row)} |"


def draw(curves: dict[str, dict[int, list[SearchMetrics]]], file: Path) -> None:
    """Draw rooms, cells and best score over game frames, a line per seed, and the paper's mean at the end."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    for index, (name, runs) in enumerate(curves.items()):
        for number, curve in enumerate(runs.values()):
            frames = [point.game_frames / 1e6 for point in curve]
            for axis, column in zip(axes, ("rooms", "cells", "max_score"), strict=True):
                label = None if number else name
                axis.plot(
                    frames,
                    [getattr(point, column) for point in curve],
                    color=f"C{index}",
                    lw=1.3,
                    label=label,
                )
    for paper in {paper_search(find_problem(name)) for name in curves}:
        if paper and paper.game_frames and paper.game_frames <= 1.1e6 * axes[0].get_xlim()[1]:
            for axis, value in ((axes[0], paper.rooms), (axes[2], paper.score)):
                axis.plot(paper.game_frames / 1e6, value, "kx", label=f"paper, mean of {paper.runs} runs")
    for axis, title in zip(axes, ("rooms", "cells", "best search score"), strict=True):
        axis.set(title=title, xlabel="million game frames")
        axis.grid(alpha=0.3)
        axis.yaxis.get_major_locator().set_params(integer=True)
        axis.yaxis.set_major_formatter("{x:,.0f}")
    axes[0].legend(frameon=False)
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", choices=PLANS, default="short")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--images", type=Path, default=Path("docs/images"))
    parser.add_argument("--only", nargs="*", default=None, help="problems")
    parser.add_argument("--seeds", nargs="*", type=int, default=None, help="of those that the plan has")
    parser.add_argument("--engine", choices=("auto", "native", "ale"), default="auto")
    chosen = parser.parse_args()
    plan = {
        name: each for name, each in PLANS[chosen.plan].items() if name in (chosen.only or PLANS[chosen.plan])
    }
    folder = chosen.folder or Path(f"runs/results-{chosen.plan}")
    curves: dict[str, dict[int, list[SearchMetrics]]] = {name: {} for name in plan}
    print(f"| {' | '.join(COLUMNS)} |")
    print("|---" * len(COLUMNS) + "|", flush=True)
    for seed in range(max(each.seeds for each in plan.values())):
        for name, each in plan.items():
            if seed < each.seeds and (chosen.seeds is None or seed in chosen.seeds):
                run = explore(name, seed, each.game_frames, chosen.engine, folder)
                curves[name][seed] = metrics(run)
                print(describe(name, seed, run), flush=True)
    for name, runs in curves.items():
        if any(curve[-1].level > 0 for curve in runs.values()):
            print_levels(name, runs)
    print()
    for name, runs in curves.items():
        for seed in list(runs)[:1]:
            verdict = verify(folder / f"{name}-seed{seed}", _VERIFIED[chosen.plan])
            print(f"- `{name}`, seed {seed}: {verdict}", flush=True)
    chosen.images.mkdir(parents=True, exist_ok=True)
    for game in ("montezuma", "pitfall"):
        of_game = {name: runs for name, runs in curves.items() if name.startswith(game)}
        if of_game:
            suffix = "" if chosen.plan == "short" else f"-{chosen.plan}"
            draw(of_game, chosen.images / f"{game}{suffix}.png")


if __name__ == "__main__":
    main()
