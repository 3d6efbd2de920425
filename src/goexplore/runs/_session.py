"""What a session of either phase does beside its work: pace, metrics, checkpoints, interrupts."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import asdict
from time import monotonic
from typing import Generic, Protocol, TypeVar

from goexplore.runs._directory import Directory, clear_errors
from goexplore.runs._event_file import EventFile
from goexplore.runs._metrics import SearchMetrics, TrainingMetrics

_METRICS_SECONDS = 5.0

ProgressT = TypeVar("ProgressT", contravariant=True)


class Reporter(Protocol[ProgressT]):
    """Shows progress and says what happens."""

    def progress(self, progress: ProgressT) -> None:
        """Show how far the work has come."""
        ...

    def log(self, line: str) -> None:
        """Say something."""
        ...


class LoggingReporter(Generic[ProgressT]):
    """Shows no progress; what happens goes to Python's logging, where warnings are seen by default."""

    def progress(self, progress: ProgressT) -> None:
        """Show nothing."""

    def log(self, line: str) -> None:
        """Log a line."""
        level = logging.WARNING if line.startswith("warning") else logging.INFO
        logging.getLogger("goexplore").log(level, line)


class Pace:
    """How fast a count grows, over the last while."""

    def __init__(self, count: int, *, seconds: float) -> None:
        """Begin with a count; `seconds` is how far back the pace is measured."""
        self._seconds = seconds
        self._points: deque[tuple[float, int]] = deque([(monotonic(), count)], maxlen=256)

    def add(self, count: int) -> None:
        """Take note of the count as it is now."""
        now = monotonic()
        self._points.append((now, count))
        while len(self._points) > 2 and now - self._points[0][0] > self._seconds:
            self._points.popleft()

    def rate(self, count: int) -> float:
        """Return the growth per second until now."""
        then, before = self._points[0]
        return (count - before) / max(monotonic() - then, 1e-9)


class Session:
    """One stretch of a search or a training: from start or resume to a limit or an interrupt."""

    def __init__(self, run: Directory, *, phase: str, checkpoint_minutes: float, writes: bool = True) -> None:
        """`phase` names the metrics for TensorBoard. One process of several `writes`."""
        self.run, self.writes = run, writes
        self.interrupted = False
        self._phase = phase
        self._checkpoint_seconds = checkpoint_minutes * 60
        self.began = self._recorded = self._saved = monotonic()
        self._events: EventFile | None = None
        if writes:
            with clear_errors(run.path):
                self._events = EventFile(run.path / "tensorboard")

    @property
    def seconds(self) -> float:
        """Since the session began."""
        return monotonic() - self.began

    @property
    def metrics_are_due(self) -> bool:
        """Whether the last line of metrics is some seconds old."""
        return monotonic() - self._recorded >= _METRICS_SECONDS

    @property
    def checkpoint_is_due(self) -> bool:
        """Whether the last checkpoint is as old as the user wants it to get."""
        return monotonic() - self._saved >= self._checkpoint_seconds

    def record(self, metrics: SearchMetrics | TrainingMetrics) -> None:
        """Append a line of metrics."""
        self._recorded = monotonic()
        if self._events is None:
            return
        self.run.append_metrics(asdict(metrics))
        with clear_errors(self.run.path):
            scalars = {f"{self._phase}/{name}": value for name, value in metrics.scalars().items()}
            self._events.scalars(metrics.game_frames, scalars)

    def saved(self) -> None:
        """Take note that a checkpoint was written."""
        self._saved = monotonic()

    def close(self) -> None:
        """Close what is open."""
        if self._events is not None:
            with clear_errors(self.run.path):
                self._events.close()
