"""Places: where in the game an environment is, from its memory, its cells or its observations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import CellRepresentation
from goexplore.demos import Demonstration
from goexplore.envs import AtariEnvironment, Environment
from goexplore.errors import ConfigError, EnvironmentContractError
from goexplore.planning._reference import Place
from goexplore.play import StochasticGame, as_vector
from goexplore.problems import CellsSpec, EnvironmentSpec

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
        level, room = (
            0 if address is None else memory[address] for address in (facts.level_address, facts.room_address)
        )
        airborne = any(memory[address] != value for address, value in facts.grounded)
        x, y = facts.position_addresses
        position = (memory[x], memory[y], _OTHER_POSTURE if airborne else 0)
        return Place((level, room), position, level=level, room=room, column=memory[x])

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


class VectorPlaces:
    """Observations of numbers, measured by how much each number varies along the demonstrations."""

    def __init__(self, env: Environment, spread: NDArray[np.float64]) -> None:
        varying = int(np.isfinite(spread).sum())
        self._env, self._spread, self._share = env, spread, share_of_each(varying)

    def reset(self) -> Place:
        """Return the place at the start."""
        return self.update()

    def update(self) -> Place:
        """Return the place."""
        vector = as_vector(self._env.observation(), np.float64) / self._spread
        return Place((), tuple((np.rint(_UNITS * vector) * self._share).tolist()))

    def state(self) -> bytes:
        """Return nothing: a state has its observation."""
        return b""

    def restore(self, state: bytes) -> None:
        """Nothing was tracked."""


_UNITS = 20
"""Of distance, in a standard deviation of one number."""
_FEW_NUMBERS = 4
"""Distances are sums over all numbers. If there are more than these, each counts less: what is near with few
numbers is near with many."""


def share_of_each(numbers: int) -> float:
    """Return how much of its distance each of this many numbers contributes."""
    return min(1.0, _FEW_NUMBERS / max(1, numbers))


MakePlaces: TypeAlias = Callable[[Environment], Places]


def choose_places(
    demonstrations: Sequence[Demonstration], env: EnvironmentSpec, cells: CellsSpec
) -> MakePlaces:
    """Return what tells places apart: memory where it is known, else cells, else observations of numbers."""
    game = StochasticGame(env)
    if MemoryPlaces.are_known(game.env):
        return _memory_places
    game.reset()
    try:
        cells(game.env).reset(game.env.observation())
    except (ConfigError, EnvironmentContractError):  # there are no usual cells for real numbers
        game.reset()
        vectors = [as_vector(game.env.observation(), np.float64)]
        for demonstration in demonstrations:
            game.reset()
            for action in demonstration.actions:
                game.step(action)
                vectors.append(as_vector(game.env.observation(), np.float64))
        spread = np.std(vectors, axis=0)
        spread[spread < 1e-9] = np.inf  # what never changes tells nothing
        return partial(VectorPlaces, spread=spread)
    return partial(_cell_places, cells)


def _memory_places(env: Environment) -> MemoryPlaces:
    assert isinstance(env, AtariEnvironment)
    return MemoryPlaces(env)


def _cell_places(cells: CellsSpec, env: Environment) -> CellPlaces:
    return CellPlaces(env, cells(env))
