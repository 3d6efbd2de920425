"""TextWorld: find a coin that lies sixty rooms away, with at most 200 commands.

Run it with: pip install goexplore textworld && python examples/textworld_coin.py
The game is generated first. Jericho plays it, and can save and restore its state. Random play with the same
commands found the coin in none of 150 episodes (30,000 steps).
"""

import string
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import gymnasium
import jericho
import numpy as np
import textworld
from textworld.challenges.tw_coin_collector import coin_collector

import goexplore

GAME = Path(gettempdir()) / "coin.z8"
COMMANDS = ("go north", "go south", "go east", "go west", "take coin")


class TextGame(gymnasium.Env[str, np.int64]):
    """A story as a Gymnasium environment: an action is a command, the observation is the answer."""

    def __init__(self) -> None:
        self.story = jericho.FrotzEnv(str(GAME))
        self.opening = self.story.reset()[0]
        self.beginning = self.story.get_state()
        self.action_space = gymnasium.spaces.Discrete(len(COMMANDS))
        self.observation_space = gymnasium.spaces.Text(10_000, charset=string.printable)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
        """Begin the story. A reset of Jericho's would leave remains of the last game in the state."""
        self.story.set_state(self.beginning)
        return self.opening, {}

    def step(self, action: np.int64) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Enter a command. Jericho does not know the score of a TextWorld game, but the answer tells it."""
        answer = self.story.step(COMMANDS[int(action)])[0]
        return answer, float("Your score has just gone up" in answer), "The End" in answer, False, {}


def make() -> gymnasium.Env[str, np.int64]:
    """Make the environment with its limit of time."""
    return gymnasium.wrappers.TimeLimit(TextGame(), 200)


def room(answer: str) -> str:
    """Return the name of the room, which ends every answer."""
    return answer.rpartition("-= ")[2].partition(" =-")[0]


def generate() -> None:
    """Write the game's file: the same one each time."""
    options = textworld.GameOptions()
    options.seeds, options.path, options.force_recompile = 3, str(GAME), True
    textworld.generator.compile_game(coin_collector.make({"level": 60}, options), options)


if __name__ == "__main__":
    generate()
    exploration = goexplore.ExplorationConfig(batch_size=10, training_frames=20, repeat_probability=0.5)
    run = goexplore.explore(
        goexplore.Gymnasium(factory=make), cell=room, exploration=exploration, until_score=1
    )
    print(run.best)
    print(", ".join(COMMANDS[action] for action in run.best.actions))
    print("replayed:", run.best.verify())
