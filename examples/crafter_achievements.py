"""Crafter: how far up the tree of tools does Go-Explore get from one world's start?

Run it with: pip install goexplore crafter && python examples/crafter_achievements.py
Each achievement is worth a point the first time. To make a stone pickaxe, the player needs a wooden
one, and to make a wooden one, the player needs a table.
"""

from collections import defaultdict
from functools import partial
from typing import Any

import crafter
import gymnasium
import numpy as np

import goexplore


class Ordered(dict[Any, None]):
    """A set in the order in which things came."""

    def add(self, thing: Any) -> None:
        """Put a thing in."""
        self[thing] = None

    def remove(self, thing: Any) -> None:
        """Take a thing out."""
        del self[thing]


class World(crafter.engine.World):  # type: ignore[misc]
    """A world that plays the same again.

    Crafter keeps animals in sets and draws from them by position. The order of a set depends on where its
    things lie in memory, which is another place in every process and in every copy.
    """

    def reset(self, seed: int | None = None) -> None:
        """Begin anew."""
        super().reset(seed)
        self._chunks: defaultdict[Any, Ordered] = defaultdict(Ordered)


class Game(crafter.Env):  # type: ignore[misc]
    """Crafter that does not draw at every step: drawing would take nine tenths of the time."""

    def _obs(self) -> Any:
        return self._sem_view()


class Crafter(gymnasium.Env[Any, np.int64]):
    """Crafter with Gymnasium's interface; the observation is a map of what is where."""

    def __init__(self) -> None:
        self.game = Game()
        self.game._world.__class__ = World
        self.action_space = gymnasium.spaces.Discrete(len(self.game.action_names))
        self.observation_space = gymnasium.spaces.Box(0, 255, (64, 64), np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin in the world of a seed."""
        self.game._seed, self.game._episode = seed, 0
        observation, player = self.game.reset(), self.game._player
        return observation, {
            "player_pos": player.pos,
            "inventory": player.inventory,
            "achievements": player.achievements,
        }

    def step(self, action: np.int64) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Do something. The episode ends with death, or after 10,000 steps."""
        observation, reward, done, info = self.game.step(action)
        dead = info["discount"] == 0
        return observation, reward, dead, done and not dead, info


def cell(observation: Any, info: Any) -> tuple[Any, ...]:
    """What has been achieved, what is carried, and the field of 8 x 8 that the player is in."""
    achieved = [count > 0 for count in info["achievements"].values()]
    carried = [min(info["inventory"][thing], 2) for thing in ("wood", "stone", "coal", "iron")]
    return info["player_pos"] // 8, achieved, carried


def achieved(name: str, observation: Any, info: Any) -> bool:
    """Whether an achievement has been unlocked."""
    return bool(info["achievements"][name])


EVENTS = {name: partial(achieved, name) for name in crafter.constants.achievements}

if __name__ == "__main__":
    run = goexplore.explore(Crafter, cell=cell, events=EVENTS, minutes=5)
    for name, ways in run.events.items():
        print(f"{name}: {len(ways)} ways, the shortest takes {len(ways[0])} steps")
    print(run.best, "replayed:", run.best.verify())
