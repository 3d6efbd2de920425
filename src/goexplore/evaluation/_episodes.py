"""Episodes of the protocol: from the real start, no-ops, sticky actions, until the game is over or a cap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from goexplore.envs import Location
from goexplore.errors import ConfigError, EngineError, PolicyError, require_at_least, require_between
from goexplore.evaluation._players import Player
from goexplore.play import MAX_NO_OPS, REPEAT_ACTION_PROBABILITY, Observation, Preprocessor, StochasticGame
from goexplore.problems import EnvironmentSpec
from goexplore.random import SplitMix64, stream_state

NO_OP_COUNTS = tuple(range(MAX_NO_OPS + 1))
"""Of the protocol: every number from 0 to 30 (paper section 2.3)."""
PARTS = tuple(NO_OP_COUNTS[at : at + 8] for at in range(0, len(NO_OP_COUNTS), 8))
"""Of a repetition: the episodes that are played side by side."""


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """What is played."""

    repetitions: int = 5
    """Episodes for each number of no-ops (paper section 2.3)."""
    max_game_frames: int | None = 400_000
    """Where an episode is truncated (appendix A.9), at the end of a training frame; None plays on."""
    until_score: float | None = None
    """An episode ends as soon as it has this score. Such scores are not those of whole games."""
    repeat_action_probability: float = REPEAT_ACTION_PROBABILITY
    """Probability, at each game frame, of repeating the last action instead of playing the chosen one."""
    seed: int = 0
    """Seed of all draws."""

    def __post_init__(self) -> None:
        require_at_least("repetitions", self.repetitions, 1, 100_000)
        if self.max_game_frames is not None and self.max_game_frames <= MAX_NO_OPS:
            raise ConfigError(
                f"expected `max_game_frames` to be above the {MAX_NO_OPS} no-ops, got {self.max_game_frames}"
            )
        if self.until_score is not None and not isfinite(self.until_score):
            raise ConfigError(f"expected `until_score` to be a finite number, got {self.until_score}")
        require_between("repeat_action_probability", self.repeat_action_probability, 0, 0.999)
        if not 0 <= self.seed < 2**63:
            raise ConfigError(f"expected `seed` from 0, below 2^63, got {self.seed}")

    @property
    def episode_count(self) -> int:
        """Every number of no-ops, `repetitions` times."""
        return len(NO_OP_COUNTS) * self.repetitions


@dataclass(frozen=True, kw_only=True)
class Death:
    """Where and when a life was lost."""

    level: int
    """-1 where there are none."""
    room: int
    """-1 where there are none."""
    score: float
    """The episode's score when the life was lost."""
    game_frame: int
    """Game frames of the episode until the life was lost, no-ops included."""

    @property
    def location(self) -> Location:
        """Level and room."""
        return Location(self.level, self.room)


@dataclass(frozen=True, kw_only=True)
class Episode:
    """How one episode went."""

    seed: int
    """Of the evaluation. All draws of the episode follow from it, the repetition and the no-ops."""
    no_ops: int
    repetition: int
    score: float
    first_life_score: float
    """Until the first life was lost, or the episode ended."""
    game_frames: int
    lives_lost: int
    level: int
    """The highest that was reached; -1 where there are none."""
    rooms: int
    """How many were entered."""
    truncated: bool
    """Whether it was stuck at its end: truncated by the cap, where the game would have gone on."""
    deaths: tuple[Death, ...] = ()
    """Every life that was lost, in order."""


class EpisodeInPlay:
    """One episode that is being played."""

    def __init__(
        self,
        player: Player,
        config: EvaluationConfig,
        *,
        no_ops: int,
        repetition: int,
        env: EnvironmentSpec | None = None,
    ) -> None:
        """`env` is what is played, the player's own by default: on whichever engine."""
        self._config, self._no_ops, self._repetition = config, no_ops, repetition
        env = env or player.env
        self.game = StochasticGame(env, repeat_action_probability=config.repeat_action_probability)
        if player.actions not in (None, self.game.action_count):
            raise PolicyError(
                f"expected a policy for the {self.game.action_count} actions of {env.name}, got one "
                f"for {player.actions}: it was made for another game"
            )
        self.random = SplitMix64(stream_state(config.seed, repetition, no_ops))
        self.game_frames = self.game.reset(no_ops)
        self._preprocessor = (
            None if player.preprocessing is None else Preprocessor(self.game.env, player.preprocessing)
        )
        if self._preprocessor is not None:
            self._preprocessor.reset()
        self.score = 0.0
        self._deaths: list[Death] = []
        self._truncated = False
        self._place = self.game.env.location()
        self._places = {self._place}
        self._longest = player.longest
        self.training_frames = 0

    def step(self, action: int) -> bool:
        """Play one training frame; return whether the episode goes on."""
        reward, terminated, truncated, lost = self.game.step(action, self.random)
        self.score += reward
        self.training_frames += 1
        self.game_frames += self.game.frame_skip
        before, self._place = self._place, self.game.env.location_after(self._place)
        self._places.add(self._place)
        if lost:  # the next life may begin elsewhere: where this one was is known from before
            self._deaths.append(
                Death(level=before.level, room=before.room, score=self.score, game_frame=self.game_frames)
            )
        if self._preprocessor is not None:
            self._preprocessor.observe()
        config = self._config
        done = (
            terminated or truncated or (config.until_score is not None and self.score >= config.until_score)
        )
        cap = config.max_game_frames
        self._truncated = not done and cap is not None and self.game_frames >= cap
        idle = self._longest is not None and self.training_frames >= self._longest
        return not (done or self._truncated or idle)

    def observation(self) -> Observation:
        """Return what the player observes; nothing if it needs nothing."""
        return np.empty(0, np.uint8) if self._preprocessor is None else self._preprocessor.observation

    @property
    def deaths(self) -> Sequence[Death]:
        """The lives that were lost so far."""
        return self._deaths

    def record(self) -> Episode:
        """Return how it went until now."""
        return Episode(
            seed=self._config.seed,
            no_ops=self._no_ops,
            repetition=self._repetition,
            score=self.score,
            first_life_score=self._deaths[0].score if self._deaths else self.score,
            game_frames=self.game_frames,
            lives_lost=len(self._deaths),
            level=max(location.level for location in self._places),
            rooms=len({location for location in self._places if location.room >= 0}),
            truncated=self._truncated,
            deaths=tuple(self._deaths),
        )


def play_episodes(
    player: Player, config: EvaluationConfig, repetition: int, no_ops: Sequence[int]
) -> list[Episode]:
    """Play one episode for each of these numbers of no-ops, side by side.

    What comes out depends on nothing but the arguments: they may be played anywhere, in any order. Where the
    native engine cannot go on, all are played again on ale-py, which gives the same until there.
    """
    try:
        return _play(player, config, player.env, repetition, no_ops)
    except EngineError:
        return _play(player, config, player.env.reference(), repetition, no_ops)


def _play(
    player: Player, config: EvaluationConfig, env: EnvironmentSpec, repetition: int, no_ops: Sequence[int]
) -> list[Episode]:
    episodes = [
        EpisodeInPlay(player, config, no_ops=count, repetition=repetition, env=env) for count in no_ops
    ]
    player.begin(len(episodes))
    going = list(range(len(episodes)))
    while going:
        seen = [episodes[each].observation() for each in going]
        actions = player.act(np.array(going), seen, [episodes[each].random for each in going])
        going = [each for each, action in zip(going, actions, strict=True) if episodes[each].step(action)]
    return [episode.record() for episode in episodes]
