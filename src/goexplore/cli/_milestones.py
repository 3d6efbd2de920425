"""A command of the user's that runs when something happens: a new best score, a failure, the end."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from goexplore.errors import GoExploreError
from goexplore.runs import Progress, Reporter

_SECONDS_TO_END = 60.0
"""How long commands may take after the work has ended."""

_LONGEST_VALUE = 2000

Shown = TypeVar("Shown")
Heights: TypeAlias = Callable[[Shown], dict[str, float]]
"""What progress has risen to: a milestone is a new maximum."""


def search_heights(progress: Progress) -> dict[str, float]:
    """Return what a search has risen to."""
    status = progress.status
    heights = {"level": float(status.level)}
    return heights | ({"score": status.best_score} if status.has_result else {})


class Milestones(Generic[Shown]):
    """A reporter that also runs a command at every milestone.

    The command is one for the shell. It finds what happened in its environment: GOEXPLORE_MILESTONE (level,
    score, success, failure or end), GOEXPLORE_VALUE and GOEXPLORE_RUN. One runs at a time. Of milestones that
    are reached meanwhile, the last of each kind comes next.
    """

    def __init__(self, reporter: Reporter[Shown], command: str, run: Path, heights: Heights[Shown]) -> None:
        self._reporter, self._command, self._run, self._heights = reporter, command, run, heights
        self._highest: dict[str, float] | None = None
        self._waiting: dict[str, str] = {}
        self._running: subprocess.Popen[bytes] | None = None
        self._left: list[subprocess.Popen[bytes]] = []

    def progress(self, progress: Shown) -> None:
        """Show progress, and see whether it is a milestone."""
        self._reporter.progress(progress)
        heights = self._heights(progress)
        if self._highest is None:  # what a resumed run had reached before is nothing new
            self._highest = heights
        for name, height in heights.items():
            if height > self._highest.get(name, float("-inf")):
                self._highest[name] = height
                self._waiting[name] = f"{height:.10g}"
        self._run_next()

    def log(self, line: str) -> None:
        """Say something."""
        self._reporter.log(line)

    def _run_next(self) -> None:
        if self._running is not None and self._running.poll() is None:
            return
        if self._running is not None and self._running.returncode:
            self.log(f"warning: the command for milestones ended with {self._running.returncode}")
        self._running = None
        if self._waiting:
            name = next(iter(self._waiting))
            about = {
                "GOEXPLORE_MILESTONE": name,
                "GOEXPLORE_VALUE": self._waiting.pop(name).replace("\0", " ")[:_LONGEST_VALUE],
                "GOEXPLORE_RUN": str(self._run),
            }
            try:
                self._running = subprocess.Popen(
                    self._command, shell=True, env=os.environ | about, stdin=subprocess.DEVNULL
                )
            except OSError as error:
                self.log(f"warning: the command for milestones could not be started: {error}")

    def announce(self, name: str, value: str) -> None:
        """Run the command for something else that has happened, as soon as no other one runs."""
        self._waiting[name] = value
        self._run_next()

    def finish(self, name: str, value: str) -> None:
        """Announce the end, and wait for what still runs, unless the user does not want to."""
        try:
            self._finish(name, value)
        except KeyboardInterrupt:
            self.log("interrupted: the command for milestones is left alone")

    def _finish(self, name: str, value: str) -> None:
        self.announce(name, value)
        mentioned = False
        while self._waiting or self._running is not None:
            if self._running is not None:
                try:
                    self._running.wait(_SECONDS_TO_END if mentioned else min(1.0, _SECONDS_TO_END))
                except subprocess.TimeoutExpired:
                    if not mentioned and _SECONDS_TO_END > 1.0:
                        mentioned = True
                        self.log(f"waiting for the command for milestones, at most {_SECONDS_TO_END:.0f} s")
                        continue
                    self.log(f"warning: the command for milestones takes longer than {_SECONDS_TO_END:.0f} s")
                    self._left.append(self._running)  # it may go on by itself
                    self._running = None
            self._run_next()


@contextlib.contextmanager
def announcing(
    reporter: Reporter[Shown], command: str | None, run: Path, heights: Heights[Shown]
) -> Iterator[Reporter[Shown]]:
    """Return a reporter that runs a command at milestones, if there is one; the end is one too."""
    if command is None:
        yield reporter
        return
    milestones = Milestones(reporter, command, run, heights)
    try:
        yield milestones
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        milestones.finish("failure", str(error) if isinstance(error, GoExploreError) else repr(error))
        raise
    milestones.finish("end", "")
