"""Episodes of the protocol: from the real start, no-ops, sticky actions, until the game is over or a cap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from goexplore.engines import Engine
from goexplore.errors import ConfigError, EngineError, PolicyError
from goexplore.evaluation._players import Player
from goexplore.random import SplitMix64, stream_state
from goexplore.robustify._stochastic import MAX_NO_OPS, STICKINESS, Eyes, StochasticGame

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
    """Where an episode is cut (appendix A.9), at the end of a training frame; None plays on."""
    until_score: float | None = None
    """An episode ends as soon as it has this score. Scores are then no scores of the whole game."""
    stickiness: float = STICKINESS
    """Probability at each game frame of repeating the last action."""
    seed: int = 0
    """Seed of all draws."""

    def __post_init__(self) -> None:
        if self.repetitions < 1:
            raise ConfigError(f"expected --repetitions to be 1 or more, got {self.repetitions}: change it")
        if self.max_game_frames is not None and self.max_game_frames <= MAX_NO_OPS:
            raise ConfigError(
                f"expected --max-game-frames above the {MAX_NO_OPS} no-ops, got {self.max_game_frames}: "
                "change it"
            )
        if self.until_score is not None and not isfinite(self.until_score):
            raise ConfigError(f"expected --until-score to be a number, got {self.until_score}: change it")
        if not 0 <= self.stickiness < 1:
            raise ConfigError(f"expected --stickiness from 0, below 1, got {self.stickiness}: change it")
        if not 0 <= self.seed < 2**63:
            raise ConfigError(f"expected --seed from 0, below 2^63, got {self.seed}: change it")

    @property
    def episode_count(self) -> int:
        """Every number of no-ops, `repetitions` times."""
        return len(NO_OP_COUNTS) * self.repetitions


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
    capped: bool
    """Whether it was cut: the game would have gone on."""


class EpisodeInPlay:
    """One episode that is being played."""

    def __init__(
        self, player: Player, config: EvaluationConfig, engine: Engine, no_ops: int, repetition: int
    ):
        self._config, self._no_ops, self._repetition = config, no_ops, repetition
        self.game = StochasticGame(player.env, engine, stickiness=config.stickiness)
        if player.actions not in (None, self.game.action_count):
            raise PolicyError(
                f"expected a policy for the {self.game.action_count} actions of {player.env.game}, got one "
                f"for {player.actions}: it was made for another game"
            )
        self.random = SplitMix64(stream_state(config.seed, repetition, no_ops))
        self.game.reset(no_ops)
        self._eyes = None if player.eyes is None else Eyes(self.game.env, player.eyes)
        if self._eyes is not None:
            self._eyes.blink()
        self.score = 0.0
        self._first_life_score: float | None = None
        self._game_frames, self._lives_lost, self._capped = no_ops, 0, False
        self._place = self.game.env.place()
        self._places = {self._place}
        self._longest = player.longest
        self.training_frames = 0

    def step(self, action: int) -> bool:
        """Play one training frame; return whether the episode goes on."""
        reward, over, lost = self.game.step(action, self.random)
        self.score += reward
        self.training_frames += 1
        self._game_frames += self.game.frame_skip
        self._place = self.game.env.place_after(self._place)
        self._places.add(self._place)
        if lost:
            self._lives_lost += 1
            if self._first_life_score is None:
                self._first_life_score = self.score
        if self._eyes is not None:
            self._eyes.look()
        config = self._config
        done = over or (config.until_score is not None and self.score >= config.until_score)
        cap = config.max_game_frames
        self._capped = not done and cap is not None and self._game_frames >= cap
        idle = self._longest is not None and self.training_frames >= self._longest
        return not (done or self._capped or idle)

    def observation(self) -> NDArray[np.uint8]:
        """Return what the player sees; nothing if it needs no eyes."""
        return np.empty(0, np.uint8) if self._eyes is None else self._eyes.observation

    def record(self) -> Episode:
        """Return how it went."""
        first = self._first_life_score
        return Episode(
            seed=self._config.seed,
            no_ops=self._no_ops,
            repetition=self._repetition,
            score=self.score,
            first_life_score=self.score if first is None else first,
            game_frames=self._game_frames,
            lives_lost=self._lives_lost,
            level=max(place.level for place in self._places),
            rooms=len({place for place in self._places if place.room >= 0}),
            capped=self._capped,
        )


def play_episodes(
    player: Player, config: EvaluationConfig, engine: Engine, repetition: int, no_ops: Sequence[int]
) -> list[Episode]:
    """Play one episode for each of these numbers of no-ops, side by side.

    What comes out depends on nothing but the arguments: they may be played anywhere, in any order. Where the
    native engine cannot go on, all are played again on ale-py, which gives the same until there.
    """
    try:
        return _play(player, config, engine, repetition, no_ops)
    except EngineError:
        return _play(player, config, "ale", repetition, no_ops)


def _play(
    player: Player, config: EvaluationConfig, engine: Engine, repetition: int, no_ops: Sequence[int]
) -> list[Episode]:
    episodes = [EpisodeInPlay(player, config, engine, count, repetition) for count in no_ops]
    player.begin(len(episodes))
    going = list(range(len(episodes)))
    while going:
        seen = [episodes[each].observation() for each in going]
        actions = player.act(np.array(going), seen, [episodes[each].random for each in going])
        going = [each for each, action in zip(going, actions, strict=True) if episodes[each].step(action)]
    return [episode.record() for episode in episodes]
