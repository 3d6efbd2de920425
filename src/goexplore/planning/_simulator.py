"""Plans tried out from a situation, again and again with other draws: how often are they survived?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Actions
from goexplore.errors import EngineError
from goexplore.planning._guided_game import GuidedGame, Situation
from goexplore.planning._planner import make_planner
from goexplore.random import SplitMix64

if TYPE_CHECKING:
    from goexplore._native._atari import Planner

FOREVER = 2**32 - 1


class Plan(NamedTuple):
    """What to do from now on: wait, then a sequence of actions, then as the demonstration does, then stop."""

    delay: int = 0
    """Training frames to wait."""
    stop: int = FOREVER
    """Training frames after which, having waited, nothing more is done."""
    sequence: Actions = b""

    def action(self, step: int, no_op: int) -> int | None:
        """Return what to do in a training frame; None is what the demonstration does."""
        acted = step - self.delay
        if acted < 0 or acted >= self.stop:
            return no_op
        return int(self.sequence[acted]) if acted < len(self.sequence) else None

    def later(self) -> Plan:
        """Return what is left of it after one training frame."""
        if self.delay > 0:
            return self._replace(delay=self.delay - 1)
        return Plan(0, self.stop if self.stop == FOREVER else max(0, self.stop - 1), self.sequence[1:])


FOLLOW = Plan()
"""What the demonstration does."""


class Judgement(NamedTuple):
    """What came of a plan."""

    survival: float
    """Share of the tries in which no life was lost."""
    gain: float
    """Progress, averaged over the tries and over the time in which it was there: none in tries that failed.

    So early progress counts more than late progress: otherwise "wait here, go later" would be as good as
    "go now", for ever.
    """


class Simulator(Protocol):
    """Tries plans out."""

    @property
    def played(self) -> int:
        """Training frames that were played so far."""
        ...

    def judge(
        self, situation: Situation, plans: Sequence[Plan], streams: NDArray[np.uint64]
    ) -> list[Judgement]:
        """Try each plan with each stream of draws."""
        ...


class PythonSimulator:
    """The reference simulator: any environment that can be restored."""

    def __init__(self, game: GuidedGame, *, horizon: int, ceiling: int) -> None:
        """Look `horizon` training frames ahead; progress beyond `ceiling` counts no more than that."""
        self._game, self._horizon, self._ceiling = game, horizon, ceiling
        self._no_op = game.game.env.no_op or 0
        self.played = 0

    def judge(
        self, situation: Situation, plans: Sequence[Plan], streams: NDArray[np.uint64]
    ) -> list[Judgement]:
        """Try each plan with each stream of draws."""
        judgements = []
        for plan in plans:
            gains = [self._try(situation, plan, SplitMix64(int(stream))) for stream in streams]
            alive = [gain for gain in gains if gain is not None]
            judgements.append(Judgement(len(alive) / len(gains), sum(alive) / len(gains)))
        return judgements

    def _try(self, situation: Situation, plan: Plan, random: SplitMix64) -> float | None:
        """Return the gain, or None where a life or the episode was lost."""
        game, reference = self._game, self._game.reference
        game.restore(situation)
        begin = best = game.progress
        area = 0
        for step in range(self._horizon + plan.delay):  # waiting must not hide what comes after it
            action = plan.action(step, self._no_op)
            if action is None:
                action = reference.action(game.tracker)
            self.played += 1
            try:
                played = game.step(action, random)
            except EngineError:  # as far as the native engine can tell, the game ends here
                return None
            if played.lost_life:
                return None
            best = max(best, game.progress)
            if played.ended and best < reference.goal:
                return None
            gained = min(best - begin, self._ceiling)
            if step < self._horizon:
                area += gained
            if best >= reference.goal:
                area += max(0, self._horizon - 1 - step) * gained
                break
        return area / self._horizon


class NativeSimulator:
    """The same on the native engine, without the interpreter and its lock (_native/plan/planner.h)."""

    def __init__(self, planner: Planner, *, horizon: int, ceiling: int) -> None:
        self._planner, self._horizon, self._ceiling = planner, horizon, ceiling

    @property
    def played(self) -> int:
        """Training frames that were played so far."""
        return self._planner.played

    def judge(
        self, situation: Situation, plans: Sequence[Plan], streams: NDArray[np.uint64]
    ) -> list[Judgement]:
        """Try each plan with each stream of draws."""
        tries = len(streams)
        return [
            Judgement(alive / tries, gain / tries)
            for alive, gain in self._planner.judge(
                situation.state.snapshot,
                situation.state.last_action or 0,
                situation.tracker,
                tuple((plan.delay, plan.stop, bytes(plan.sequence)) for plan in plans),
                streams.tobytes(),
                self._horizon,
                self._ceiling,
            )
        ]


def make_simulator(game: GuidedGame, *, horizon: int, ceiling: int) -> Simulator:
    """Return the fastest simulator that there is for a game, which is this simulator's own from now on."""
    planner = make_planner(game.game, game.reference)
    if planner is not None:
        return NativeSimulator(planner, horizon=horizon, ceiling=ceiling)
    return PythonSimulator(game, horizon=horizon, ceiling=ceiling)
