"""Go-Explore on an environment of your own: a maze with a key and a door, in about 60 lines.

Run it with: python examples/own_environment.py
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
    """Right, left, down, up. The door (D) opens with the key (k); the goal (G) is worth one point."""

    action_count = 4

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Stand at the start without the key."""
        self.x, self.y, self.has_key = 1, 1, False

    def step(self, action: int) -> goexplore.Step:
        """Move one field, unless there is a wall or a closed door."""
        x, y = self.x + MOVES[action][0], self.y + MOVES[action][1]
        if MAZE[y][x] == "#" or (MAZE[y][x] == "D" and not self.has_key):
            return goexplore.Step(reward=0.0, ended=False)
        self.x, self.y = x, y
        self.has_key = self.has_key or MAZE[y][x] == "k"
        return goexplore.Step(reward=float(MAZE[y][x] == "G"), ended=False)

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
    """Return the cell of an observation; here every position with and without the key is one."""
    return observation


def make_cell_env() -> goexplore.CellEnvironment:
    return goexplore.CellEnvironment(Maze(), goexplore.FunctionCells(cell))


def make_kernel() -> goexplore.PythonKernel:
    return goexplore.PythonKernel(make_cell_env(), goexplore.RandomRepeat(0.8), training_frames=20)


def main() -> None:
    search = goexplore.Search(
        cell_env=make_cell_env(),
        selection=goexplore.WeightedSelection([goexplore.CountScore("times_seen", weight=1.0)]),
        executor=goexplore.SerialExecutor(make_kernel),  # or ProcessExecutor(make_kernel, workers=8)
        batch_size=10,
        seed=0,
    )
    status = search.run(lambda status: status.best_score >= 1)
    trajectory = search.archive.trajectory(search.archive.best)
    print(f"solved after {status.game_frames} game frames with {status.cells} cells")
    print(f"{len(trajectory)} actions:", "".join("→←↓↑"[action] for action in trajectory))


if __name__ == "__main__":
    main()
