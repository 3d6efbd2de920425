"""Live progress on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import Generic, TextIO, TypeAlias, TypeVar

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from goexplore.archive import size_text
from goexplore.cli._arguments import with_flags
from goexplore.cli._text import printable, printable_lines
from goexplore.exploration import few_for
from goexplore.runs import Progress

_PLAIN_SECONDS = 10.0

Shown = TypeVar("Shown")
Show: TypeAlias = Callable[[Shown], dict[str, str]]
"""Turns progress into what people read."""


def thousands(number: float) -> str:
    """Return a number with thousands separators, without a useless .0."""
    return f"{number:,.0f}" if number == int(number) else f"{number:,.2f}"


def say(line: str, stream: TextIO) -> None:
    """Print a line. If nobody can read it, the work goes on: hours of it must not end with a terminal."""
    with going_on_in_silence(stream):
        print(printable_lines(line), file=stream, flush=True)


@contextlib.contextmanager
def going_on_in_silence(stream: TextIO) -> Iterator[None]:
    """Send what is printed from now on nowhere if a stream is closed or its disk is full."""
    try:
        yield
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def log(line: str) -> None:
    """Say something about the work, beside what the command prints."""
    say(line, sys.stderr)


def duration(seconds: float) -> str:
    """Return a duration as h:mm:ss or m:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def memory_text(resident: int, spilled: int) -> str:
    """Return how much memory a search takes, and what a limit made it move to the disk."""
    return f"{resident / 2**20:,.0f} MiB" + (f" and {size_text(spilled)} on the disk" if spilled else "")


def event_lines(events: Mapping[str, int]) -> list[str]:
    """Return a line for each event that was found: in how many cells it happened."""
    return [
        f"event {printable(name)}: {thousands(ways)} {'way' if ways == 1 else 'ways'} found, one for each "
        "cell"
        for name, ways in events.items()
    ]


def show_search(progress: Progress) -> dict[str, str]:
    """Return what is shown of a search's progress."""
    status = progress.status
    shown = {
        "game frames": thousands(status.game_frames + progress.unfinished_game_frames),
        "game frames/s": thousands(round(progress.game_frames_per_second)),
        "cells": thousands(status.cells),
    }
    if status.game_frames_replayed:
        shown["game frames replayed"] = thousands(status.game_frames_replayed)
    if status.rooms:
        shown |= {"rooms": thousands(status.rooms), "level": str(status.level)}
    if status.events:
        shown["events"] = ", ".join(
            f"{printable(name)} {thousands(ways)}" for name, ways in status.events.items()
        )
    shown |= {
        "best score": thousands(status.best_score) if status.has_result else "none yet",
        "memory": memory_text(progress.memory_bytes, progress.spilled_bytes),
        "time": duration(progress.session_seconds),
    }
    if few_for(progress.batch_size, progress.workers):
        shown["batch"] = (
            f"{thousands(progress.batch_size)} explorations are few for {progress.workers} workers: "
            "a new run with --exploration.batch-size auto keeps them busy"
        )
    if progress.seconds_left is not None:
        shown["time left"] = duration(progress.seconds_left)
    return shown


class PlainReporter(Generic[Shown]):
    """One line now and then, for logs."""

    def __init__(self, show: Show[Shown]) -> None:
        self._show = show
        self._last = -_PLAIN_SECONDS

    def progress(self, progress: Shown) -> None:
        """Print a line if the last one is some seconds old."""
        if monotonic() - self._last >= _PLAIN_SECONDS:
            self._last = monotonic()
            say(" | ".join(f"{name} {value}" for name, value in self._show(progress).items()), sys.stdout)

    def log(self, line: str) -> None:
        """Print a line."""
        log(with_flags(line))


class LiveReporter(Generic[Shown]):
    """A panel that is drawn anew now and then. No thread draws it: workers are forked from here."""

    def __init__(self, live: Live, title: str, show: Show[Shown]) -> None:
        self._live, self._title, self._show = live, title, show

    def progress(self, progress: Shown) -> None:
        """Draw the panel."""
        table = Table.grid(padding=(0, 2))
        for name, value in self._show(progress).items():
            table.add_row(Text(name, style="dim"), Text(value, style="bold"))
        panel = Panel(table, title=Text(self._title), subtitle="Ctrl-C: save and stop", expand=False)
        with going_on_in_silence(sys.stdout):
            self._live.update(panel, refresh=True)

    def log(self, line: str) -> None:
        """Print a line above the panel."""
        with going_on_in_silence(sys.stdout):
            self._live.console.print(with_flags(line), markup=False)


@contextlib.contextmanager
def make_reporter(title: str, show: Show[Shown]) -> Iterator[PlainReporter[Shown] | LiveReporter[Shown]]:
    """Return the reporter that fits where the output goes."""
    console = Console()
    if not console.is_terminal:
        yield PlainReporter(show)
        return
    with Live(console=console, auto_refresh=False) as live:
        yield LiveReporter(live, title, show)
