"""The stochastic game, and where in a reference of demonstrations it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from goexplore.archive import Actions
from goexplore.demos import Demonstration
from goexplore.errors import DemonstrationError
from goexplore.planning._places import MakePlaces
from goexplore.planning._reference import Reference, Tracker, Trajectory
from goexplore.play import REPEAT_ACTION_PROBABILITY, GameState, Played, StochasticGame
from goexplore.problems import EnvironmentSpec
from goexplore.random import SplitMix64


class Situation(NamedTuple):
    """A moment of a guided game, to plan from."""

    state: GameState
    tracked: bytes
    """Of the places."""
    score: float
    tracker: Tracker


class GuidedGame:
    """A stochastic game that knows where in a reference it is."""

    def __init__(
        self,
        env: EnvironmentSpec,
        make_places: MakePlaces,
        *,
        reference: Reference | None = None,
        repeat_action_probability: float = REPEAT_ACTION_PROBABILITY,
    ) -> None:
        """Without a `reference`, it plays demonstrations only."""
        self.game = StochasticGame(env, repeat_action_probability=repeat_action_probability)
        self.game.reset()
        self._places = make_places(self.game.env)
        self._reference = reference
        self.score = 0.0
        self.tracker = Tracker()

    @property
    def reference(self) -> Reference:
        """The demonstrations that guide it."""
        assert self._reference is not None, "a game without a reference only plays demonstrations"
        return self._reference

    def trajectory(self, demonstration: Demonstration) -> Trajectory:
        """Play a demonstration in the deterministic game and note its places."""
        self.game.reset()
        places, rewards = [self._places.reset()], []
        for action in demonstration.actions:
            rewards.append(self.game.step(action).reward)
            places.append(self._places.update() or places[-1])
        if rewards != list(demonstration.rewards):
            raise DemonstrationError(
                "expected the rewards that the demonstration says, got others: it does not replay; check it "
                "with `goexplore verify`"
            )
        return Trajectory(demonstration.actions, rewards, places)

    def reset(self, no_ops: int = 0) -> int:
        """Begin an episode; return how many game frames of no-ops were played."""
        played = self.game.reset(no_ops)
        self._places.reset()
        self.score, self.tracker = 0.0, self.reference.begin()
        return played

    def step(self, action: int, random: SplitMix64 | None) -> Played:
        """Play one training frame, and see where it led."""
        return self._see(self.game.step(action, random))

    def play(self, action: int, random: SplitMix64 | None) -> tuple[Actions, Played]:
        """Play one training frame; return what every step of the environment played, and what it brought."""
        actions = self.game.draw(action, random)
        return actions, self._see(self.game.finish_step(self.game.env.play(actions)))

    def _see(self, played: Played) -> Played:
        self.score += played.reward
        place = self._places.update()
        if place is not None:
            self.tracker = self.reference.follow(place, self.score, self.tracker)
        return played

    @property
    def progress(self) -> int:
        """How far it has come."""
        return self.reference.progress(self.tracker)

    def situation(self) -> Situation:
        """Return everything needed to come back here."""
        return Situation(self.game.snapshot(), self._places.state(), self.score, self.tracker)

    def restore(self, situation: Situation) -> None:
        """Come back. The screen may be stale until the next step."""
        self.game.restore(situation.state)
        self._places.restore(situation.tracked)
        self.score, self.tracker = situation.score, situation.tracker


def make_reference(
    demonstrations: Sequence[Demonstration], make_game: Callable[[], GuidedGame], *, deficit: float = 0.0
) -> Reference:
    """Return demonstrations as a reference, played on the engine that will plan with it."""
    game = make_game()
    return Reference([game.trajectory(each) for each in demonstrations], deficit=deficit)
