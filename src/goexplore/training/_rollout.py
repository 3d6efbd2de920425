"""Rollouts from demonstration points (paper section 2.2, appendix A.7)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goexplore.archive import Actions
from goexplore.envs import Environment, EpisodeEnd, Location, Step
from goexplore.errors import ConfigError, EngineError, require_at_least, require_between, require_positive
from goexplore.files import unpack
from goexplore.play import (
    MAX_NO_OPS,
    REPEAT_ACTION_PROBABILITY,
    GameState,
    PreprocessingConfig,
    Preprocessor,
    StochasticGame,
)
from goexplore.random import SplitMix64
from goexplore.runs import EndedRollout
from goexplore.training._buffer import DemonstrationBuffer
from goexplore.training._curriculum import Result, Start

Ending: TypeAlias = Literal["success", "death", "game over", "lagging", "truncated"]
"""The demonstration's score, a lost life, the end of the game, too little score in time, too long."""


@dataclass(frozen=True, kw_only=True)
class RolloutConfig:
    """How rollouts are played, ended and rewarded."""

    repeat_action_probability: float = REPEAT_ACTION_PROBABILITY
    """Probability, at each game frame, of repeating the last action instead of playing the chosen one."""
    no_ops: int = MAX_NO_OPS
    """Largest number of no-ops at the real start, in game frames (appendix A.7)."""
    episode_end: EpisodeEnd | None = None
    """What ends a rollout. None: what ended the episodes of the search that found the demonstrations."""
    allowed_lag: int = 50
    """Training frames by which a rollout's score may lag behind the demonstration's (appendix A.7)."""
    allowed_deficit: float = 0.0
    """Points by which a rollout may be behind even after `allowed_lag`; 250 for Pitfall (appendix A.7)."""
    after_success: Literal["stop", "go-on"] = "stop"
    """Whether a rollout ends when it has the demonstration's score, or goes on for a random time."""
    after_death: float = 0.0
    """After this share of the rollouts from the real start that lose a life, the next one begins there."""
    burn_in: int = 0
    """Training frames before the starting point that a recurrent policy observes but does not learn from."""
    rewards: Literal["sign", "scale", "demonstration"] = "sign"
    """Rewards: their sign; times `reward_scale`; or divided by the demonstrations' mean absolute score."""
    reward_scale: float = 0.001
    """Factor for `rewards` scale; the default is the paper's value for Pitfall (appendix A.7)."""
    max_game_frames: int = 400_000
    """Game frames after which a rollout is truncated."""

    def __post_init__(self) -> None:
        require_between("repeat_action_probability", self.repeat_action_probability, 0.0, 0.999)
        require_between("after_death", self.after_death, 0.0, 1.0)
        require_between("no_ops", self.no_ops, 0, 10_000)
        require_at_least("allowed_lag", self.allowed_lag, 0)
        require_at_least("allowed_deficit", self.allowed_deficit, 0)
        require_positive("reward_scale", self.reward_scale)
        require_between("burn_in", self.burn_in, 0, 10_000)
        require_at_least("max_game_frames", self.max_game_frames, 1)

    def shape(self, rewards: NDArray[np.float64], mean_score: float) -> NDArray[np.float64]:
        """Return rewards as the learner gets them."""
        if self.rewards == "sign":
            return np.sign(rewards)
        return rewards * self.reward_scale if self.rewards == "scale" else rewards / mean_score

    def ends_at_life_loss(self, buffer: DemonstrationBuffer) -> bool:
        """Return whether a rollout ends with a lost life; refuse demonstrations that lose one then."""
        chosen = self.episode_end
        ends = buffer.ends_at_life_loss if chosen is None else chosen == "life-loss"
        if ends and any(buffer.loses_life):
            what = "set `episode_end` to game-over" if chosen is None else "omit `episode_end`"
            raise ConfigError(
                "expected demonstrations that lose no life, because rollouts end there, got one (number "
                f"{buffer.loses_life.index(True)}) that does: leave it out, or {what}"
            )
        return ends


class Transition(NamedTuple):
    """What one training frame of a rollout brought."""

    reward: float
    """For the learner."""
    terminated: bool = False
    """The rollout is over: nothing follows."""
    truncated: bool = False
    """The rollout is over, but the game would go on: what would follow is to be estimated."""
    forced: int | None = None
    """The demonstration's action, where that was played instead of the policy's: not to be learnt from."""


@dataclass(frozen=True, kw_only=True)
class RolloutState:
    """A rollout under way, for a checkpoint."""

    random: int
    """The state of its stream of draws."""
    observation: bytes
    """What the policy sees."""


