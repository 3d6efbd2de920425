"""The Backward Algorithm's curriculum over several demonstrations (paper section 2.2, appendix A.7).

Each demonstration has a *maximum starting point*: the latest training frame from which rollouts begin as a
rule. It starts at the end and moves back as rollouts succeed, that is, win at least what the demonstration
wins from there on. Most rollouts begin in a *window* that ends at the maximum starting point, the others
later, so that what was learnt is not forgotten. Starting point 0 is the real start of the game, with no-ops.
Nothing here knows of networks or environments.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from goexplore.errors import ConfigError, require_at_least, require_between
from goexplore.random import SplitMix64


@dataclass(frozen=True, kw_only=True)
class CurriculumConfig:
    """How starting points move."""

    window: int = 12
    """Training frames before the maximum starting point from which rollouts begin."""
    later_share: float = 0.2
    """Share of the rollouts that begin anywhere after the maximum starting point."""
    threshold: float | None = None
    """Success rate that moves a starting point back. None: 0.1, or 0.2 with one demonstration (A.7)."""
    steps_between_moves: int = 200
    """This times the number of demonstrations is the least number of training frames between moves (A.7)."""
    episodes_to_move: int = 20
    """Rollouts from the window that must have ended since the last move."""
    largest_move: int = 6
    """Largest number of training frames by which a starting point moves back at once."""
    forward_move: int = 6
    """Training frames by which a starting point moves forward again if even the latest points fail."""
    frames_before_end: int = 0
    """Training frames before the last one at which it begins (the paper changed this from 256; A.7)."""
    real_start_share: float = 0.2
    """Share of the rollouts from the real start of the game, once a maximum starting point is near it."""
    near_start: int = 8
    """A maximum starting point within this many training frames of the start is near it."""

    def __post_init__(self) -> None:
        for name in ("window", "steps_between_moves", "episodes_to_move", "largest_move", "forward_move"):
            require_at_least(name, getattr(self, name), 1)
        for name in ("later_share", "real_start_share"):
            require_between(name, getattr(self, name), 0, 1)


class Start(NamedTuple):
    """Where a rollout begins."""

    demonstration: int
    point: int
    """Training frames of it that are over already."""


class Result(NamedTuple):
    """How a rollout ended."""

    start: Start
    success: bool


@dataclass
class _Progress:
    """One demonstration."""

    length: int
    maximum: int
    results: deque[tuple[int, bool]] = field(default_factory=lambda: deque(maxlen=200))
    """Rollouts from the window since the last decision: where they began, and whether they succeeded."""
    steps: int = 0
    """Training frames of all rollouts since the last decision."""
    rate: float | None = None
    """Success rate of the rollouts that the last decision was made on."""


class Curriculum:
    """Draws starting points and moves them as results come in.

    It changes by `update` alone: processes that are given the same results in the same order agree.
    """

    def __init__(self, lengths: Sequence[int], config: CurriculumConfig) -> None:
        """`lengths` are the demonstrations' training frames."""
        if not lengths or min(lengths) < 1:
            raise ConfigError(
                f"expected demonstrations of at least one training frame, got lengths {list(lengths)}: omit "
                "the empty ones"
            )
        self.config = config
        usual = 0.2 if len(lengths) == 1 else 0.1
        self.threshold = usual if config.threshold is None else config.threshold
        self._progress = [
            _Progress(length, max(0, length - 1 - config.frames_before_end)) for length in lengths
        ]

    @property
    def starting_points(self) -> list[int]:
        """The maximum starting point of each demonstration."""
        return [each.maximum for each in self._progress]

    @property
    def success_rates(self) -> list[float | None]:
        """Success rates per demonstration, of the rollouts that the last decision to move was based on."""
        return [each.rate for each in self._progress]

    @property
    def reaches_the_start(self) -> bool:
        """Whether some rollouts begin at the real start of the game."""
        return min(self.starting_points) <= self.config.near_start

    def draw(self, random: SplitMix64) -> Start:
        """Draw where the next rollout begins: a demonstration uniformly, then a point of it."""
        number = random.index(len(self._progress))
        if self.reaches_the_start and random.happens(self.config.real_start_share):
            return Start(number, 0)
        each = self._progress[number]
        later = each.length - 1 - each.maximum
        if later > 0 and random.happens(self.config.later_share):
            return Start(number, each.maximum + 1 + random.index(later))
        earliest = max(0, each.maximum - self.config.window)
        return Start(number, earliest + random.index(each.maximum - earliest + 1))

    def has(self, start: Start) -> bool:
        """Return whether a rollout can begin there."""
        number, point = start
        return 0 <= number < len(self._progress) and 0 <= point < self._progress[number].length

    def update(self, results: Sequence[Result], steps: int) -> list[int]:
        """Move starting points by the rollouts that ended; return which demonstrations moved.

        Once enough of both came in, a maximum starting point moves back to the earliest point of its window
        from which, together with all later ones, the success rate reaches the threshold; where no point has
        that, it moves to later.
        """
        for (demonstration, point), success in results:
            each = self._progress[demonstration]
            # Those count too that began before the last move: successes take longer than failures.
            if each.maximum - self.config.window <= point <= each.maximum + self.config.largest_move:
                each.results.append((point, success))
        moved = []
        for number, each in enumerate(self._progress):
            each.steps += steps
            if (
                each.steps >= self.config.steps_between_moves * len(self._progress)
                and len(each.results) >= self.config.episodes_to_move
            ):
                target = self._target(each)
                each.rate = sum(success for _, success in each.results) / len(each.results)
                if target != each.maximum:
                    moved.append(number)
                each.maximum, each.steps = target, 0
                each.results.clear()
        return moved

    def _target(self, each: _Progress) -> int:
        terminated = won = 0
        earliest = None
        by_point = sorted(each.results, reverse=True)  # the latest first
        for index, (point, success) in enumerate(by_point):
            terminated, won = terminated + 1, won + success
            last_of_point = index + 1 == len(by_point) or by_point[index + 1][0] != point
            if last_of_point and point <= each.maximum and won >= self.threshold * terminated and won > 0:
                earliest = point
        if earliest is None:
            return min(each.maximum + self.config.forward_move, each.length - 1)
        # One step further than where it works, or it would never move off a point.
        return max(0, each.maximum - self.config.largest_move, min(earliest, each.maximum - 1))

    def state(self) -> dict[str, Any]:
        """Return everything that changes, as JSON values."""
        return {
            "demonstrations": [
                {
                    "length": each.length,
                    "max_starting_point": each.maximum,
                    "results": [[point, bool(success)] for point, success in each.results],
                    "steps": each.steps,
                    "rate": each.rate,
                }
                for each in self._progress
            ]
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to what `state` returned."""
        saved = state["demonstrations"]
        before, now = [each["length"] for each in saved], [each.length for each in self._progress]
        if before != now:
            raise ConfigError(
                f"expected the demonstrations that training began with (of {before} training frames), got "
                f"others (of {now}): resume with the same"
            )
        for each, values in zip(self._progress, saved, strict=True):
            each.maximum, each.steps = values["max_starting_point"], values["steps"]
            each.rate = values["rate"]
            each.results.clear()
            each.results.extend((point, success) for point, success in values["results"])
