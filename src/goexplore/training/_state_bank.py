"""Where rollouts begin: at states of recorded episodes, most often where success is most uncertain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from goexplore.errors import ConfigError, require_at_least, require_between, require_positive
from goexplore.random import SplitMix64
from goexplore.training._curriculum import Result, Start
from goexplore.training._recording_buffer import RecordingBuffer

REAL_START = Start(0, 0)


@dataclass(frozen=True, kw_only=True)
class StateBankConfig:
    """Where rollouts begin, and how they end."""

    real_start_share: float = 0.4
    """Share of the rollouts that begin at the real start of the game, with no-ops."""
    after_death: float = 0.5
    """After this share of the lives that are lost in rollouts from the real start, the next one begins there:
    where a life begins, a policy must know how to go on."""
    own_share: float = 0.25
    """Share of the other rollouts that begin at a state that the policy itself has reached."""
    patience: float = 2.0
    """A rollout ends if no gain came after so many times what the recordings took to the next one ..."""
    more_patience: int = 50
    """... and so many training frames more."""
    bin_length: int = 25
    """Training frames before a gain that are taken together, to see how often rollouts from there succeed."""
    every: int = 4
    """Training frames between the states of a recording that rollouts begin at."""
    learning_rate: float = 0.06
    """How much a rollout's success counts in the success rate of where it began."""
    floor: float = 0.02
    """Weight of states from which success is certain, or hopeless; at most 0.25 is added to it."""

    def __post_init__(self) -> None:
        for name in ("real_start_share", "after_death", "own_share", "learning_rate"):
            require_between(name, getattr(self, name), 0, 1)
        for name in ("bin_length", "every"):
            require_at_least(name, getattr(self, name), 1)
        require_positive("patience", self.patience)
        require_at_least("more_patience", self.more_patience, 0)
        require_between("floor", self.floor, 1e-6, 1)


class Bin(NamedTuple):
    """States that are alike: the points won so far, and how far away the next gain is."""

    won: float
    distance: int
    """In bins."""


class StateBank:
    """Draws starts and learns from results where success is uncertain."""

    def __init__(self, buffer: RecordingBuffer, config: StateBankConfig) -> None:
        self._config = config
        self._states: dict[Bin, list[Start]] = {}
        self._bin_of: dict[Start, Bin] = {}
        self.rates: dict[Bin, float] = {}
        """Success rates: how often the next gain was reached."""
        self._count = 0
        self._longest: dict[float, int] = {}
        """For each number of points, how many training frames the next gain was away at most."""
        self.extend(buffer)

    def patience(self, won: float, distance: int | None = None) -> int:
        """Return after how many training frames without a gain a rollout ends.

        It has won so many points before, and begins at a known distance from the next gain, or anywhere.
        """
        if distance is None:
            distance = self._longest.get(won) or max(self._longest.values())
        return round(self._config.patience * distance) + self._config.more_patience

    def extend(self, buffer: RecordingBuffer) -> None:
        """Take up the recordings that are new."""
        config = self._config
        for number in range(self._count, len(buffer.recordings)):
            won, until = buffer.won[number], buffer.recordings[number].taught_until
            ahead = buffer.ahead[number]
            for points, distance in zip(won.tolist(), ahead.tolist(), strict=True):
                self._longest[points] = max(self._longest.get(points, 1), distance)
            for point in range(1 + number % config.every, until, config.every):
                if ahead[point] >= 0:
                    where = Bin(float(won[point]), int(ahead[point] - 1) // config.bin_length)
                    self._states.setdefault(where, []).append(Start(number, point))
                    self._bin_of[Start(number, point)] = where
                    # What is far away from a gain is hopeless until it was tried: so training begins near
                    # gains and moves back from there.
                    self.rates.setdefault(where, 0.5 ** (1 + where.distance))
        self._count = len(buffer.recordings)
        if not self._states:
            raise ConfigError(
                "expected recorded episodes with at least one gain to begin from, got none: give "
                "demonstrations that win something, or more expert episodes"
            )
        self._bins = sorted(self._states)
        self._update_weights()

    def _update_weights(self) -> None:
        rates = np.array([self.rates[each] for each in self._bins])
        self._cumulative = np.cumsum(rates * (1 - rates) + self._config.floor)

    def draw(self, random: SplitMix64) -> Start:
        """Draw the real start, or a state of a bin."""
        if random.happens(self._config.real_start_share):
            return REAL_START
        chance = random.uniform(1)[0] * self._cumulative[-1]
        index = min(int(np.searchsorted(self._cumulative, chance, "right")), len(self._bins) - 1)
        states = self._states[self._bins[index]]
        return states[random.index(len(states))]

    def update(self, results: list[Result]) -> None:
        """Learn how rollouts went."""
        for start, success in results:
            where = self._bin_of.get(start)
            if where is not None:
                self.rates[where] += self._config.learning_rate * (success - self.rates[where])
        self._update_weights()

    def by_points(self) -> dict[float, float]:
        """Return the mean success rate for each number of points won before."""
        found: dict[float, list[float]] = {}
        for where, rate in self.rates.items():
            found.setdefault(where.won, []).append(rate)
        return {won: float(np.mean(rates)) for won, rates in sorted(found.items())}

    def state(self) -> dict[str, Any]:
        """Return everything that changes, as JSON values."""
        return {"rates": [[where.won, where.distance, rate] for where, rate in sorted(self.rates.items())]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to what `state` returned; states that are new since then keep their rates."""
        for won, distance, rate in state["rates"]:
            if Bin(won, distance) in self.rates:
                self.rates[Bin(won, distance)] = rate
        self._update_weights()
