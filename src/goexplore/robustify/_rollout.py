"""Rollouts from demonstration points (paper section 2.2, appendix A.7)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goexplore.envs import Environment, EpisodeEnd, Place, Step
from goexplore.errors import ConfigError, EngineError
from goexplore.random import SplitMix64
from goexplore.robustify._curriculum import Result, Start
from goexplore.robustify._library import Library
from goexplore.robustify._stochastic import MAX_NO_OPS, STICKINESS, Eyes, StochasticGame

Ending: TypeAlias = Literal["success", "death", "over", "late", "cut"]
"""The demonstration's score, a lost life, the end of the game, too little score in time, too long."""


@dataclass(frozen=True, kw_only=True)
class RolloutConfig:
    """How rollouts go."""

    stickiness: float = STICKINESS
    """Probability at each game frame of repeating the last action."""
    no_ops: int = MAX_NO_OPS
    """Game frames of doing nothing at the real start, at most (appendix A.7)."""
    episode_end: EpisodeEnd = "life-loss"
    """What ends a rollout."""
    lag: int = 50
    """Training frames by which a rollout may be later with its score than the demonstration (A.7)."""
    deficit: float = 0.0
    """Points by which it may be behind even then; 250 for Pitfall (appendix A.7)."""
    after_success: Literal["stop", "go-on"] = "stop"
    """Whether a rollout ends when it has the demonstration's score, or goes on for a random while."""
    after_death: float = 0.0
    """Of the rollouts from the real start that lost a life, those that are followed by one from there."""
    lead_in: int = 0
    """Training frames before the starting point that a recurrent policy watches, masked from learning."""
    rewards: Literal["sign", "scale", "demonstration"] = "sign"
    """Clipped to -1, 0 and 1; times `reward_scale`; or divided by the mean size of demonstrations' scores."""
    reward_scale: float = 0.001
    """For Pitfall (appendix A.7)."""
    max_game_frames: int = 400_000
    """Of one rollout."""

    def __post_init__(self) -> None:
        for name, least, most in (
            ("stickiness", 0.0, 0.999),
            ("after_death", 0.0, 1.0),
            ("no_ops", 0, 10_000),
            ("lag", 0, math.inf),
            ("deficit", 0, math.inf),
            ("lead_in", 0, 10_000),
            ("max_game_frames", 1, math.inf),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise ConfigError(
                    f"expected --rollout.{name.replace('_', '-')} between {least} and {most}, got {value}: "
                    "change it"
                )

    def shape(self, rewards: NDArray[np.float64], mean_score: float) -> NDArray[np.float64]:
        """Return rewards as the learner gets them."""
        if self.rewards == "sign":
            return np.sign(rewards)
        return rewards * self.reward_scale if self.rewards == "scale" else rewards / mean_score


class Transition(NamedTuple):
    """What one training frame of a rollout brought."""

    reward: float
    """For the learner."""
    ended: bool = False
    """The rollout is over: nothing follows."""
    cut: bool = False
    """The rollout is over, but the game would go on: what would follow is to be estimated."""
    forced: int | None = None
    """The demonstration's action, where that was played instead of the policy's: not to be learnt from."""


class Rollout:
    """One emulator that plays rollouts, one after the other."""

    def __init__(self, library: Library, config: RolloutConfig, random: SplitMix64) -> None:
        if config.episode_end == "life-loss" and any(library.loses_life):
            raise ConfigError(
                "expected demonstrations that lose no life, for rollouts end there, got one (number "
                f"{library.loses_life.index(True)}) that does: omit it, or use --rollout.episode-end "
                "game-over"
            )
        self._library, self._config, self.random = library, config, random
        self._game = StochasticGame(library.env, library.engine, stickiness=config.stickiness)
        self.eyes = Eyes(self.env, library.eyes)
        self._longest = config.max_game_frames // library.env.frame_skip
        self._alive_after_loss = False
        self.ending: Ending | None = None
        """Why the rollout ended; None while it goes on."""

    @property
    def env(self) -> Environment:
        """The emulator."""
        return self._game.env

    def begin(self, start: Start) -> None:
        """Go to where a rollout begins: where `start` says, or right after a death."""
        number, point = start
        library = self._library
        if self._alive_after_loss and self.random.happens(self._config.after_death):
            self._begin_after_death()
            return
        self._start: Start | None = start
        scores = library.scores[number]
        self._goal = scores[point:] - scores[point]
        """What the demonstration wins from here on, after each number of training frames."""
        self._clear()
        if point == 0:  # the real start, with random no-ops (appendix A.7)
            self._game.reset(self.random.index(self._config.no_ops + 1))
            self.eyes.blink()
            return
        actions = library.actions[number]
        begin = max(0, point - self._config.lead_in)
        self._lead = actions[begin:point]
        position, state = library.mark_before(number, begin)
        self._game.restore(state)
        self._game.follow(actions[position:begin])
        self.eyes.observation[:] = library.observation(number, begin)

    def _begin_after_death(self) -> None:
        """Go on with the lives that are left: what is still to be won may take as long as all of it."""
        whole = self._goal
        longest = max(self._library.lengths)
        self._start = None
        self._goal = np.zeros(longest + 1)
        self._goal[-1] = max(whole[-1] - self._score, 1e-9)
        self._clear()
        self.eyes.blink()

    def _clear(self) -> None:
        self._score, self._steps, self._success = 0.0, 0, False
        self._lead = self._forced = b""
        self._alive_after_loss = False
        self.ending = None
        self._last_step = self._longest

    def step(self, action: int) -> Transition:
        """Play one training frame."""
        try:
            return self.hear(self.env.play(self.draw(action)))
        except EngineError:
            return self.hear(None)

    def draw(self, action: int) -> bytes:
        """Return what the emulator has to play, game frame by game frame, for an action of the policy."""
        self._forced, self._lead = self._lead[:1], self._lead[1:]
        return self._game.draw(self._forced[0]) if self._forced else self._game.draw(action, self.random)

    def hear(self, step: Step | None) -> Transition:
        """Take note of what it brought; None where the native engine cannot go on."""
        forced = self._forced[0] if self._forced else None
        if step is None:  # so rare that the rollout may simply be cut
            self._start, self.ending = None, "cut"
            return Transition(0.0, cut=True, forced=forced)
        reward, over, lost = self._game.hear(step)
        self.eyes.look()
        if forced is not None:
            return Transition(0.0, forced=forced)
        self._score += reward
        self._steps += 1
        if not self._success and self._score >= self._goal[-1]:
            self._success = True
            self._last_step = min(self._longest, self._steps + self._random_while())
        died = lost and self._config.episode_end == "life-loss"
        # A life begins at a room's entrance: who has not learnt to play from the start is lost there.
        from_start = self._start is None or self._start.point == 0
        self._alive_after_loss = died and not over and from_start
        finished = self._success and self._config.after_success == "stop"
        late = self._is_late()
        ended = over or died or finished or late
        cut = not ended and self._steps >= self._last_step
        if ended or cut:
            self.ending = self._why(death=lost and (died or over), over=over, late=late)
        shaped = self._config.shape(np.array(reward), self._library.mean_score) if reward else 0.0
        return Transition(float(shaped), ended=ended, cut=cut)

    def _why(self, *, death: bool, over: bool, late: bool) -> Ending:
        if self._success:
            return "success"
        return "death" if death else "over" if over else "late" if late else "cut"

    def place(self) -> Place:
        """Return where in the game the rollout is."""
        return self._game.place()

    def picture(self) -> NDArray[np.uint8] | None:
        """Return the screen for people to look at, if there is one."""
        return self.env.picture()

    def result(self) -> Result | None:
        """Return how the rollout went so far; None if it did not begin at a demonstration's point."""
        return None if self._start is None else Result(self._start, self._success)

    def _random_while(self) -> int:
        """Return a number of steps, large or small: the policy shall not learn when rollouts are cut."""
        return int(math.exp(7 * (self.random.word() >> 11) * 2.0**-53))

    def _is_late(self) -> bool:
        """Whether the score lags behind the demonstration's of some time ago (appendix A.7)."""
        then = self._steps - self._config.lag
        if self._success or then < 0:
            return False
        return bool(self._score < self._goal[min(then, len(self._goal) - 1)] - self._config.deficit)