class Rollout(ABC):
    """One environment that plays rollouts, one after the other."""

    def __init__(self, game: StochasticGame, preprocessing: PreprocessingConfig, random: SplitMix64) -> None:
        """The game is this rollout's own from now on."""
        self.random = random
        self._game = game
        self._game.reset()
        self.preprocessor = Preprocessor(self.env, preprocessing)
        self.ending: Ending | None = None
        """Why the rollout ended; None while it goes on."""

    @property
    def env(self) -> Environment:
        """The environment."""
        return self._game.env

    @abstractmethod
    def begin(self, start: Start) -> None:
        """Go to where a rollout begins: where `start` says, or right after a death."""

    def step(self, action: int) -> Transition:
        """Play one training frame."""
        try:
            return self.finish_step(self.env.play(self.draw(action)))
        except EngineError:
            return self.finish_step(None)

    def draw(self, action: int) -> Actions:
        """Return what the environment has to play, step by step, for an action of the policy."""
        return self._game.draw(action, self.random)

    @abstractmethod
    def finish_step(self, step: Step | None) -> Transition:
        """Return what it brought; `step` is None where the native engine cannot go on."""

    @abstractmethod
    def result(self) -> Result | None:
        """Return how the rollout went so far; None if it did not begin where `begin` said."""

    def ended(self) -> EndedRollout:
        """Return where and how the rollout ended, for people to look at."""
        result, location, position = self.result(), self.location(), self.env.position()
        return EndedRollout(
            demonstration=None if result is None else result.start.demonstration,
            start=None if result is None else result.start.point,
            success=self.ending == "success" if result is None else result.success,
            ending=self.ending or "truncated",
            level=location.level,
            room=location.room,
            x=None if position is None else position[0],
            y=None if position is None else position[1],
        )

    @abstractmethod
    def state(self) -> RolloutState:
        """Return everything needed to go on with the rollout in another process."""

    @abstractmethod
    def restore(self, packed: bytes) -> None:
        """Go on with a rollout whose state was packed."""

    def _restore(self, state: RolloutState) -> None:
        self.random, self.ending = SplitMix64(state.random), None
        seen = self.preprocessor.observation
        seen[:] = np.frombuffer(state.observation, seen.dtype).reshape(seen.shape)

    def location(self) -> Location:
        """Return where in the game the rollout is."""
        return self._game.location()

    def picture(self) -> NDArray[np.uint8] | None:
        """Return the screen for people to look at, if there is one."""
        return self.env.picture()


@dataclass(frozen=True, kw_only=True)
class _DemonstrationRolloutState(RolloutState):
    game: GameState
    demonstration: int
    start: Start | None
    goal: list[float]
    score: float
    steps: int
    success: bool
    last_step: int
    alive_after_loss: bool
    burn_in_actions: bytes | tuple[int, ...]


