"""goexplore watch: how a run is doing, from another terminal or over SSH. It only reads."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from goexplore.cli._arguments import parse
from goexplore.cli._milestones import Milestones
from goexplore.cli._progress import duration, log, memory_text, thousands
from goexplore.cli._sources import require_runs
from goexplore.cli._text import printable
from goexplore.errors import GoExploreError, require_between
from goexplore.files import is_folder
from goexplore.runs import (
    Condition,
    Directory,
    SearchMetrics,
    TrainingMetrics,
    condition_of,
    is_training,
    resume_command,
)

_LONGEST_REASON = 500
"""Characters that are shown of why a run failed."""


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Show how runs are doing, until Ctrl-C: running, perhaps stalled, or not running (ended, failed or
    killed).
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run directories of searches and trainings."""
    seconds: float = 2.0
    """Seconds between two updates."""
    once: bool = False
    """Print one line for each run and exit."""
    on_milestone: Annotated[str | None, tyro.conf.arg(metavar="COMMAND")] = None
    """Shell command to run when a search has reached a new level or a new best score, and when a search or a
    training has ended or failed. It gets the same environment variables as that of `goexplore explore`."""


def run_watch(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = parse(_Arguments, arguments, prog="goexplore watch")
    require_runs(chosen.runs)
    require_between("seconds", chosen.seconds, 0.01, 86_400)
    command = chosen.on_milestone
    followers = [] if command is None else [Follower(command, run) for run in chosen.runs]
    console = Console()
    if chosen.once or not (console.is_terminal or followers):
        for run in chosen.runs:
            print(_line(run))
        return 0
    live = Live(console=console, auto_refresh=False, screen=False) if console.is_terminal else nullcontext()
    with live as shown:
        while True:
            for follower in followers:
                follower.look()
            if shown is not None:
                shown.update(_shown(chosen.runs, console), refresh=True)
            time.sleep(chosen.seconds)


def _line(run: Path) -> str:
    return f"{printable(run)}: {' | '.join(f'{name} {value}' for name, value in look(run).items())}"


class Follower:
    """Runs a command at the milestones of a run on which another process works.

    It tells of a process that was killed, too, which could not do that itself.
    """

    def __init__(self, command: str, run: Path) -> None:
        self._directory = Directory(run)
        self._milestones = Milestones(_Quiet(), command, run, dict)
        self._worked_on = False

    def look(self) -> None:
        """See what has happened since the last time."""
        worked_on = self._directory.is_worked_on()  # first, so that what it wrote last is seen
        last = self._last_metrics()
        self._milestones.progress(_heights(last))
        if self._worked_on and not worked_on:
            self._milestones.announce(*self._ending())
        self._worked_on = worked_on

    def _last_metrics(self) -> SearchMetrics | TrainingMetrics | None:
        lines: Sequence[SearchMetrics | TrainingMetrics] = ()
        with suppress(GoExploreError):
            if is_training(self._directory.path):
                lines = self._directory.read_metrics(TrainingMetrics)
            else:
                lines = self._directory.read_metrics(SearchMetrics)
        return lines[-1] if lines else None

    def _ending(self) -> tuple[str, str]:
        outcome = self._directory.outcome()
        return ("end", "") if outcome == "ended" else ("failure", printable(outcome))


class _Quiet:
    """A reporter for what is shown elsewhere."""

    def progress(self, progress: dict[str, float]) -> None:
        """Say nothing."""

    def log(self, line: str) -> None:
        """Say what the user should know."""
        log(line)


def _heights(last: SearchMetrics | TrainingMetrics | None) -> dict[str, float]:
    if not isinstance(last, SearchMetrics):
        return {"level": 0.0}  # as every search begins
    return {"level": float(last.level)} | ({"score": last.max_score} if last.has_result else {})


def look(run: Path, now: float | None = None) -> dict[str, str]:
    """Return what is to be said about a run at this moment."""
    if not is_folder(run):
        return {"state": "gone: its folder is not there"}
    directory = Directory(run)
    try:
        condition = condition_of(directory, time.time() if now is None else now)
        shown = {"state": _state(directory, condition)}
        if is_training(run):
            shown |= _training(directory.read_metrics(TrainingMetrics))
        else:
            shown |= _search(directory.read_metrics(SearchMetrics))
    except GoExploreError as error:
        return {"state": printable(f"cannot be read: {error}")}
    if condition.state == "stopped":
        shown.pop("now", None)
    # What files say is shown as it is, and does nothing to a terminal.
    return {name: printable(value) for name, value in shown.items()}


def _state(directory: Directory, condition: Condition) -> str:
    silent = condition.silent_seconds
    ago = "" if silent is None else f", last sign of life {duration(silent)} ago"
    if condition.state == "stopped":
        ended = f"not running: {printable(directory.outcome(), _LONGEST_REASON)}{ago}"
        return f"{ended}; to resume it: {shlex.join(resume_command(directory))}"
    return f"{'stalled?' if condition.state == 'stalled' else 'going on'}{ago}"


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
    shown["memory"] = memory_text(last.memory_bytes, last.spilled_bytes)
    shown["time"] = duration(last.wall_seconds)
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


def _shown(runs: tuple[Path, ...], console: Console) -> RenderableType:
    """Return a panel for each run, or a line for each where the terminal is too small for that."""
    panels = Table.grid()
    for run in runs:
        table = Table.grid(padding=(0, 2))
        for name, value in look(run).items():
            table.add_row(Text(name, style="dim"), Text(value))
        panels.add_row(Panel(table, title=Text(str(run)), expand=False))
    if len(console.render_lines(panels)) < console.height:
        return panels
    return Text("\n".join(map(_line, runs)))
