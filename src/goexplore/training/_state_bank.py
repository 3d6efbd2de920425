"""Where rollouts begin: at states of recorded episodes, most often where success is most uncertain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goexplore.errors import ConfigError, require_at_least, require_between, require_positive
from goexplore.random import SplitMix64
from goexplore.training._curriculum import Result, Start
from goexplore.training._recording_buffer import RecordingBuffer

REAL_START = Start(0, 0)


@dataclass(frozen=True, kw_only=True)
class StateBankConfig:
    """Where rollouts begin, what they are rewarded for, and how they end.

    Progress is counted in training frames of the guide: the best rehearsal, or the demonstrations.
    """

    real_start_share: float = 0.25
    """Share of the rollouts that begin at the real start of the game, with no-ops; not counting those that
    begin in a new life."""
    new_life_share: float = 0.1
    """Share of all rollouts that begin where an earlier one lost a life: the last 100 of each process. A
    policy must know how to go on in a new life, wherever it begins: without the things that the last one
    carried, for example. The expert never shows that."""
    own_share: float = 0.25
    """Share of the remaining rollouts that begin at a state that the policy itself has reached."""
    held_up_share: float = 0.5
    """Share of the rollouts from recorded states, not the policy's own, that begin with no-ops, so that the
    policy learns what to do if it is early or late."""
    held_up: int = 32
    """Most training frames of no-ops at the beginning of such a rollout; none if they would cost a life."""
    patience: float = 1.0
    """A rollout ends after a pause without progress: this factor times the longest pause of a typical
    recording, plus `more_patience`."""
    more_patience: int = 30
    """Training frames that are added to the pause that `patience` allows."""
    advance: int = 50
    """Progress that is rewarded with 1, and that makes a rollout a success."""
    proven_after: int = 40
    """Training frames for which progress must be survived; otherwise its reward is deducted again."""
    bin_length: int = 25
    """Progress that is taken together, to see how often rollouts from there succeed."""
    every: int = 4
    """Training frames between the states of a recording that rollouts begin at."""
    learning_rate: float = 0.06
    """How much a rollout's success counts in the success rate of where it began."""
    hope: float = 0.0
    """Additional weight of states from which rollouts fail. With a success rate r, a state's weight is
    (1 - r) * (r + hope) + floor: with 0, states from which all rollouts fail are drawn a tenth as often as
    those from which every second one does, and with 0.25 about 0.7 times as often."""
    floor: float = 0.03
    """Weight that is added for all states, so that nothing is forgotten, and nothing given up."""

    def __post_init__(self) -> None:
        for name in (
            "real_start_share",
            "new_life_share",
            "own_share",
            "held_up_share",
            "learning_rate",
        ):
            require_between(name, getattr(self, name), 0, 1)
        for name in ("advance", "proven_after", "bin_length", "every"):
            require_at_least(name, getattr(self, name), 1)
        require_positive("patience", self.patience)
        require_at_least("more_patience", self.more_patience, 0)
        require_at_least("held_up", self.held_up, 0)
        require_between("hope", self.hope, 0, 1)
        require_between("floor", self.floor, 1e-6, 1)


class StateBank:
    """Draws starts and learns from results where success is uncertain."""

    def __init__(self, buffer: RecordingBuffer, config: StateBankConfig) -> None:
        """Begin with the recordings of a buffer."""
        self._config = config
        self._states: dict[int, list[Start]] = {}
        self._bin_of: dict[Start, int] = {}
        self.rates: dict[int, float] = {}
        """Success rate of each bin."""
        for number, recording in enumerate(buffer.recordings):
            points = [point for point in recording.lessons() if point > 0]
            for point in points[number % config.every :: config.every]:
                start = Start(number, point)
                where = int(buffer.progress[number][point]) // config.bin_length
                self._states.setdefault(where, []).append(start)
                self._bin_of[start] = where
                self.rates.setdefault(where, 0.5)
        self._bins = sorted(self._states)
        self._update_weights()
        if not self._states:
            raise ConfigError(
                "expected recorded episodes to begin from, got none that survives for long: give other "
                "demonstrations, or more expert episodes"
            )
        self.patience = max(1, round(config.patience * buffer.longest_pause()) + config.more_patience)
        """Training frames without further progress after which a rollout ends."""

    def _update_weights(self) -> None:
        rates = np.array([self.rates[each] for each in self._bins])
        self._cumulative = np.cumsum((1 - rates) * (rates + self._config.hope) + self._config.floor)

    def draw(self, random: SplitMix64) -> Start:
        """Draw the real start, or a state, most often one from which success is uncertain."""
        if random.happens(self._config.real_start_share):
            return REAL_START
        chance = random.uniform(1)[0] * self._cumulative[-1]
        index = min(int(np.searchsorted(self._cumulative, chance, "right")), len(self._bins) - 1)
        states = self._states[self._bins[index]]
        return states[random.index(len(states))]

    def has(self, start: Start) -> bool:
        """Return whether a rollout can begin there."""
        return start == REAL_START or start in self._bin_of

    def update(self, results: Sequence[Result]) -> None:
        """Learn how rollouts went."""
        for start, success in results:
            where = self._bin_of.get(start)
            if where is not None:
                self.rates[where] += self._config.learning_rate * (success - self.rates[where])
        self._update_weights()

    def along_the_way(self, parts: int = 10) -> list[float]:
        """Return the mean success rates of parts of the way, from the beginning to the end."""
        rates = [self.rates[each] for each in self._bins]
        return [float(each.mean()) for each in np.array_split(rates, min(parts, len(rates)))]

    def state(self) -> dict[str, Any]:
        """Return everything that changes, as JSON values."""
        return {"rates": [[where, self.rates[where]] for where in self._bins]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to what `state` returned."""
        for where, rate in state["rates"]:
            if where in self.rates:
                self.rates[where] = rate
        self._update_weights()