class DemonstrationRollout(Rollout):
    """Rollouts of the Backward Algorithm: from points of demonstrations, whose score is their goal."""

    def __init__(self, buffer: DemonstrationBuffer, config: RolloutConfig, random: SplitMix64) -> None:
        game = StochasticGame(buffer.env, repeat_action_probability=config.repeat_action_probability)
        super().__init__(game, buffer.preprocessing, random)
        self._ends_at_life_loss = config.ends_at_life_loss(buffer)
        self._buffer, self._config = buffer, config
        self._longest = config.max_game_frames // buffer.frame_skip
        self._alive_after_loss = False
        self._burn_in_actions: Actions = b""

    def begin(self, start: Start) -> None:
        """Go to where a rollout begins: where `start` says, or right after a death."""
        number, point = start
        buffer = self._buffer
        if self._alive_after_loss and self.random.happens(self._config.after_death):
            self._begin_after_death()
            return
        self._start: Start | None = start
        scores = buffer.scores[number]
        self._goal = scores[point:] - scores[point]
        """What the demonstration wins from here on, after each number of training frames."""
        self._imitate(number)
        self._clear()
        if point == 0:  # the real start, with random no-ops (appendix A.7)
            self._game.reset(self.random.index(self._config.no_ops + 1))
            self.preprocessor.reset()
            return
        actions = buffer.actions[number]
        begin = max(0, point - self._config.burn_in)
        self._burn_in_actions = actions[begin:point]
        position, state = buffer.mark_before(number, begin)
        self._game.restore(state)
        self._game.follow(actions[position:begin])
        self.preprocessor.observation[:] = buffer.observation(number, begin)

    def _imitate(self, demonstration: int) -> None:
        """Be measured by a demonstration."""
        buffer, self._demonstration = self._buffer, demonstration
        self._step_cost = buffer.step_costs[demonstration]
        self._must_end = buffer.ends[demonstration]
        """Whether success means to end the episode, as the demonstration does."""
        self._must_terminate = buffer.terminates[demonstration]
        """Whether a time limit is no such end: who only lets time pass has not reached the goal."""

    def state(self) -> RolloutState:
        """Return everything needed to go on with the rollout in another process."""
        return _DemonstrationRolloutState(
            random=self.random.state,
            observation=self.preprocessor.observation.tobytes(),
            game=self._game.snapshot(),
            demonstration=self._demonstration,
            start=self._start,
            goal=self._goal.tolist(),
            score=self._score,
            steps=self._steps,
            success=self._success,
            last_step=self._last_step,
            alive_after_loss=self._alive_after_loss,
            burn_in_actions=self._burn_in_actions,
        )

    def restore(self, packed: bytes) -> None:
        """Go on with a rollout whose state was packed."""
        state = unpack(_DemonstrationRolloutState, packed)
        numbers = {state.demonstration, *([] if state.start is None else [state.start.demonstration])}
        if not numbers <= set(range(len(self._buffer.lengths))) or not state.goal:
            raise ValueError("a rollout of another demonstration")
        if any(action >= self._buffer.action_count for action in state.burn_in_actions):
            raise ValueError("a burn-in with other actions")
        self._restore(state)
        self._game.restore(state.game)
        self._imitate(state.demonstration)
        self._clear()
        self._start, self._goal = state.start, np.array(state.goal)
        self._score, self._steps, self._success = state.score, state.steps, state.success
        self._last_step, self._alive_after_loss = state.last_step, state.alive_after_loss
        self._burn_in_actions = state.burn_in_actions

    def _begin_after_death(self) -> None:
        """Go on with the lives that are left: what is still to be won may take as long as all of it."""
        whole = self._goal
        longest = max(self._buffer.lengths)
        self._start = None
        self._goal = np.zeros(longest + 1)
        self._goal[-1] = max(whole[-1] - self._score, 1e-9)
        self._clear()
        self.preprocessor.reset()

    def _clear(self) -> None:
        self._score, self._steps, self._success = 0.0, 0, False
        self._burn_in_actions = b""
        self._forced: int | None = None
        self._alive_after_loss = False
        self.ending = None
        self._last_step = self._longest

    def draw(self, action: int) -> Actions:
        """Return what the environment has to play, step by step, for an action of the policy."""
        self._forced = self._burn_in_actions[0] if self._burn_in_actions else None
        self._burn_in_actions = self._burn_in_actions[1:]
        if self._forced is not None:
            return self._game.draw(self._forced)
        return self._game.draw(action, self.random)

    def finish_step(self, step: Step | None) -> Transition:
        """Return what it brought; `step` is None where the native engine cannot go on."""
        forced = self._forced
        if step is None:  # so rare that the rollout may simply be truncated
            self._start, self.ending = None, "truncated"
            return Transition(0.0, truncated=True, forced=forced)
        reward, over, out_of_time, lost = self._game.finish_step(step)
        self.preprocessor.observe()
        if forced is not None:
            return Transition(0.0, forced=forced)
        self._score += reward
        self._steps += 1
        died = lost and self._ends_at_life_loss
        ended = over or died or (out_of_time and not self._must_terminate)
        if not self._success and self._has_succeeded(ended):
            self._success = True
            self._last_step = min(self._longest, self._steps + self._random_while())
        # A life begins at a room's entrance: a policy that cannot play from the start is lost there.
        from_start = self._start is None or self._start.point == 0
        self._alive_after_loss = died and not over and from_start
        finished = self._success and self._config.after_success == "stop"
        lags = self._lags()
        terminated = over or died or finished or lags
        truncated = not terminated and (out_of_time or self._steps >= self._last_step)
        if terminated or truncated:
            self.ending = self._why(death=lost and (died or over), over=over, lags=lags)
        shaped = self._config.shape(np.array(reward), self._buffer.mean_score) if reward else 0.0
        return Transition(float(shaped), terminated=terminated, truncated=truncated)

    def _has_succeeded(self, ended: bool) -> bool:
        """Whether the score is the demonstration's, and the episode over where the demonstration's is."""
        if self._must_end:
            return ended and self._score >= self._goal[-1] - self._allowance()
        return bool(self._score >= self._goal[-1])

    def _why(self, *, death: bool, over: bool, lags: bool) -> Ending:
        if self._success:
            return "success"
        return "death" if death else "game over" if over else "lagging" if lags else "truncated"

    def result(self) -> Result | None:
        """Return how the rollout went so far; None if it did not begin at a demonstration's point."""
        return None if self._start is None else Result(self._start, self._success)

    def _random_while(self) -> int:
        """Return a number of steps, large or small: the policy must not learn when rollouts are truncated."""
        return int(math.exp(7 * (self.random.word() >> 11) * 2.0**-53))

    def _lags(self) -> bool:
        """Whether the score is below all that the demonstration had within the allowed lag (appendix A.7).

        Where scores only rise that is its score of some time ago; a cost per step alone is no lag.
        """
        then = self._steps - self._config.allowed_lag
        if self._success or then < 0:
            return False
        last = len(self._goal) - 1
        lowest = self._goal[min(then, last) : min(self._steps, last) + 1].min()
        return bool(self._score < lowest - self._allowance())

    def _allowance(self) -> float:
        """Return by how many points the score may be behind: more where additional steps cost something."""
        additional = min(max(self._steps - len(self._goal) + 1, 0), self._config.allowed_lag)
        return self._config.allowed_deficit + self._step_cost * additional
