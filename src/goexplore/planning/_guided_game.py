"""The stochastic game, and where in a reference of demonstrations it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from goexplore.archive import Actions
from goexplore.demos import Demonstration
from goexplore.envs import Step
from goexplore.errors import CheckpointError, DemonstrationError, SnapshotError
from goexplore.planning._places import MakePlaces, choose_places
from goexplore.planning._planner import make_planner
from goexplore.planning._recording import Recording
from goexplore.planning._reference import Place, Reference, Tracker, Trajectory
from goexplore.play import REPEAT_ACTION_PROBABILITY, GameState, Played, StochasticGame
from goexplore.problems import CellsSpec, EnvironmentSpec
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
        self._place = self._places.reset()
        self._reference = reference
        self._planner = None if reference is None else make_planner(self.game, reference)
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
        return Trajectory(demonstration.actions, rewards, places).settled()

    def recorded_trajectory(self, recording: Recording) -> Trajectory:
        """Play an episode of the stochastic game again and note its places."""
        self.game.reset(recording.no_ops)
        places, rewards = [self._places.reset()], []
        for step in range(recording.taught_until):
            rewards.append(self.game.repeat(recording.step(step)).reward)
            places.append(self._places.update() or places[-1])
        if rewards != list(recording.rewards[: recording.taught_until]):
            raise CheckpointError(
                "expected the rewards that a recorded episode says, got others: it was made with another "
                "version of the environment; start a new run"
            )
        return Trajectory(recording.chosen[: recording.taught_until], rewards, places).settled()

    def reset(self, no_ops: int = 0) -> int:
        """Begin an episode; return how many game frames of no-ops were played."""
        played = self.game.reset(no_ops)
        self._place = self._places.reset()
        self.score, self.tracker = 0.0, self.reference.begin()
        return played

    def step(self, action: int, random: SplitMix64 | None) -> Played:
        """Play one training frame, and see where it led."""
        return self._see(self.game.step(action, random))

    def play(self, action: int, random: SplitMix64 | None) -> tuple[Actions, Played]:
        """Play one training frame; return what every step of the environment played, and what it brought."""
        actions = self.game.draw(action, random)
        return actions, self._see(self.game.finish_step(self.game.env.play(actions)))

    def repeat(self, actions: Actions) -> Played:
        """Play a training frame again of which every step of the environment is known."""
        return self._see(self.game.repeat(actions))

    def finish_step(self, step: Step) -> Played:
        """See where a training frame led that was played elsewhere, as the game's `draw` said."""
        return self._see(self.game.finish_step(step))

    def _see(self, played: Played) -> Played:
        self.score += played.reward
        if self._planner is not None:  # the same, many times as fast
            self.tracker = Tracker(*self._planner.follow(self.game.env.snapshot(), self.tracker))
            return played
        place = self._places.update()
        if place is not None:
            self._place = place
            self.tracker = self.reference.follow(place, self.score, self.tracker)
        return played

    def place(self) -> Place:
        """Return the current place; after `restore`, without a native planner, that of the reference."""
        return self._place if self._planner is None else self._places.update() or self._place

    @property
    def progress(self) -> int:
        """How far it has come."""
        return self.reference.progress(self.tracker)

    def situation(self) -> Situation:
        """Return everything needed to come back here."""
        return Situation(self.game.snapshot(), self._places.state(), self.score, self.tracker)

    def restore(self, situation: Situation) -> None:
        """Come back. The screen may be stale until the next step."""
        if not self.reference.has(situation.tracker):
            raise SnapshotError(
                f"expected a place among {len(self.reference.rows)} of the guide, got {situation.tracker}: "
                "the state is not of this training"
            )
        self.game.restore(situation.state)
        self._places.restore(situation.tracked)
        self.score, self.tracker = situation.score, situation.tracker
        self._place = self.reference.rows[self.tracker.row].place


@dataclass(frozen=True)
class Guide:
    """A reference and the settings of the games that it guides; calling it makes a new game."""

    env: EnvironmentSpec
    """The environment on the engine that plays."""
    places: MakePlaces
    reference: Reference
    repeat_action_probability: float = REPEAT_ACTION_PROBABILITY

    def __call__(self) -> GuidedGame:
        """Return a new game."""
        return GuidedGame(
            self.env,
            self.places,
            reference=self.reference,
            repeat_action_probability=self.repeat_action_probability,
        )

    def following(self, recording: Recording) -> Guide:
        """Return a guide that follows a recorded episode instead of the demonstrations, without its loops.

        A demonstration may jump from the last possible pixel, which sticky actions make fail; a recorded
        episode has survived them.
        """
        trajectory = self.replay(recording).without_loops()
        return replace(self, reference=Reference([trajectory], deficit=self.reference.deficit))

    def replay(self, recording: Recording) -> Trajectory:
        """Play a recorded episode again; refuse one that wins otherwise."""
        return GuidedGame(self.env, self.places).recorded_trajectory(recording)


def guide(
    demonstrations: Sequence[Demonstration],
    env: EnvironmentSpec,
    cells: CellsSpec,
    *,
    repeat_action_probability: float = REPEAT_ACTION_PROBABILITY,
    deficit: float = 0.0,
) -> Guide:
    """Return the guide by demonstrations, without their loops.

    `env` is the environment on the engine that plays; `cells` tell places apart if memory does not.
    """
    places = choose_places(demonstrations, env, cells)
    game = GuidedGame(env, places)
    trajectories = [game.trajectory(each).without_loops() for each in demonstrations]
    reference = Reference(trajectories, deficit=deficit)
    return Guide(env, places, reference, repeat_action_probability)
