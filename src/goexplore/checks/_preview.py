"""Random play, seen through several choices of cells at once.

Every *walk* begins at the initial state and goes on until its episode ends, for up to 1,000 training frames.
Its actions are those of an exploration: random, each repeated with the problem's probability.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import CellKey, CellRepresentation, validate_step
from goexplore.checks._cells import CellCounts, Verdict, judge_cells
from goexplore.envs import Environment, digest
from goexplore.errors import require_at_least, require_positive, require_seed
from goexplore.problems import CellsSpec, Problem
from goexplore.random import SplitMix64, stream_state

WALK = 1000
"""Training frames of a walk, at most."""

_NONE = -1
"""Stands for a state without a cell."""


class Moment(NamedTuple):
    """A state of the play."""

    walk: int
    """Number of the walk."""
    step: int
    """Training frames since it began."""


@dataclass
class Choice:
    """One choice of cells, and the cells of the play."""

    name: str
    spec: CellsSpec
    keys: dict[CellKey, int] = field(default_factory=dict)
    """Cells, numbered in the order in which they were found."""
    visited: array[int] = field(default_factory=lambda: array("i"))
    """The number of the cell of each state; -1 where there is none."""

    def add(self, key: CellKey | None) -> None:
        """Take in the cell of the next state."""
        self.visited.append(_NONE if key is None else self.keys.setdefault(key, len(self.keys)))

    def cells(self) -> NDArray[np.int32]:
        """Return the number of each state's cell."""
        return np.frombuffer(self.visited, np.int32)

    def growth(self) -> NDArray[np.int64]:
        """Return how many cells there are after each state."""
        cells = self.cells()
        return np.maximum.accumulate(cells.astype(np.int64)) + 1


@dataclass(frozen=True, kw_only=True)
class CellsPreview:
    """A random play, and what each choice of cells makes of it."""

    problem: Problem
    choices: tuple[Choice, ...]
    seed: int
    training_frames: int
    """That were played."""
    walks: Sequence[int]
    """The state at which each walk begins."""
    actions: Sequence[Sequence[int]]
    """Of each walk."""
    observations: Sequence[int]
    """The number of each state's observation, in the order in which different ones came."""

    def __len__(self) -> int:
        """Return the number of states: training frames, and the beginnings of walks."""
        return len(self.observations)

    def counts(self, choice: Choice) -> CellCounts:
        """Return what the play shows of a choice."""
        return CellCounts.of(
            (
                (cell, seen)
                for cell, seen in zip(choice.visited, self.observations, strict=True)
                if cell != _NONE
            ),
            self.training_frames,
        )

    def verdict(self, choice: Choice) -> Verdict:
        """Return what to think of a choice."""
        return judge_cells(self.counts(choice))

    def text(self) -> str:
        """Return a line for each choice."""
        return "\n".join(f"{choice.name}: {self.verdict(choice).text}" for choice in self.choices)

    def moment(self, state: int) -> Moment:
        """Return where in the play a state is."""
        walk = int(np.searchsorted(np.asarray(self.walks), state, side="right")) - 1
        return Moment(walk, state - self.walks[walk])

    def show(self, states: Sequence[int]) -> Iterator[tuple[int, Environment]]:
        """Play again what leads to some states; yield each of them with the environment in that state."""
        env = self.problem.env()
        at: Moment | None = None
        for state in sorted(set(states)):
            wanted = self.moment(state)
            if at is None or at.walk != wanted.walk:
                env.reset()
                at = Moment(wanted.walk, 0)
            for action in self.actions[wanted.walk][at.step : wanted.step]:
                env.step(action)
            at = wanted
            yield state, env
        env.close()


def play_preview(
    problem: Problem,
    choices: Mapping[str, CellsSpec],
    *,
    seconds: float = 10.0,
    training_frames: int | None = None,
    seed: int = 0,
) -> CellsPreview:
    """Play a problem at random, for some seconds or training frames, and give each state to all choices.

    With `training_frames`, the time does not matter and the result is always the same.
    """
    require_positive("seconds", seconds)
    if training_frames is not None:
        require_at_least("training_frames", training_frames, 1)
    require_seed(seed)
    env = problem.env()
    played = [Choice(name, spec) for name, spec in choices.items()]
    representations = [choice.spec(env) for choice in played]
    walks: list[int] = []
    walked: list[list[int]] = []
    numbers: dict[bytes, int] = {}
    observations = array("i")
    deadline = monotonic() + seconds
    frames = 0

    def is_over() -> bool:
        return frames >= training_frames if training_frames is not None else monotonic() > deadline

    def take_in(keys: Sequence[CellKey | None]) -> None:
        for choice, key in zip(played, keys, strict=True):
            choice.add(key)
        observations.append(numbers.setdefault(digest(env.observation()), len(numbers)))

    while not is_over():
        walks.append(len(observations))
        walked.append(taken := [])
        env.reset()
        take_in([each.reset(env.observation()) for each in representations])
        lost = [False] * len(played)
        for action in _actions(env, problem, seed, len(walks)):
            step = env.step(action)
            frames += 1
            validate_step(step)
            if step.ended:
                break
            taken.append(action)
            take_in(_update(representations, lost, env))
            if all(lost) or is_over():
                break
    env.close()
    return CellsPreview(
        problem=problem,
        choices=tuple(played),
        seed=seed,
        training_frames=frames,
        walks=walks,
        actions=walked,
        observations=observations,
    )


def _update(
    representations: Sequence[CellRepresentation], lost: list[bool], env: Environment
) -> list[CellKey | None]:
    """Return the cell of each choice; one that has lost the episode gets no more of it."""
    keys: list[CellKey | None] = []
    for number, each in enumerate(representations):
        key = None if lost[number] else each.update(env.observation())
        lost[number] = key is None
        keys.append(key)
    return keys


def _actions(env: Environment, problem: Problem, seed: int, walk: int) -> Iterator[int]:
    """Yield the actions of a walk: those of an exploration (paper section 2.1.4), for longer."""
    random = SplitMix64(stream_state(seed, walk))
    count, action = int(env.action_count), -1
    for _ in range(WALK):
        if action < 0 or not random.happens(problem.exploration.repeat_probability):
            action = random.index(count)
        yield action
