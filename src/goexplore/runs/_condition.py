"""What can be said of a run from outside: whether a process works on it, and how to resume it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from goexplore.runs._directory import Directory, is_training

_SILENT = 60.0
"""Seconds without a sign of life after which a run may be stalled: batches take less."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Whether a run goes on."""

    state: Literal["running", "stalled", "stopped"]
    """Stalled: a process holds the run, but has written nothing for a minute. Stopped: ended or killed."""
    silent_seconds: float | None
    """Since the run last wrote metrics or a checkpoint, if it ever did."""


def condition_of(directory: Directory, now: float) -> Condition:
    """Return how a run is at a time in seconds since 1970. It only reads."""
    seen = directory.last_sign_of_life()
    silent = None if seen is None else max(0.0, now - seen)
    if not directory.is_worked_on():
        return Condition(state="stopped", silent_seconds=silent)
    stalled = silent is not None and silent > _SILENT
    return Condition(state="stalled" if stalled else "running", silent_seconds=silent)


def resume_command(directory: Directory) -> list[str]:
    """Return the command that resumes a run: a search needs its settings once more, a training does not."""
    there = ["--run-dir", str(directory.path), "--resume"]
    if is_training(directory.path):
        return ["goexplore", "robustify", *there]
    return [*_command_without(directory, ("run-dir", "from"), ("resume",)), *there]


def explore_again_command(directory: Directory) -> list[str]:
    """Return the command of another search with a run's settings; where it starts and writes is to be added.

    It does not stop at a level or a score: where it starts, they may be reached already.
    """
    return _command_without(directory, ("run-dir", "from", "until-level", "until-score"), ("resume",))


def _command_without(directory: Directory, options: tuple[str, ...], switches: tuple[str, ...]) -> list[str]:
    """Return the command that began a search, without some options with their values, and some switches."""
    command: list[str] = directory.info()["command"]
    if "explore" not in command:  # it was begun from Python
        settings = directory.info().get("search")
        problem = settings.get("problem") if isinstance(settings, dict) else None
        name = problem.get("name") if isinstance(problem, dict) else "TARGET"
        return ["goexplore", "explore", str(name)]
    words = iter(command[command.index("explore") :])
    kept = ["goexplore"]
    for word in words:
        name, has_value, _ = word.removeprefix("--").partition("=")
        is_option = word.startswith("--") and name.replace("_", "-") in (*options, *switches)
        if not is_option:
            kept.append(word)
        elif not has_value and name.replace("_", "-") in options:
            next(words, None)
    return kept
