"""Find every way to a bug. The room has a gap at a corner, and a lamp that crashes the game."""

import os

import goexplore

ROOM = ("          ", " ######## ", " #......# ", " #.##...# ", " #L.#..#  ", " ######   ", "          ")
MOVES = tuple((right, down) for right in (-1, 0, 1) for down in (-1, 0, 1))  # (0, 0) uses what is here


class Room(goexplore.Environment):
    action_count = len(MOVES)

    def reset(self) -> None:
        self.x, self.y = 2, 2

    def step(self, action: int) -> goexplore.Step:
        right, down = MOVES[action]
        if ROOM[self.y][self.x] == "L" and right == down == 0:
            os.abort()  # the second bug: the whole process dies
        x, y = min(max(self.x + right, 0), 9), min(max(self.y + down, 0), 6)
        if ROOM[y][x] != "#":  # the first bug: a diagonal move passes between two walls
            self.x, self.y = x, y
        return goexplore.Step(reward=0.0)

    def observation(self) -> tuple[int, int]:
        return self.x, self.y

    def snapshot(self) -> bytes:
        return bytes([self.x, self.y])

    def restore(self, snapshot: bytes) -> None:
        self.x, self.y = snapshot


EVENTS = {"out-of-bounds": lambda observation: ROOM[observation[1]][observation[0]] == " "}

if __name__ == "__main__":
    for name, ways in goexplore.explore(Room, events=EVENTS, game_frames=40_000).events.items():
        print(f"{name}: {len(ways)} ways, the shortest is {[MOVES[each] for each in ways[0].actions]}")
