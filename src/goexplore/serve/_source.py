"""A run as the page sees it: read while it grows, and kept when its folder is gone."""

from __future__ import annotations

import contextlib
import shlex
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar

from goexplore.errors import GoExploreError
from goexplore.problems import Problem
from goexplore.runs import (
    Directory,
    SearchMetrics,
    TrainingMetrics,
    condition_of,
    is_training,
    resume_command,
)
from goexplore.serve._helper import Helper
from goexplore.serve._metrics import Tail


class NotThere(GoExploreError):
    """Something that a page asked for and that this run does not have."""


class Outdated(GoExploreError):
    """A checkpoint that a page knows and that is not kept any more: there is a newer one."""


@dataclass(frozen=True, kw_only=True)
class Helpers:
    """The processes that work for all runs."""

    pictures: Helper
    """For what somebody waits for: pictures, videos, trajectories."""
    archives: Helper
    """For what takes long: passes over whole archives."""

    def close(self) -> None:
        """End them."""
        self.pictures.close()
        self.archives.close()


class Source(ABC):
    """One run, a search or a training."""

    kind: ClassVar[str]
    metrics_kind: ClassVar[type[SearchMetrics] | type[TrainingMetrics]]

    def __init__(self, path: Path, name: str, problem: Problem | None, helpers: Helpers) -> None:
        """`problem` was given by the user, where it comes from an import path."""
        self.path, self.name, self.given, self.helpers = path, name, problem, helpers
        self.lock = RLock()
        self.metrics = Tail(path / "metrics.jsonl", self.metrics_kind)
        self._identity: object = None
        self._runs_seen = 1
        self.sight: dict[str, Any] = {}
        """How the run was when it was last looked at."""

    def look(self) -> dict[str, Any]:
        """Look how the run is, and read what is new; return what a page should know at once."""
        shown: dict[str, Any] = {
            "name": self.name,
            "path": str(self.path),
            "kind": self.kind,
            "message": None,
            "outcome": None,
            "resume": None,
        }
        try:
            if not self.path.is_dir():
                self.sight = {**self.sight, **shown, "state": "gone", "silent": None}
                return self.sight
            self._notice_another_run()
            directory = Directory(self.path)
            condition = condition_of(directory, time.time())
            self.metrics.read()
            shown |= {"state": condition.state, "silent": condition.silent_seconds}
            if condition.state == "stopped":
                shown["outcome"] = " ".join(directory.outcome().split())
                shown["resume"] = shlex.join(resume_command(directory))
            shown |= self.look_closer()
        except Exception as error:  # files may hold anything, and the page goes on
            known = isinstance(error, GoExploreError | OSError)
            message = (
                _one_line(error) if known else f"cannot be read: {type(error).__name__}: {_one_line(error)}"
            )
            shown |= {"state": shown.get("state", "broken"), "message": message}
        self.sight = {
            **shown,
            "run": self._runs_seen,
            "metrics": {"epoch": self.metrics.epoch, "count": len(self.metrics.lines)},
            "version": self.version,
        }
        return self.sight

    def _notice_another_run(self) -> None:
        """Forget everything when somebody has put another run into the folder."""
        identity: object = None
        with contextlib.suppress(OSError):
            about = (self.path / "config.json").stat()
            identity = (about.st_dev, about.st_ino, about.st_mtime_ns)
        if identity is not None and self._identity is not None and identity != self._identity:
            self.forget()
            self._runs_seen += 1
        self._identity = identity or self._identity

    @property
    @abstractmethod
    def version(self) -> str | None:
        """What a page has to fetch anew when it changes."""

    @abstractmethod
    def look_closer(self) -> dict[str, Any]:
        """Read what is new, if it is time; return more to say at once."""

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """Return what a page has to know to show the run."""

    @abstractmethod
    def forget(self) -> None:
        """Drop everything that was read."""

    @abstractmethod
    def room_picture(self, level: int, room: int) -> bytes | None:
        """Return a picture of a room, as a PNG, or None where there is none."""

    def close(self) -> None:
        """Let go of files."""
        return


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def open_source(path: Path, name: str, problem: Problem | None, helpers: Helpers) -> Source:
    """Return a run as the page sees it."""
    from goexplore.serve._search import SearchSource
    from goexplore.serve._training import TrainingSource

    kind = TrainingSource if is_training(path) else SearchSource
    return kind(path, name, problem, helpers)
