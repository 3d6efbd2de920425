"""The stochastic game, and where in a reference of demonstrations it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from goexplore.archive import Actions
from goexplore.cells import CellRepresentation
from goexplore.demos import Demonstration
from goexplore.envs import AtariEnvironment, Environment
from goexplore.errors import DemonstrationError
from goexplore.planning._reference import Place, Reference, Tracker, Trajectory
from goexplore.play import REPEAT_ACTION_PROBABILITY, GameState, Played, StochasticGame
from goexplore.problems import CellsSpec, EnvironmentSpec
from goexplore.random import SplitMix64

_OTHER_POSTURE = 9
"""How far jumping or falling is from standing."""


class Places(Protocol):
    """Says where in the game an environment is; may track what a single state does not show."""

    def reset(self) -> Place:
        """Return the place at the start of an episode."""
        ...

    def update(self) -> Place | None:
        """Return the place after one more training frame, or None where there is none."""
        ...

    def state(self) -> bytes:
        """Return what is tracked."""
        ...

    def restore(self, state: bytes) -> None:
        """Go back to what was tracked."""
        ...


class MemoryPlaces:
    """Level, room and position of the character in an Atari game's memory, where they are known."""

    def __init__(self, env: AtariEnvironment) -> None:
        self._env, self._facts = env, env.facts

    @staticmethod
    def are_known(env: Environment) -> bool:
        """Return whether there are such places in an environment."""
        return isinstance(env, AtariEnvironment) and env.facts.position_addresses is not None

    def reset(self) -> Place:
        """Return the place at the start."""
        return self.update()

    def update(self) -> Place:
        """Return the place."""
        memory, facts = self._env.memory(), self._facts
        assert facts.position_addresses is not None
        key = tuple(
            0 if address is None else memory[address] for address in (facts.level_address, facts.room_address)
        )
        airborne = any(memory[address] != value for address, value in facts.grounded)
        x, y = facts.position_addresses
        return Place(key, (memory[x], memory[y], _OTHER_POSTURE if airborne else 0), key[0])

    def state(self) -> bytes:
        """Return nothing: memory is part of the environment's state."""
        return b""

    def restore(self, state: bytes) -> None:
        """Nothing was tracked."""


class CellPlaces:
    """The cells of a search, for any environment."""

    def __init__(self, env: Environment, cells: CellRepresentation) -> None:
        self._env, self._cells = env, cells

    def reset(self) -> Place:
        """Return the first cell."""
        return Place(self._cells.reset(self._env.observation()))

    def update(self) -> Place | None:
        """Return the cell, or None where the episode is lost."""
        cell = self._cells.update(self._env.observation())
        return None if cell is None else Place(cell)

    def state(self) -> bytes:
        """Return what cells track."""
        return self._cells.state()

    def restore(self, state: bytes) -> None:
        """Go back to what cells tracked."""
        self._cells.restore(state)


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
        cells: CellsSpec,
        *,
        reference: Reference | None = None,
        repeat_action_probability: float = REPEAT_ACTION_PROBABILITY,
    ) -> None:
        """`cells` tell places apart if memory does not. Without `reference`, it plays demonstrations only."""
        self.game = StochasticGame(env, repeat_action_probability=repeat_action_probability)
        self.game.reset()
        inner = self.game.env
        self._places: Places
        if isinstance(inner, AtariEnvironment) and MemoryPlaces.are_known(inner):
            self._places = MemoryPlaces(inner)
        else:
            self._places = CellPlaces(inner, cells(inner))
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
