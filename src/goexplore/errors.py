"""Everything that goexplore raises on purpose.

Each message says what was expected, what came, and what to do. Parameters stand in `backticks`: the command
line prints the message as one line, with its own flags in their place.
"""

from numbers import Integral
from typing import Any


class GoExploreError(Exception):
    """Base of all errors that a user can cause and fix."""


class ConfigError(GoExploreError):
    """A setting that cannot be used: an unknown name, a number out of range, a mismatch on resume."""


class RunDirectoryError(GoExploreError):
    """A run directory that exists, is missing, is in use, or cannot be written."""


class CheckpointError(GoExploreError):
    """A checkpoint that is missing, corrupt, or from another version of the format."""


class MemoryLimitError(GoExploreError):
    """A search that needs more memory than it may use."""


class EnvironmentContractError(GoExploreError):
    """An environment or a cell representation that does not keep its contract."""


class ReturnError(EnvironmentContractError):
    """An environment that does not return to its states in the way that it was asked to."""


class ProblemError(GoExploreError):
    """A problem that is not known, cannot be imported, or must be named again to open a file of it."""


class SnapshotError(GoExploreError):
    """Snapshot bytes that this environment cannot restore."""


class DemonstrationError(GoExploreError):
    """A demonstration that is damaged, of another format, or that does not replay; or none to be had."""


class OutputError(GoExploreError):
    """A file that was asked for and cannot be written."""


class EngineError(GoExploreError):
    """A game came to something that the native engine does not emulate."""


class TrainingError(GoExploreError):
    """Training that cannot go on: a loss that is not a number, a learning process that is gone."""


class ProcessGroupError(TrainingError):
    """A learning process that is gone. The others must leave at once: see `goexplore.cli.main`."""


class PolicyError(GoExploreError):
    """A policy's file that is damaged, of another format, or for another game."""


class EvaluationError(GoExploreError):
    """An evaluation that cannot be made, or whose file is damaged or of other settings."""


class WorkerError(GoExploreError):
    """A worker process that cannot be started or that failed with a Python exception."""


_MOST = 10**15
"""No setting means more than this; sums and products of such numbers are still exact enough, and finite."""


def require_at_least(name: str, value: float, least: float, most: float = _MOST) -> None:
    """Refuse a setting below its least value, or so large that nobody can mean it."""
    if not value >= least:
        raise ConfigError(f"expected `{name}` to be {least:,} or more, got {value}")
    _require_at_most(name, value, most)


def require_between(name: str, value: float, least: float, most: float) -> None:
    """Refuse a setting that is out of its range."""
    if not least <= value <= most:
        raise ConfigError(f"expected `{name}` to be between {least:,} and {most:,}, got {value}")


def require_whole(name: str, value: Any, least: int, most: int = _MOST) -> None:
    """Refuse a setting that is no whole number, below its least value, or larger than anybody can mean."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ConfigError(f"expected `{name}` to be a whole number of {least:,} or more, got {value!r}")
    _require_at_most(name, int(value), most)


def require_seed(seed: Any) -> None:
    """Refuse a seed that is not one of 2^64: larger ones would stand for smaller ones."""
    require_whole("seed", seed, 0, 2**64 - 1)


def require_positive(name: str, value: float) -> None:
    """Refuse a setting that is 0, negative, infinite or not a number."""
    if not 0 < value < float("inf"):
        raise ConfigError(f"expected `{name}` to be more than 0, got {value}")
    _require_at_most(name, value, _MOST)


def _require_at_most(name: str, value: float, most: float) -> None:
    if not value <= most:
        raise ConfigError(f"expected `{name}` to be {most:,} or less, got {value}")
