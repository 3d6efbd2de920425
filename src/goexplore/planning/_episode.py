"""Whole episodes of the expert."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from goexplore.errors import EngineError
from goexplore.planning._expert import Expert, ExpertConfig
from goexplore.planning._guided_game import GuidedGame
from goexplore.planning._recording import Ending, Recording
from goexplore.planning._simulator import make_simulator
from goexplore.play import MAX_NO_OPS
from goexplore.random import SplitMix64, stream_state

_BEFORE_DEATH = 45
"""Training frames before a lost life that are not to be learnt from: they led there."""
_STUCK = 300
"""Training frames without progress after which an episode ends."""


class ExpertPlayer:
    """An expert and the game that it plays: one per thread."""

    def __init__(
        self,
        make_game: Callable[[], GuidedGame],
        config: ExpertConfig,
        *,
        no_ops: int = MAX_NO_OPS,
    ) -> None:
        """`make_game` makes guided games: see `guide`."""
        self.game = make_game()
        self.reference = self.game.reference
        self.no_ops = no_ops
        simulator = make_simulator(make_game(), horizon=config.horizon, ceiling=config.ceiling)
        inner = self.game.game.env
        self.expert = Expert(
            self.reference, simulator, config, action_count=inner.action_count, no_op=inner.no_op
        )

    def play(self, seed: int) -> Recording:
        """Play an episode from the real start until the goal, a lost life, the end, or until it is stuck."""
        for recording in self.episode(seed):
            if recording is not None:
                return recording
        raise AssertionError("an episode ends with its recording")

    def episode(self, seed: int) -> Iterator[Recording | None]:
        """Play an episode bit by bit: yield None after every training frame, and in the end the recording."""
        random = SplitMix64(stream_state(seed, 0))
        game, expert = self.game, self.expert
        no_ops = game.reset(random.index(self.no_ops + 1))
        expert.begin(stream_state(seed, 1))
        simulated = expert.simulator.played
        played: list[int] = []
        chosen: list[int] = []
        rewards: list[float] = []
        best, best_at = game.progress, 0
        ending: Ending | None = None
        while ending is None:
            decision = expert.decide(game.situation())
            try:
                actions, step = game.play(decision.action, random)
            except EngineError:  # as far as the native engine can tell, the game ends here
                ending = "game over"
                continue
            played += actions
            chosen.append(decision.action)
            rewards.append(step.reward)
            if game.progress > best:
                best, best_at = game.progress, len(chosen)
            if game.reference.is_at_the_end(game.tracker):
                ending = "goal"
            elif step.lost_life or step.ended:
                ending = "death" if step.lost_life else "game over"
            elif len(chosen) - best_at >= _STUCK:
                ending = "stuck"
            yield None
        few = game.game.action_count <= 256
        good = {"goal": len(chosen), "stuck": best_at}.get(ending, max(0, len(chosen) - _BEFORE_DEATH))
        yield Recording(
            no_ops=no_ops,
            played=bytes(played) if few else tuple(played),
            chosen=bytes(chosen) if few else tuple(chosen),
            rewards=tuple(rewards),
            taught_until=good,
            ending=ending,
            simulated=expert.simulator.played - simulated,
            seed=seed,
        )
