"""Whole episodes of the expert."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from goexplore.demos import Demonstration
from goexplore.envs import Location
from goexplore.planning._expert import Expert, ExpertConfig, Kind
from goexplore.planning._guided_game import GuidedGame, make_reference
from goexplore.planning._recording import Ending, Recording
from goexplore.planning._simulator import make_simulator
from goexplore.play import MAX_NO_OPS, REPEAT_ACTION_PROBABILITY
from goexplore.problems import CellsSpec, EnvironmentSpec
from goexplore.random import SplitMix64, stream_state

_BEFORE_DEATH = 45
"""Training frames before a lost life that are not to be learnt from: they led there."""
_SLOWER = 4
"""An episode may take this many times as long as the longest demonstration."""


@dataclass
class Watched:
    """What an episode was like, for people."""

    kinds: Counter[Kind] = field(default_factory=Counter)
    location: Location | None = None
    progress: int = 0


class ExpertPlayer:
    """An expert and the game that it plays: one per thread."""

    def __init__(
        self,
        demonstrations: list[Demonstration],
        config: ExpertConfig,
        env: EnvironmentSpec,
        cells: CellsSpec,
        *,
        repeat_action_probability: float = REPEAT_ACTION_PROBABILITY,
        no_ops: int = MAX_NO_OPS,
        deficit: float = 0.0,
    ) -> None:
        """`env` is the environment on the engine that plays."""
        make_game = partial(GuidedGame, env, cells, repeat_action_probability=repeat_action_probability)
        self.reference = make_reference(demonstrations, make_game, deficit=deficit)
        self.game = make_game(reference=self.reference)
        self._no_ops = no_ops
        self.longest = _SLOWER * max(len(each.actions) for each in demonstrations)
        simulator = make_simulator(
            make_game(reference=self.reference), horizon=config.horizon, ceiling=config.ceiling
        )
        inner = self.game.game.env
        self.expert = Expert(
            self.reference, simulator, config, action_count=inner.action_count, no_op=inner.no_op
        )
        self.watched = Watched()

    def play(self, seed: int, watch: Callable[[], None] = lambda: None) -> Recording:
        """Play an episode from the real start until the goal, a lost life or the end."""
        random = SplitMix64(stream_state(seed, 0))
        no_ops = self.game.reset(random.index(self._no_ops + 1))
        return self._play(seed, random, no_ops, watch)

    def _play(self, seed: int, random: SplitMix64, no_ops: int, watch: Callable[[], None]) -> Recording:
        game, expert = self.game, self.expert
        expert.begin(stream_state(seed, 1))
        simulated = expert.simulator.played
        played: list[int] = []
        chosen: list[int] = []
        rewards: list[float] = []
        watched = self.watched = Watched()
        ending: Ending = "out of time"
        for _ in range(self.longest):
            decision = expert.decide(game.situation())
            watched.kinds[decision.kind] += 1
            actions, step = game.play(decision.action, random)
            played += actions
            chosen.append(decision.action)
            rewards.append(step.reward)
            watch()
            if game.reference.is_at_the_end(game.tracker):
                ending = "goal"
                break
            if step.lost_life or step.ended:
                ending = "death" if step.lost_life else "game over"
                break
        watched.location, watched.progress = game.game.location(), game.progress
        count = len(chosen)
        few = game.game.action_count <= 256
        return Recording(
            no_ops=no_ops,
            played=bytes(played) if few else tuple(played),
            chosen=bytes(chosen) if few else tuple(chosen),
            rewards=tuple(rewards),
            taught_until=count if ending == "goal" else max(0, count - _BEFORE_DEATH),
            ending=ending,
            simulated=expert.simulator.played - simulated,
            seed=seed,
        )
