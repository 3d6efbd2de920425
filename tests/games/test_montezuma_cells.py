"""MontezumaCells: hand-made screens for each rule, the real game and its RAM for the truth."""

import struct
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from ale_py import ALEInterface, LoggerMode, roms

from goexplore.envs import Location
from goexplore.errors import ConfigError, SnapshotError
from goexplore.games.montezuma_revenge import MontezumaCells
from goexplore.games.montezuma_revenge._cells import ROOM_BESIDE

NOOP, UP, RIGHT, LEFT, ACTIONS = 0, 2, 3, 4, 18
ROOM, X, Y, LEVEL, ITEMS, ROW = 3, 42, 43, 57, 65, 80  # where the game keeps them in RAM
KEY_BITS = 0b11110

# What each item looks like in a field of the inventory matters only by its number of pixels.
KEY, SWORD, TORCH, HAMMER = 40, 37, 42, 50


def screen(x=160, y=30, items=()):
    """A room with some wall and the character's face, a block of 5 x 2 pixels, centred on (x, y)."""
    picture = np.zeros((210, 160), np.uint8)
    picture[200:, :] = 146
    if x is not None:
        picture[50 + y : 52 + y, x // 2 - 2 : x // 2 + 3] = 74
    for field, pixels in enumerate(items):
        block = np.zeros((20, 8), np.uint8)
        block.ravel()[:pixels] = 252
        picture[25:45, 56 + 8 * field : 64 + 8 * field] = block
    return picture


def tracked(**first):
    cells = MontezumaCells()
    cells.reset(screen(**first))
    return cells


def put(cells, room, level=0):
    """Tell the tracker where it is, which only tests may do."""
    cells.restore(struct.pack(">HB", level, room) + cells.state()[3:])


# --- one rule at a time -------------------------------------------------------------------------------


def test_key_is_level_room_and_position_in_cells():
    assert MontezumaCells().reset(screen(x=160, y=30)) == bytes([0, 0, 1, 10, 1])
    assert MontezumaCells(cell_width=8, cell_height=4).reset(screen(x=160, y=30)) == bytes([0, 0, 1, 20, 7])


def test_position_is_the_mean_rounded_down():
    picture = screen(x=None)
    picture[50 + 31, 15] = picture[50 + 31, 16] = picture[50 + 32, 16] = 74  # means: x 31.33, y 31.33
    assert MontezumaCells().reset(picture)[3:] == bytes([1, 1])
    picture[50 + 33, 17] = 74  # means: x 32, y 31.75
    assert MontezumaCells().reset(picture)[3:] == bytes([2, 1])


@pytest.mark.parametrize("size", [(1, 16), (16, 0), (-16, 16)])
def test_cell_size_that_overflows_a_key_is_refused(size):
    with pytest.raises(ConfigError, match="cell_width >= 2"):
        MontezumaCells(cell_width=size[0], cell_height=size[1])


def test_room_changes_where_the_character_jumps_to_the_other_side():
    for start, end, room in [
        ((310, 30), (10, 30), 6),
        ((10, 30), (310, 30), 4),
        ((160, 130), (160, 10), 11),
        ((160, 10), (160, 130), 1),
    ]:
        cells = tracked(x=start[0], y=start[1])
        put(cells, 5)
        cells.update(screen(x=end[0], y=end[1]))
        assert cells.location() == Location(0, room)


def test_the_larger_jump_decides():
    cells = tracked(x=310, y=100)
    cells.update(screen(x=10, y=40))
    assert cells.location().room == 2


def test_moves_below_the_threshold_stay_in_the_room():
    cells = tracked(x=160, y=30)
    cells.update(screen(x=208, y=79))
    assert cells.location() == Location(0, 1)
    assert cells.anomalies == 0
    cells.update(screen(x=208, y=129))  # 50 down is a jump, but nothing lies above room 1
    assert cells.anomalies == 1


def test_impossible_jump_keeps_the_room_and_is_counted():
    cells = tracked(x=10)
    put(cells, 0)
    assert cells.update(screen(x=310)) == bytes([0, 0, 0, 19, 1])
    assert cells.anomalies == 1


def test_map_is_a_pyramid_and_the_way_back_leads_back():
    assert ROOM_BESIDE[1, 0, 1] == 5
    assert ROOM_BESIDE[0, 0, 1] == 4
    assert ROOM_BESIDE[14, 0, 1] == 22
    assert len({room for room, _, _ in ROOM_BESIDE}) == 24
    for (room, right, down), beside in ROOM_BESIDE.items():
        assert ROOM_BESIDE[beside, -right, -down] == room


@pytest.mark.parametrize("level", [0, 255, 1440])
def test_leaving_the_treasure_room_is_the_next_level(level):
    cells = tracked(x=300, y=129)
    put(cells, 15, level)
    key = cells.update(screen(x=158, y=40))
    assert cells.location() == Location(level + 1, 1)
    assert key[:3] == struct.pack(">HB", level + 1, 1)


@pytest.mark.parametrize("colours", [(0,), (0, 144)])
def test_transition_screen_is_no_death_and_keeps_the_cell(colours):
    cells = tracked()
    black = np.zeros((210, 160), np.uint8)
    black[100:] = colours[-1]
    assert cells.update(black) == bytes([0, 0, 1, 10, 1])


def test_no_character_in_a_room_is_a_death():
    assert tracked().update(screen(x=None)) is None


def test_scattered_character_is_a_death():
    picture = screen(x=None)
    for row, column in [(80, 80), (81, 81), (82, 80), (80, 82)]:
        picture[row, column] = 74
    assert tracked().update(picture) is None
    picture[81, 80] = 74
    assert tracked().update(picture) is not None


def test_only_keys_are_counted_and_named_by_room():
    cells = tracked(items=(TORCH,))
    assert cells.update(screen(items=(TORCH, SWORD, HAMMER)))[5:] == b""
    assert cells.update(screen(items=(TORCH, SWORD, HAMMER, KEY)))[5:] == bytes([1])
    put(cells, 14)
    assert cells.update(screen(items=(TORCH, SWORD, KEY, KEY)))[5:] == bytes([1, 14])
    put(cells, 7)
    assert cells.update(screen(items=(TORCH, KEY, KEY, KEY)))[5:] == bytes([1, 7, 14])


def test_door_takes_the_key_of_the_first_slot_and_a_new_key_fills_it():
    cells = tracked()
    for room, items, held in [
        (14, (KEY,), [14]),
        (7, (KEY, KEY), [7, 14]),
        (7, (KEY,), [7]),
        (1, (KEY, KEY), [1, 7]),
        (1, (KEY,), [7]),
        (1, (), []),
    ]:
        put(cells, room)
        assert list(cells.update(screen(items=items))[5:]) == held


def test_state_round_trip_gives_the_same_keys():
    rng = np.random.default_rng(0)
    cells = MontezumaCells()
    cells.reset(screen())
    put(cells, 11, 300)
    pictures = [
        screen(int(rng.integers(8, 300)), int(rng.integers(0, 150)), items=(KEY,) * int(rng.integers(5)))
        for _ in range(60)
    ]
    for picture in pictures[:20]:
        cells.update(picture)
    saved = cells.state()
    expected = [cells.update(picture) for picture in pictures[20:]]
    cells.restore(saved)
    assert [cells.update(picture) for picture in pictures[20:]] == expected
    fresh = MontezumaCells()
    fresh.restore(saved)
    assert fresh.state() == saved
    assert [fresh.update(picture) for picture in pictures[20:]] == expected
    assert len(saved) == len(fresh.state())


def test_reset_forgets():
    cells = tracked()
    put(cells, 9, 3)
    assert cells.reset(screen()) == bytes([0, 0, 1, 10, 1])


def test_first_position_is_no_jump():
    cells = tracked(x=None)
    assert cells.update(screen(x=310)) == bytes([0, 0, 1, 19, 1])
    assert cells.anomalies == 0


@pytest.mark.parametrize("state", [b"", b"\0" * 9, b"\0" * 11, b"\0\0\x18" + b"\0" * 7])
def test_bad_state_is_refused(state):
    with pytest.raises(SnapshotError, match=r"expected .* got .*: restore only"):
        MontezumaCells().restore(state)


def test_columns():
    cells = MontezumaCells()
    keys = [bytes([1, 2, 15, 19, 9]), bytes([0, 0, 1, 0, 0, 0, 7]), bytes([0, 0, 0, 3, 4, 14])]
    table = cells.columns(keys)
    assert table["level"].tolist() == [258, 0, 0]
    assert table["room"].tolist() == [15, 1, 0]
    assert table["x"].tolist() == [19, 0, 3]
    assert table["y"].tolist() == [9, 0, 4]
    assert table["keys"].tolist() == ["", "0,7", "14"]
    assert {len(column) for column in cells.columns([]).values()} == {0}
    assert all(column.dtype != object for column in table.values())


def test_neighbours_are_symmetric_and_end_at_the_edge():
    key = bytes([0, 3, 5, 0, 255, 1, 7])
    assert MontezumaCells.horizontal_neighbours(key) == (bytes([0, 3, 5, 1, 255, 1, 7]),)
    assert MontezumaCells.vertical_neighbours(key) == (bytes([0, 3, 5, 0, 254, 1, 7]),)
    key = bytes([0, 3, 5, 9, 4, 1, 7])
    for relation in (MontezumaCells.horizontal_neighbours, MontezumaCells.vertical_neighbours):
        assert len(relation(key)) == 2
        assert all(key in relation(near) for near in relation(key))
    assert MontezumaCells.spot(key) == bytes([0, 3, 5, 9, 4])
    assert MontezumaCells.rank(key) == 2


# --- the real game ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ale():
    ALEInterface.setLoggerMode(LoggerMode.Error)
    game = ALEInterface()
    game.setInt("frame_skip", 4)
    game.setFloat("repeat_action_probability", 0.0)
    game.setInt("random_seed", 0)
    game.setBool("color_averaging", False)
    game.loadROM(roms.get_rom_path("montezuma_revenge"))
    return game


class Referee:
    """Holds the tracker against RAM at every training frame.

    Left out, and counted, are disagreements in the very frame in which one of the two has changed: RAM has
    the new room up to one frame before the screen shows it; and a character that jumps out of a room and
    turns back is drawn on the other side for one frame while RAM keeps its room.
    """

    def __init__(self, ale, cells):
        self.ale, self.cells = ale, cells
        self.counts = Counter()
        self.locations = set()
        self.ways = set()

    def begin(self):
        self.lives, self.last = self.ale.lives(), self._truth()

    def save(self):
        return self.ale.cloneState(), self.cells.state(), self.lives, self.last

    def restore(self, saved):
        state, tracked, self.lives, self.last = saved
        self.ale.restoreState(state)
        self.cells.restore(tracked)

    def _truth(self):
        ram = self.ale.getRAM()
        return (int(ram[LEVEL]), int(ram[ROOM])), int(ram[ITEMS]) & KEY_BITS

    def step(self, action):
        """Play one training frame; return the cell, or None if the life was lost."""
        before = self.cells.location()
        self.ale.act(action)
        key = self.cells.update(self.ale.getScreen())
        if self.ale.lives() < self.lives:
            self.counts["deaths"] += 1
            return None
        assert key is not None, "a live state was called dead"
        self.counts["alive"] += 1
        self.lives = self.ale.lives()  # a new level gives one more
        location, items = truth = self._truth()
        level, room = now = self.cells.location()
        self.locations.add(now)
        self.ways.add((self.last[0], location))
        if (min(level, 2), room) == location:  # RAM counts levels only up to 2
            self.counts["room agrees"] += 1
        else:
            changed = location != self.last[0] or now != before
            self.counts["room changes" if changed else "room differs"] += 1
        if self.cells.rank(key) == items.bit_count():
            self.counts["keys agree"] += 1
        else:
            self.counts["keys change" if items != self.last[1] else "keys differ"] += 1
        self.last = truth
        return key

    def verdict(self):
        frames = self.counts["room agrees"] + self.counts["room differs"]
        agreement = self.counts["room agrees"] / frames
        print(
            f"\nrooms agree in {agreement:.4%} of {frames} frames ({self.counts['room changes']} left out), "
            f"{len(self.locations)} locations, {self.cells.anomalies} anomalies: {dict(self.counts)}"
        )
        assert agreement == 1
        assert self.counts["keys differ"] == 0
        assert self.cells.anomalies == 0


def wander(referee, rng, first, frames):
    """Yield the cells of a random walk that keeps its action with probability 0.95, until a life is lost."""
    action = first
    for _ in range(frames):
        if rng.random() > 0.95:
            action = int(rng.integers(ACTIONS))
        key = referee.step(action)
        if key is None:
            return
        yield key


def search(ale, frames):
    """Explore from the start as Phase 1 does, from rare cells of rare rooms, until `frames` are played."""
    rng = np.random.default_rng(0)
    referee = Referee(ale, MontezumaCells())
    ale.reset_game()
    key = referee.cells.reset(ale.getScreen())
    referee.begin()
    archive = {key: referee.save()}
    rooms = {room_and_keys(key): [key]}
    seen, chosen = Counter(), Counter()
    while referee.counts["alive"] < frames:
        room = draw(rng, list(rooms), chosen)
        chosen[room] += 1
        key = draw(rng, rooms[room], seen)
        referee.restore(archive[key])
        visited = {key}
        for key in wander(referee, rng, int(rng.integers(ACTIONS)), 100):
            visited.add(key)
            if key not in archive:
                archive[key] = referee.save()
                rooms.setdefault(room_and_keys(key), []).append(key)
        seen.update(visited)
    return referee


def room_and_keys(key):
    return key[:3] + key[5:]


def draw(rng, names, counts):
    weights = np.array([1 / (counts[name] + 1) ** 0.5 for name in names])
    return names[rng.choice(len(names), p=weights / weights.sum())]


def test_only_palette_index_74_has_red_228(ale):
    ale.reset_game()
    for _ in range(8):
        ale.act(RIGHT)
        assert np.array_equal(ale.getScreenRGB()[..., 0] == 228, ale.getScreen() == 74)
        assert (ale.getScreen() == 74).any()


@pytest.mark.slow
def test_rooms_agree_with_ram_in_a_search(ale):
    referee = search(ale, 400_000)
    referee.verdict()
    assert len(referee.locations) >= 10


# The doorways of the top floor, from the map: all rooms can be entered from one side or the other.
FROM_THE_RIGHT = [0, 1, 3, 4, 5, 6, 8, 10, 11, 12, 13, 15, 16, 17, 18, 19, 21, 22]
FROM_THE_LEFT = [1, 2, 4, 5, 6, 7, 9, 11, 12, 13, 14, 17, 18, 19, 20, 22, 23]
# What real games have in three bytes that belong to a row of the pyramid.
ROW_BYTES = {0: (182, 146), 1: (98, 236), 2: (148, 200), 3: (0, 0)}


def enter(ale, start, room, direction, level):
    """Walk into a room: leave room 1 through a side door, with RAM made to say it is the room next door."""
    ale.restoreState(start)
    ale.setRAM(X, 3 if direction == LEFT else 150)
    row = sum(room >= first for first in (3, 8, 15))
    ale.setRAM(ROOM, room + 1 if direction == LEFT else room - 1)
    ale.setRAM(LEVEL, level)
    for offset, value in enumerate((row, *ROW_BYTES[row])):
        ale.setRAM(ROW + offset, value)
    ale.act(direction)
    assert ale.getRAM()[ROOM] == room


@pytest.fixture(scope="module")
def start(ale):
    ale.reset_game()
    for _ in range(3):
        ale.act(NOOP)
    return ale.cloneState()


def visit_all_rooms(ale, start, walks, frames):
    rng = np.random.default_rng(0)
    referee = Referee(ale, MontezumaCells())
    doorways = [(room, LEFT) for room in FROM_THE_RIGHT] + [(room, RIGHT) for room in FROM_THE_LEFT]
    for room, direction in doorways:
        for walk in range(walks):
            level = walk % 3
            enter(ale, start, room, direction, level)
            referee.cells.reset(ale.getScreen())
            put(referee.cells, room, level)
            referee.begin()
            first = direction if walk == 0 else int(rng.integers(ACTIONS))
            for _ in wander(referee, rng, first, frames):
                pass
    return referee


def test_rooms_agree_with_ram_in_every_room(ale, start):
    referee = visit_all_rooms(ale, start, walks=6, frames=80)
    referee.verdict()
    assert len({room for _, room in referee.locations}) == 24


@pytest.mark.slow
def test_rooms_agree_with_ram_in_every_room_at_length(ale, start):
    referee = visit_all_rooms(ale, start, walks=60, frames=150)
    referee.verdict()
    ways = {(before[1], after[1]) for before, after in referee.ways}
    steps = {(right, down) for (room, right, down), near in ROOM_BESIDE.items() if (room, near) in ways}
    assert len(steps) == 4


def test_level_agrees_with_ram_through_the_treasure_room(ale, start):
    referee = Referee(ale, MontezumaCells())
    enter(ale, start, 15, LEFT, 0)
    referee.cells.reset(ale.getScreen())
    put(referee.cells, 15)
    levels = [0]
    referee.begin()
    for _ in range(5):
        while referee.cells.location().room == 15:
            referee.step(UP)
        levels.append(referee.cells.location().level)
        referee.step(NOOP)
        # Back into the treasure room, a level later: RAM stops counting at 2, the tracker does not.
        level = int(ale.getRAM()[LEVEL])
        assert level == min(levels[-1], 2)
        enter(ale, start, 15, LEFT, level)
        referee.cells.reset(ale.getScreen())
        put(referee.cells, 15, levels[-1])
        referee.begin()
    assert all(after == before + 1 for before, after in pairwise(levels))
    referee.verdict()


@pytest.mark.parametrize("cause", ["fall", "laser"])
def test_death_animation_is_called_dead(ale, start, cause):
    ale.restoreState(start)
    if cause == "laser":  # it stands behind the door to room 0
        ale.setRAM(X, 3)
    lives = ale.lives()
    cells = MontezumaCells()
    while ale.lives() == lives:
        ale.act(LEFT)
        cells.update(ale.getScreen())
    for _ in range(12):
        ale.act(NOOP)
        assert cells.update(ale.getScreen()) is None


def test_items_in_the_real_inventory(ale, start):
    for items in range(64):
        ale.restoreState(start)
        bits = items << 1 & KEY_BITS | (items >> 4 & 1) << 5 | (items >> 5) << 7  # keys, a sword, a torch
        ale.setRAM(ITEMS, bits)
        ale.act(NOOP)
        cells = MontezumaCells()
        key = cells.reset(ale.getScreen())
        assert cells.rank(key) == (bits & KEY_BITS).bit_count()
        assert set(key[5:]) <= {1}
