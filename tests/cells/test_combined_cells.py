"""Combined cells: states share a cell where they share it in each part."""

import pytest

from goexplore.cells import CellRepresentation, CombinedCells, FunctionCells
from goexplore.envs import Location


class Tracked(CellRepresentation):
    """The observation's first number, with how often there was one; everything optional is there."""

    def __init__(self):
        self.count = 0

    def reset(self, observation):
        self.count = 0
        return self.update(observation)

    def update(self, observation):
        self.count += 1
        return None if observation[0] < 0 else bytes([observation[0], self.count])

    def state(self):
        return bytes([self.count])

    def restore(self, state):
        (self.count,) = state

    def location(self):
        return Location(1, self.count)

    def horizontal_neighbours(self, key):
        return [bytes([key[0] + 1, key[1]])]

    def spot(self, key):
        return key[:1]

    def rank(self, key):
        return key[1]


def combined():
    return CombinedCells([FunctionCells(lambda seen: seen[1]), Tracked()])


def test_a_cell_is_new_where_one_of_its_parts_is():
    first, second = FunctionCells(lambda seen: seen[0]), FunctionCells(lambda seen: seen[1])
    cells = CombinedCells([first, second])
    assert cells.update(("a", "b")) == cells.update(("a", "b"))
    values = [
        ("a", "b"),
        ("b", "a"),
        ("a", ""),
        ("", "a"),
        ("ab", ""),
        ("", "ab"),
        ("a\0", "b"),
        ("a", "\0b"),
    ]
    assert len({cells.update(value) for value in values}) == len(values)


def test_an_episode_is_lost_where_it_is_lost_in_one_part_and_all_parts_see_it():
    cells, part = CombinedCells([FunctionCells(lambda seen: seen[1]), tracked := Tracked()]), "b"
    cells.reset((1, part))
    assert cells.update((-1, part)) is None
    assert tracked.count == 2
    assert CombinedCells([Tracked(), FunctionCells(lambda seen: None)]).update((1, part)) is None


def test_what_the_parts_track_is_saved_and_restored():
    cells = combined()
    cells.reset((1, "a"))
    state = cells.state()
    ahead = cells.update((2, "b"))
    fresh = combined()
    fresh.restore(state)
    assert fresh.state() == state
    assert fresh.update((2, "b")) == ahead
    assert CombinedCells([FunctionCells(len), FunctionCells(max)]).state() == b""


def test_the_part_that_knows_gives_location_neighbours_and_rank():
    cells = combined()
    key = cells.reset((5, "a"))
    assert cells.location() == Location(1, 1)
    (near,) = cells.horizontal_neighbours(key)
    assert near == CombinedCells([FunctionCells(lambda seen: seen[1]), Tracked()]).reset((6, "a"))
    assert cells.vertical_neighbours is None
    assert cells.rank(key) == 1
    later = cells.update((5, "a"))
    assert cells.spot(later) == cells.spot(key)
    assert cells.spot(cells.update((5, "b"))) != cells.spot(key)


def test_tables_have_the_columns_of_all_parts():
    cells = CombinedCells([FunctionCells(lambda seen: seen[0]), FunctionCells(lambda seen: seen[1])])
    keys = [cells.update((1, 2)), cells.update((3, 4))]
    columns = {name: values.tolist() for name, values in cells.columns(keys).items()}
    assert columns == {"cell_text": ["1", "3"], "cell_text_2": ["2", "4"]}


@pytest.mark.parametrize("parts", [1, 3])
def test_any_number_of_parts_is_fine(parts):
    cells = CombinedCells([Tracked() for _ in range(parts)])
    cells.restore(state := (cells.reset((1, 0)), cells.state())[1])
    assert cells.state() == state
