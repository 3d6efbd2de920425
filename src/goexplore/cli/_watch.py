"""goexplore watch: how a run is doing, from another terminal or over SSH. It only reads."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from goexplore.cli._arguments import parse
from goexplore.cli._progress import duration, thousands
from goexplore.cli._sources import require_runs
from goexplore.errors import GoExploreError, require_positive
from goexplore.runs import Directory, SearchMetrics, TrainingMetrics, is_training

_SILENT = 60.0
"""Seconds without a sign of life after which a run may be stalled: batches take less."""


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Show how runs are doing, until Ctrl-C: running, perhaps stalled, or not running (ended or killed)."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run directories of searches and trainings."""
    seconds: float = 2.0
    """Seconds between two updates."""
    once: bool = False
    """Print one line for each run and exit."""


def run_watch(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = parse(_Arguments, arguments, prog="goexplore watch")
    require_runs(chosen.runs)
    require_positive("seconds", chosen.seconds)
    console = Console()
    if chosen.once or not console.is_terminal:
        for run in chosen.runs:
            print(f"{run}: {' | '.join(f'{name} {value}' for name, value in look(run).items())}")
        return 0
    with Live(console=console, auto_refresh=False, screen=False) as live:
        while True:
            live.update(_panel(chosen.runs), refresh=True)
            time.sleep(chosen.seconds)


def look(run: Path, now: float | None = None) -> dict[str, str]:
    """Return what is to be said about a run at this moment."""
    if not run.is_dir():
        return {"state": "gone: its folder is not there"}
    directory = Directory(run)
    try:
        shown = {"state": _state(directory, time.time() if now is None else now)}
        if is_training(run):
            shown |= _training(directory.read_metrics(TrainingMetrics))
        else:
            shown |= _search(directory.read_metrics(SearchMetrics))
    except GoExploreError as error:
        return {"state": f"cannot be read: {error}"}
    # What files say is shown as it is, and does nothing to a terminal.
    return {name: _printable(value) for name, value in shown.items()}


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)


def _state(directory: Directory, now: float) -> str:
    seen = directory.last_sign_of_life()
    ago = "" if seen is None else f", last sign of life {duration(max(0.0, now - seen))} ago"
    if directory.is_worked_on():
        stalled = seen is not None and now - seen > _SILENT
        return f"stalled?{ago}" if stalled else f"going on{ago}"
    return f"not running{ago}; to resume it: {shlex.join(_resuming(directory))}"


def _resuming(directory: Directory) -> list[str]:
    """Return the command that resumes a run: a search needs its settings once more, a training does not."""
    there = ["--run-dir", str(directory.path), "--resume"]
    if is_training(directory.path):
        return ["goexplore", "robustify", *there]
    command: list[str] = directory.info()["command"]
    if "explore" not in command:  # it was begun from Python
        settings = directory.info().get("search")
        problem = settings.get("problem") if isinstance(settings, dict) else None
        name = problem.get("name") if isinstance(problem, dict) else "TARGET"
        return ["goexplore", "explore", str(name), *there]
    words = iter(command[command.index("explore") :])
    kept = []
    for word in words:
        if word in ("--run-dir", "--run_dir"):
            next(words, None)
        elif word != "--resume" and not word.startswith(("--run-dir=", "--run_dir=")):
            kept.append(word)
    return ["goexplore", *kept, *there]


def _search(metrics: list[SearchMetrics]) -> dict[str, str]:
    if not metrics:
        return {}
    last = metrics[-1]
    shown = {
        "game frames": thousands(last.game_frames),
        "game frames/s": thousands(round(last.game_frames_per_second)),
        "cells": thousands(last.cells),
    }
    if last.rooms:
        shown |= {"rooms": thousands(last.rooms), "level": str(last.level)}
    if last.events:
        shown["events"] = ", ".join(f"{name} {thousands(ways)}" for name, ways in last.events.items())
    shown["best score"] = thousands(last.max_score) if last.has_result else "none yet"
    since = next((line for line in metrics if line.max_score == last.max_score), last)
    if last.has_result:
        shown["since"] = f"{thousands(since.game_frames)} game frames"
    if last.given_up:
        shown["given up"] = thousands(last.given_up)
    shown |= {"memory": f"{last.memory_bytes / 2**20:,.0f} MiB", "time": duration(last.wall_seconds)}
    return shown


def _training(metrics: list[TrainingMetrics]) -> dict[str, str]:
    if not metrics:
        return {}
    last = metrics[-1]
    shown = {"now": last.activity} if last.activity else {}
    shown |= {
        "training frames": thousands(last.training_frames),
        "training frames/s": thousands(round(last.training_frames_per_second)),
        "rollouts": thousands(last.rollouts),
    }
    if last.expert_episodes:
        shown["expert"] = f"{last.expert_goals} of {last.expert_episodes} episodes to the goal"
    if last.starting_points:
        shown["starts at"] = " ".join(map(str, last.starting_points))
    if last.real_start_success is not None:
        shown["from the real start"] = f"{last.real_start_success:.1%}"
    return shown | {"time": duration(last.wall_seconds)}


def _panel(runs: tuple[Path, ...]) -> Table:
    panels = Table.grid()
    for run in runs:
        table = Table.grid(padding=(0, 2))
        for name, value in look(run).items():
            table.add_row(Text(name, style="dim"), Text(value))
        panels.add_row(Panel(table, title=Text(str(run)), expand=False))
    return panels
