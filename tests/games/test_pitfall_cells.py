"""PitfallCells: hand-made screens for each rule, the real game and its RAM for the truth."""

from collections import Counter

import numpy as np
import pytest
from ale_py import ALEInterface, LoggerMode, roms

from goexplore.envs import Location
from goexplore.errors import ConfigError, SnapshotError
from goexplore.games.pitfall import PitfallCells

NOOP, RIGHT, LEFT, ACTIONS = 0, 3, 4, 18
SCENE, X, Y = 1, 97, 105  # where the game keeps them in RAM
SURFACE, CAVE = 32, 86  # values of Y


def scenes():
    """The scene bytes of the 255 rooms from left to right, as the game's shift register makes them."""
    ring = [196]
    while len(ring) < 255:
        last = ring[-1]
        ring.append((last << 1 | (last >> 3 ^ last >> 4 ^ last >> 5 ^ last >> 7) & 1) & 255)
    return ring


RING = scenes()


def screen(x=160, y=55):
    """A screen with the character's face, a block of 1 x 2 pixels, centred on (x, y)."""
    picture = np.full((210, 160), 214, np.uint8)
    if x is not None:
        picture[50 + y : 52 + y, x // 2] = 74
    return picture


def tracked(**first):
    cells = PitfallCells()
    cells.reset(screen(**first))
    return cells


def put(cells, room):
    """Tell the tracker where it is, which only tests may do."""
    cells.restore(bytes([room]) + cells.state()[1:])


# --- one rule at a time -------------------------------------------------------------------------------


def test_key_is_room_and_position_in_cells():
    assert PitfallCells().reset(screen(x=160, y=55)) == bytes([0, 10, 3])
    assert PitfallCells(cell_width=8, cell_height=4).reset(screen(x=160, y=55)) == bytes([0, 20, 13])


def test_cell_size_that_overflows_a_key_is_refused():
    with pytest.raises(ConfigError, match="cell_width >= 2"):
        PitfallCells(cell_width=1)


@pytest.mark.parametrize(
    ("room", "start", "end", "y", "expected"),
    [
        (7, 302, 24, 55, 8),
        (7, 24, 302, 55, 6),
        (7, 302, 24, 110, 10),
        (7, 24, 302, 110, 4),
        (254, 302, 24, 55, 0),
        (0, 24, 302, 55, 254),
        (253, 302, 24, 110, 1),
        (1, 24, 302, 110, 253),
    ],
)
def test_rooms_lie_on_a_ring_and_caves_skip_three(room, start, end, y, expected):
    cells = tracked(x=start, y=y)
    put(cells, room)
    cells.update(screen(x=end, y=y))
    assert cells.location() == Location(0, expected)


def test_a_lost_life_far_right_is_no_room_change():
    cells = tracked(x=302)
    assert cells.update(screen(x=46, y=22)) == bytes([0, 2, 1])


def test_threshold():
    cells = tracked(x=300)
    cells.update(screen(x=30))
    assert cells.location().room == 0
    cells.update(screen(x=302))
    assert cells.location().room == 254


def test_hidden_character_keeps_the_cell_and_is_no_death():
    cells = tracked(x=160)
    assert cells.update(screen(x=None)) == bytes([0, 10, 3])
    assert cells.update(screen(x=170)) == bytes([0, 10, 3])


def test_first_position_is_no_jump():
    cells = tracked(x=None)
    assert cells.update(screen(x=310)) == bytes([0, 19, 3])


def test_state_round_trip_gives_the_same_keys():
    rng = np.random.default_rng(0)
    cells = tracked()
    pictures = [screen(int(rng.choice([22, 160, 303])), int(rng.choice([55, 110]))) for _ in range(60)]
    for picture in pictures[:20]:
        cells.update(picture)
    saved = cells.state()
    expected = [cells.update(picture) for picture in pictures[20:]]
    assert len({key[0] for key in expected}) > 3
    fresh = PitfallCells()
    for one in (cells, fresh):
        one.restore(saved)
        assert one.state() == saved
        assert [one.update(picture) for picture in pictures[20:]] == expected


def test_reset_forgets():
    cells = tracked()
    put(cells, 9)
    assert cells.reset(screen()) == bytes([0, 10, 3])


@pytest.mark.parametrize("state", [b"", b"\0" * 3, b"\0" * 5, b"\xff\0\0\0"])
def test_bad_state_is_refused(state):
    with pytest.raises(SnapshotError, match=r"expected .* got .*: restore only"):
        PitfallCells().restore(state)


def test_columns():
    table = PitfallCells().columns([bytes([254, 19, 9]), bytes([0, 1, 2])])
    assert {name: column.tolist() for name, column in table.items()} == {
        "room": [254, 0],
        "x": [19, 1],
        "y": [9, 2],
    }
    assert {len(column) for column in PitfallCells().columns([]).values()} == {0}


def test_neighbours_are_symmetric_and_end_at_the_edge():
    assert PitfallCells.horizontal_neighbours(bytes([3, 0, 255])) == (bytes([3, 1, 255]),)
    assert PitfallCells.vertical_neighbours(bytes([3, 0, 255])) == (bytes([3, 0, 254]),)
    key = bytes([3, 9, 4])
    for relation in (PitfallCells.horizontal_neighbours, PitfallCells.vertical_neighbours):
        assert len(relation(key)) == 2
        assert all(key in relation(near) for near in relation(key))


# --- the real game ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ale():
    ALEInterface.setLoggerMode(LoggerMode.Error)
    game = ALEInterface()
    game.setInt("frame_skip", 4)
    game.setFloat("repeat_action_probability", 0.0)
    game.setInt("random_seed", 0)
    game.setBool("color_averaging", False)
    game.loadROM(roms.get_rom_path("pitfall"))
    return game


def real_room(ale):
    return RING.index(int(ale.getRAM()[SCENE]))


def test_scenes_form_a_ring():
    assert sorted(RING) == list(range(1, 256))


def test_only_palette_index_74_has_red_228(ale):
    ale.reset_game()
    for _ in range(20):
        ale.act(RIGHT)
        assert np.array_equal(ale.getScreenRGB()[..., 0] == 228, ale.getScreen() == 74)


@pytest.mark.parametrize("y", [SURFACE, CAVE])
@pytest.mark.parametrize("direction", [LEFT, RIGHT])
def test_every_way_out_of_every_room_agrees_with_ram(ale, y, direction):
    """Poke the character to the edge of each of the 255 rooms and let it walk out: no frame is left out."""
    ale.reset_game()
    for _ in range(30):
        ale.act(NOOP)
    start = ale.cloneState()
    cells = PitfallCells()
    left = 0
    for room, scene in enumerate(RING):
        ale.restoreState(start)
        ale.setRAM(SCENE, scene)
        ale.setRAM(X, 9 if direction == LEFT else 146)
        ale.setRAM(Y, y)
        ale.act(NOOP)
        cells.reset(ale.getScreen())
        put(cells, room)
        for _ in range(4):
            ale.act(direction)
            cells.update(ale.getScreen())
            assert cells.location().room == real_room(ale)
        left += cells.location().room != room
    assert left == 255


def search(ale, frames):
    """Explore from the start as Phase 1 does, from rare cells of rare rooms, comparing every frame."""
    rng = np.random.default_rng(0)
    cells = PitfallCells()
    ale.reset_game()
    key = cells.reset(ale.getScreen())
    archive = {key: (ale.cloneState(), cells.state())}
    rooms, seen, chosen, counts = {key[0]: [key]}, Counter(), Counter(), Counter()
    while counts.total() < frames:
        room = draw(rng, list(rooms), chosen)
        chosen[room] += 1
        key = draw(rng, rooms[room], seen)
        ale.restoreState(archive[key][0])
        cells.restore(archive[key][1])
        action = int(rng.integers(ACTIONS))
        visited = {key}
        for _ in range(100):
            if rng.random() > 0.95:
                action = int(rng.integers(ACTIONS))
            ale.act(action)
            if ale.game_over():
                break
            key = cells.update(ale.getScreen())
            counts["agree" if key[0] == real_room(ale) else "differ"] += 1
            visited.add(key)
            if key not in archive:
                archive[key] = (ale.cloneState(), cells.state())
                rooms.setdefault(key[0], []).append(key)
        seen.update(visited)
    agreement = counts["agree"] / counts.total()
    print(f"\nrooms agree in {agreement:.4%} of {counts.total()} frames, {len(rooms)} rooms")
    assert counts["differ"] == 0
    return rooms


def draw(rng, names, counts):
    weights = np.array([1 / (counts[name] + 1) ** 0.5 for name in names])
    return names[rng.choice(len(names), p=weights / weights.sum())]


def test_rooms_agree_with_ram_in_a_short_search(ale):
    assert len(search(ale, 8_000)) >= 2


@pytest.mark.slow
def test_rooms_agree_with_ram_in_a_search(ale):
    assert len(search(ale, 300_000)) >= 10
