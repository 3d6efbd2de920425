"""Go-Explore on an environment of your own: a maze with a key and a door, in about 60 lines.

Run it with: python examples/own_environment.py
To keep the run, use this command in its folder: goexplore explore own_environment:PROBLEM --until-score 1
"""

import struct

import goexplore

MAZE = (
    "###############",
    "#S......#.....#",
    "#.#####.#.###.#",
    "#.#k..#.#...#.#",
    "#.###.#.###.#.#",
    "#.....#.....#.#",
    "#######D#######",
    "#G............#",
    "###############",
)
MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))


class Maze(goexplore.Environment):
    """Right, left, down, up. The key (k) opens the door (D); the goal (G) is worth a point and the end."""

    action_count = len(MOVES)

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Stand at the start without the key."""
        self.x, self.y, self.has_key = 1, 1, False

    def step(self, action: int) -> goexplore.Step:
        """Move one field, unless there is a wall or a closed door."""
        x, y = self.x + MOVES[action][0], self.y + MOVES[action][1]
        field = MAZE[y][x]
        if field == "#" or (field == "D" and not self.has_key):
            return goexplore.Step(reward=0.0)
        self.x, self.y, self.has_key = x, y, self.has_key or field == "k"
        if field == "G":
            return goexplore.Step(reward=1.0, terminated=True)
        return goexplore.Step(reward=0.0)

    def observation(self) -> tuple[int, int, bool]:
        """Return what a cell is made of."""
        return self.x, self.y, self.has_key

    def snapshot(self) -> bytes:
        """Return everything needed to come back."""
        return struct.pack("<BB?", self.x, self.y, self.has_key)

    def restore(self, snapshot: bytes) -> None:
        """Come back."""
        self.x, self.y, self.has_key = struct.unpack("<BB?", snapshot)


def cell(observation: tuple[int, int, bool]) -> tuple[int, int, bool]:
    """Return the cell of an observation; here every field with and without the key is one."""
    return observation


# The same for the command line, with explorations that fit a small maze: short ones, in small batches.
PROBLEM = goexplore.Problem(
    env=Maze,
    cells=cell,
    exploration=goexplore.ExplorationConfig(batch_size=10, training_frames=20, repeat_probability=0.8),
)

if __name__ == "__main__":
    run = goexplore.explore(Maze, cell=cell, until_score=1)
    print(f"solved after {run.status.game_frames:,} game frames with {run.status.cells} cells")
    print(run.best)
    print("actions:", "".join("→←↓↑"[action] for action in run.best.actions))
    print("replayed:", run.best.verify())
