"""How explorations went: what is counted of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from goexplore import _native as native
from goexplore.archive import ExplorationResult, PackedResults
from goexplore.cells import End

SHORT = 3
"""Training frames in which an exploration should not have come to its end."""


class Total(NamedTuple):
    """What is counted of a batch."""

    explorations: int
    training_frames: int
    truncated: int
    """Explorations that came to the end of an episode that was cut off, where ends are kept."""
    short: int
    """Explorations in which the episode ended or was lost within `SHORT` training frames."""
    replayed: int
    """Training frames that were played on the way back."""
    given_up: int
    """Explorations that crashed or hung in every worker, with no action to blame."""
    stops: int
    """Explorations that ended because the engine could not go on."""
    last_stop: str | None
    """What the last one of them ended at."""
    frames: list[bytes]
    """For revisions of dynamic cells."""


def total_of(results: Sequence[ExplorationResult], action_bytes: int) -> Total:
    """Count the explorations of a batch; an action takes this many bytes."""
    if isinstance(results, PackedResults) and native.archive is not None:
        played, short, stops, last, frames = native.archive.total(
            results.records, results.offsets, action_bytes, SHORT
        )
        reason = results.stop_reasons[last - 1] if last else None
        return Total(len(results), played, 0, short, 0, 0, stops, reason, frames)
    stopped = [found.stopped for found in results if found.stopped is not None]
    return Total(
        explorations=len(results),
        training_frames=sum(found.training_frames for found in results),
        truncated=sum(found.end == End.TRUNCATED for found in results),
        short=sum(_is_short(found, action_bytes) for found in results),
        replayed=sum(found.replayed for found in results),
        given_up=sum(found.given_up for found in results),
        stops=len(stopped),
        last_stop=stopped[-1] if stopped else None,
        frames=[found.frame for found in results if found.frame],
    )


def _is_short(found: ExplorationResult, action_bytes: int) -> bool:
    is_lost = len(found.actions) < found.training_frames * action_bytes  # its last action led to no cell
    return found.training_frames <= SHORT and (is_lost or found.end == End.TERMINATED)


@dataclass(kw_only=True)
class Tally:
    """How the explorations of this session went, since it began."""

    explorations: int = 0
    training_frames: int = 0
    truncated: int = 0
    """Explorations that came to the end of an episode that was cut off, where ends are kept."""
    short: int = 0
    """Explorations in which the episode ended or was lost within `SHORT` training frames."""

    def add(self, total: Total) -> None:
        """Count a batch."""
        self.explorations += total.explorations
        self.training_frames += total.training_frames
        self.truncated += total.truncated
        self.short += total.short
