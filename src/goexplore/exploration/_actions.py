"""How to explore from a cell once it is reached (paper section 2.1.4)."""

from collections.abc import Iterator
from typing import Protocol

from goexplore.cells import CellEnvironment
from goexplore.errors import require_between
from goexplore.random import SplitMix64


class ActionSource(Protocol):
    """Decides what to do while exploring."""

    def actions(self, cell_env: CellEnvironment, random: SplitMix64, limit: int) -> Iterator[int]:
        """Yield up to `limit` actions, one per training frame.

        An action is asked for only after the one before it was played, so a generator may look at
        `cell_env.env.observation()` before it decides; before the first action that one is stale.
        """
        ...


class RandomRepeat:
    """Random actions: the first uniform, then each one repeats the last with a fixed probability.

    Draws: one for the first action; then, for each training frame, one for whether to repeat, and one more
    for the action if not.
    """

    def __init__(self, repeat_probability: float = 0.95) -> None:
        """The default is the paper's."""
        require_between("repeat_probability", repeat_probability, 0, 1)
        self._repeat_probability = repeat_probability

    def actions(self, cell_env: CellEnvironment, random: SplitMix64, limit: int) -> Iterator[int]:
        """Yield the actions: they do not depend on what happens."""
        count, repeat = cell_env.action_count, int(self._repeat_probability * 2**32)
        action = (random.word() >> 32) * count >> 32
        yield action
        for _ in range(limit - 1):
            if random.word() >> 32 >= repeat:
                action = (random.word() >> 32) * count >> 32
            yield action
