"""Rollouts from states of recorded episodes: from gain to gain, until a life is lost."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, Protocol

from goexplore.envs import Step
from goexplore.play import MAX_NO_OPS, REPEAT_ACTION_PROBABILITY, GameState, Observation
from goexplore.random import SplitMix64
from goexplore.training._curriculum import Result, Start
from goexplore.training._recording_buffer import RecordingBuffer
from goexplore.training._rollout import Rollout, Transition
from goexplore.training._state_bank import StateBankConfig

_KEPT_PER_SCORE = 300
_ENOUGH = 50
_KEEP_SHARE = 0.01


class Patience(Protocol):
    """Says after how many training frames without a gain a rollout ends."""

    def __call__(self, won: float, distance: int | None = None) -> int:
        """It has won so many points, and begins at a known distance from the next gain, or anywhere."""
        ...


class OwnState(NamedTuple):
    """A state that the policy reached."""

    state: GameState
    observation: Observation
    won: float
    """Points won before, without those lost."""


class OwnStates:
    """States that the policy reached, the last ones for each number of points: shared within a process."""

    def __init__(self) -> None:
        self._kept: dict[float, deque[OwnState]] = {}

    def add(self, state: OwnState) -> None:
        """Keep a state; the oldest with as many points is forgotten."""
        self._kept.setdefault(state.won, deque(maxlen=_KEPT_PER_SCORE)).append(state)

    def draw(self, won: float, random: SplitMix64) -> OwnState | None:
        """Return one with so many points, if there are enough."""
        kept = self._kept.get(won, ())
        return kept[random.index(len(kept))] if len(kept) >= _ENOUGH else None


class BankRollout(Rollout):
    """Success is the next gain; the rollout goes on after it, until the goal or a lost life."""

    def __init__(
        self,
        buffer: RecordingBuffer,
        config: StateBankConfig,
        own: OwnStates,
        random: SplitMix64,
        *,
        goal: float,
        patience: Patience,
        repeat_action_probability: float = REPEAT_ACTION_PROBABILITY,
        no_ops: int = MAX_NO_OPS,
    ) -> None:
        """A rollout ends with the `goal`, so many points won, or when it had no gain for too long.

        `patience` says how long that is.
        """
        super().__init__(
            buffer.env, buffer.preprocessing, random, repeat_action_probability=repeat_action_probability
        )
        self._buffer, self._config, self._own = buffer, config, own
        self._goal, self._patience, self._no_ops = goal, patience, no_ops
        self._lost_life = False
        self._won = 0.0

    def begin(self, start: Start) -> None:
        """Go to where a rollout begins: where `start` says, or right after a lost life."""
        self.ending = None
        self._since_gain, self._success = 0, False
        self._allowed: int | None = None
        if self._lost_life and self.random.happens(self._config.after_death):
            self._start: Start | None = None
            self._lost_life = False
            self.preprocessor.reset()
            return
        self._lost_life = False
        self._start = start
        self._from_the_start = start.point == 0
        if start.point == 0:
            self._won = 0.0
            self._game.reset(self.random.index(self._no_ops + 1))
            self.preprocessor.reset()
            return
        won = float(self._buffer.won[start.demonstration][start.point])
        own = self._own.draw(won, self.random) if self.random.happens(self._config.own_share) else None
        if own is not None:
            self._start = None
            self._game.restore(own.state)
            self.preprocessor.observation[:] = own.observation
        else:
            self._buffer.restore(self._game, *start)
            self.preprocessor.observation[:] = self._buffer.observation(*start)
            self._allowed = self._patience(won, int(self._buffer.ahead[start.demonstration][start.point]))
        self._won = won

    def finish_step(self, step: Step | None) -> Transition:
        """Return what it brought: a reward of 1 for a gain."""
        if step is None:  # so rare that the rollout may simply be truncated
            self._start, self.ending = None, "truncated"
            return Transition(0.0, truncated=True)
        reward, over, out_of_time, lost = self._game.finish_step(step)
        self.preprocessor.observe()
        self._since_gain += 1
        gain = 1.0 if over and self._buffer.goal_is_a_gain and not lost else max(reward, 0.0)
        if gain:
            self._won += gain
            self._success, self._since_gain, self._allowed = True, 0, None
        if self._allowed is None:
            self._allowed = self._patience(self._won)
        won = gain > 0 and self._won >= self._goal
        late = self._since_gain >= self._allowed
        if won:
            self.ending = "success"
        elif lost or over:
            self.ending = "death" if lost else "game over"
            self._lost_life = lost and not over and self._from_the_start
        elif late:
            self.ending = "lagging"
        elif out_of_time:
            self.ending = "truncated"
        elif self.random.happens(_KEEP_SHARE):
            self._own.add(OwnState(self._game.snapshot(), self.preprocessor.observation.copy(), self._won))
        terminated = won or lost or over or late
        return Transition(float(gain > 0), terminated=terminated, truncated=out_of_time and not terminated)

    def result(self) -> Result | None:
        """Return whether a gain came; from the real start, whether the goal was reached."""
        if self._start is None:
            return None
        return Result(self._start, self.ending == "success" if self._from_the_start else self._success)
