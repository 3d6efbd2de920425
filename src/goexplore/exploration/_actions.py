"""How to explore from a cell once it is reached (paper section 2.1.4)."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from goexplore.exploration._world import World
from goexplore.random import SplitMix64


class ActionSource(Protocol):
    """Decides what to do while exploring."""

    def actions(self, world: World, random: SplitMix64, limit: int) -> Iterator[int]:
        """Yield up to `limit` actions, one per training frame.

        An action is asked for only after the one before it was played, so a generator may look at
        `world.env.observation()` before it decides; before the first action that one is stale.
        """
        ...


class RandomRepeat:
    """Random actions: the first uniform, then each one repeats the last with a fixed probability.

    Draws: `limit` whole numbers below the number of actions, then `limit - 1` repeat events.
    """

    def __init__(self, repeat_probability: float = 0.95) -> None:
        """The default is the paper's."""
        self._repeat_probability = repeat_probability

    def actions(self, world: World, random: SplitMix64, limit: int) -> Iterator[int]:
        """Return the actions: they do not depend on the world, so they are drawn at once."""
        drawn = random.below(world.action_count, limit)
        fresh = np.ones(limit, np.bool_)
        fresh[1:] = ~random.events(self._repeat_probability, limit - 1)
        # Each action is the latest one that was freshly drawn.
        latest = np.maximum.accumulate(np.where(fresh, np.arange(limit), 0))
        return iter(drawn[latest].tolist())
