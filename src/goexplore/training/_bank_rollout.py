"""Rollouts from states of recorded episodes, rewarded for progress along the guide."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from goexplore.envs import Step
from goexplore.errors import EngineError
from goexplore.files import unpack
from goexplore.planning import Situation
from goexplore.play import MAX_NO_OPS, Observation
from goexplore.random import SplitMix64
from goexplore.training._curriculum import Result, Start
from goexplore.training._recording_buffer import RecordingBuffer
from goexplore.training._rollout import Rollout, RolloutState, Transition
from goexplore.training._state_bank import StateBankConfig

_KEPT_PER_BIN = 100
_ENOUGH = 20
_KEEP_SHARE = 0.01
_NEW_LIFE = -1
"""Takes the place of progress where a life was lost: such states have a bin of their own."""
_APPEARS_WITHIN = 100
"""Training frames in which a new life appears. Until then, its progress is that of the last one."""
_LEAP = 6
"""Progress that is lost within a training frame only by appearing elsewhere: walking back loses less."""


SavedOwnStates: TypeAlias = dict[int, list[tuple[Situation, bytes]]]
"""By bins: states, and what the policy saw there."""


class OwnState(NamedTuple):
    """A state that the policy reached."""

    situation: Situation
    observation: Observation


class OwnStates:
    """States that the policy reached, the last ones of each bin: environments of a process share them."""

    def __init__(self, bin_length: int) -> None:
        self._bin_length = bin_length
        self._kept: dict[int, deque[OwnState]] = {}

    def add(self, progress: int, state: OwnState) -> None:
        """Keep a state; the oldest of its bin is forgotten."""
        self._kept.setdefault(progress // self._bin_length, deque(maxlen=_KEPT_PER_BIN)).append(state)

    def draw(self, progress: int, random: SplitMix64) -> OwnState | None:
        """Return one of the same bin, if there are enough."""
        kept = self._kept.get(progress // self._bin_length, ())
        return kept[random.index(len(kept))] if len(kept) >= _ENOUGH else None

    def state(self) -> SavedOwnStates:
        """Return all of them, for a checkpoint."""
        return {
            number: [(each.situation, each.observation.tobytes()) for each in kept]
            for number, kept in self._kept.items()
        }

    def restore(self, saved: SavedOwnStates, like: Observation) -> None:
        """Go back to what `state` returned; observations are `like` this one."""
        for number, kept in saved.items():
            self._kept[number] = deque(maxlen=_KEPT_PER_BIN)
            for situation, seen in kept:
                observation = np.frombuffer(seen, like.dtype).reshape(like.shape)
                self._kept[number].append(OwnState(situation, observation))


@dataclass(frozen=True, kw_only=True)
class _BankRolloutState(RolloutState):
    situation: Situation
    start: Start | None
    from_the_start: bool
    lost_life: bool
    appears_within: int
    first: int
    best: int
    pause: int
    unproven: list[tuple[int, float]]


class BankRollout(Rollout):
    """A rollout goes on until the guide's end, a lost life, or a long pause without progress."""

    def __init__(
        self,
        buffer: RecordingBuffer,
        config: StateBankConfig,
        own: OwnStates,
        random: SplitMix64,
        *,
        patience: int,
        no_ops: int = MAX_NO_OPS,
    ) -> None:
        """A rollout ends after `patience` training frames without further progress."""
        self._guided = buffer.make_game()
        super().__init__(self._guided.game, buffer.preprocessing, random)
        self._buffer, self._config, self._own = buffer, config, own
        self._patience, self._no_ops = patience, no_ops
        self._lost_life = self._from_the_start = False
        self._appears_within = 0
        """Training frames in which a new life may appear, if it has not done so yet."""

    def begin(self, start: Start) -> None:
        """Go to where a rollout begins: where `start` says, or where a new life begins."""
        self.ending = None
        self._appears_within = _APPEARS_WITHIN if self._begin_new_life() else 0
        if self._appears_within:
            self._start: Start | None = None
        else:
            self._start = start
            self._from_the_start = start.point == 0
            if self._from_the_start:
                self._guided.reset(self.random.index(self._no_ops + 1))
                self.preprocessor.reset()
            else:
                self._begin_there(start)
        self._lost_life = False
        self._first = self._best = self._guided.progress
        self._pause = 0
        self._unproven: deque[tuple[int, float]] = deque([(0, 0.0)] * self._config.proven_after)

    def state(self) -> RolloutState:
        """Return everything needed to go on with the rollout in another process."""
        return _BankRolloutState(
            random=self.random.state,
            observation=self.preprocessor.observation.tobytes(),
            situation=self._guided.situation(),
            start=self._start,
            from_the_start=self._from_the_start,
            lost_life=self._lost_life,
            appears_within=self._appears_within,
            first=self._first,
            best=self._best,
            pause=self._pause,
            unproven=list(self._unproven),
        )

    def restore(self, packed: bytes) -> None:
        """Go on with a rollout whose state was packed."""
        state = unpack(_BankRolloutState, packed)
        if len(state.unproven) != self._config.proven_after:
            raise ValueError(f"rewards of {len(state.unproven)} training frames")
        self._restore(state)
        self._guided.restore(state.situation)
        self._start, self._from_the_start = state.start, state.from_the_start
        self._lost_life, self._appears_within = state.lost_life, state.appears_within
        self._first, self._best, self._pause = state.first, state.best, state.pause
        self._unproven = deque(state.unproven)

    def _begin_new_life(self) -> bool:
        """Keep where a life was lost; go on where this or an earlier rollout lost one, or return False."""
        if self._lost_life:
            self.preprocessor.reset()
            self._own.add(_NEW_LIFE, self._own_state())
        if not self.random.happens(self._config.new_life_share):
            return False
        lost = self._own.draw(_NEW_LIFE, self.random)
        if lost is None:
            return False
        self._return_to(lost)
        return True

    def _own_state(self) -> OwnState:
        return OwnState(self._guided.situation(), self.preprocessor.observation.copy())

    def _return_to(self, own: OwnState) -> None:
        self._guided.restore(own.situation)
        self.preprocessor.observation[:] = own.observation

    def _begin_there(self, start: Start) -> None:
        """Go to a recorded state, or to one that the policy itself reached about as far along the way."""
        if self.random.happens(self._config.own_share):
            progress = int(self._buffer.progress[start.demonstration][start.point])
            own = self._own.draw(progress, self.random)
            if own is not None:
                self._start = None
                self._return_to(own)
                return
        self._go_to(start)
        if self.random.happens(self._config.held_up_share):
            self._hold_up(start)

    def _go_to(self, start: Start) -> None:
        self._buffer.restore(self._guided, *start)
        self.preprocessor.observation[:] = self._buffer.observation(*start)

    def _hold_up(self, start: Start) -> None:
        """Do nothing for a while, unless that is deadly.

        The no-ops at the real start shift all that moves in a game against the player (paper 2.3). A policy
        is early or late at every other place too, whereas the expert, which sees ahead, is on time.
        """
        no_op = self._guided.game.env.no_op
        if no_op is None:
            return
        for _ in range(self.random.index(self._config.held_up + 1)):
            try:
                _, step = self._guided.play(no_op, self.random)
            except EngineError:
                self._go_to(start)
                return
            self.preprocessor.observe()
            if step.lost_life or step.ended:
                self._go_to(start)
                return

    def finish_step(self, step: Step | None) -> Transition:
        """Return what it brought: a reward for further progress."""
        if step is None:  # so rare that the rollout may simply be truncated
            self._start, self.ending = None, "truncated"
            return Transition(0.0, truncated=True)
        before = self._guided.progress
        _, over, out_of_time, lost = self._guided.finish_step(step)
        self.preprocessor.observe()
        progress = self._guided.progress
        if self._appears_within:
            self._appears_within -= 1
            if before - progress >= _LEAP:
                self._first = self._best = progress
                self._pause = self._appears_within = 0
        further = 0 if lost else max(0, progress - self._best)
        self._best += further
        self._pause = 0 if further else self._pause + 1
        won = self._best >= self._buffer.goal
        late = self._pause >= self._patience
        if won:
            self.ending = "success"
        elif lost or over:
            self.ending = "death" if lost else "game over"
            self._lost_life = lost and not over
        elif late:
            self.ending = "lagging"
        elif out_of_time:
            self.ending = "truncated"
        elif self.random.happens(_KEEP_SHARE):
            self._own.add(progress, self._own_state())
        terminated = won or lost or over or late
        reward = min(further / self._config.advance, 1.0)  # a short cut is not rewarded for its length
        reward = self._prove(further, reward, died=(lost or over) and not won)
        return Transition(reward, terminated=terminated, truncated=out_of_time and not terminated)

    def _prove(self, further: int, reward: float, *, died: bool) -> float:
        """Return the reward, or after a death what has to be given back of earlier ones.

        A falling character passes places that a demonstration reaches on foot much later.
        """
        self._unproven.append((further, reward))
        self._unproven.popleft()
        if not died:
            return reward
        self._best -= sum(progress for progress, _ in self._unproven)
        return reward - sum(reward for _, reward in self._unproven)

    def result(self) -> Result | None:
        """Return whether it made enough progress; from the real start, whether it came to the end."""
        if self._start is None:
            return None
        if self._from_the_start:
            return Result(self._start, self.ending == "success")
        return Result(
            self._start, self.ending == "success" or self._best - self._first >= self._config.advance
        )
