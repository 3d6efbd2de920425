"""One exploration, by scripted actions on a tiny field."""

import itertools

import pytest

from goexplore.archive import UNKNOWN, Entry, Scoreboard, Standing
from goexplore.archive._segments import START
from goexplore.exploration import PythonKernel, RandomRepeat, Task
from goexplore.random import SplitMix64
from tests.worlds import Field, make_world

RIGHT, LEFT, DOWN, UP = range(4)


class Script:
    def __init__(self, *actions):
        self._actions = actions

    def actions(self, world, random, limit):
        return iter(self._actions[:limit])


def run(*actions, board=None, limit=100):
    world = make_world()
    cell = world.reset()
    start = Entry(number=0, cell=cell, standing=Standing(0.0, 0), branch=START, snapshot=world.snapshot())
    if board is None:
        board = Scoreboard()
        board.add(cell, Standing(0.0, 0))
    return PythonKernel(world, Script(*actions), training_frames=limit).run(
        Task(order=1, start=start, random_state=0), board
    )


def cell(x, y):
    return repr((x, y)).encode()


def test_new_cells_are_offered_with_everything_needed_to_return():
    found = run(RIGHT, DOWN)
    assert [(offer.cell, offer.offset, offer.standing) for offer in found.offers] == [
        (cell(1, 0), 1, Standing(0.0, 1)),
        (cell(1, 1), 2, Standing(0.0, 2)),
    ]
    world = make_world()
    world.restore(found.offers[-1].snapshot)
    assert (world.env.x, world.env.y) == (1, 1)


def test_an_exploration_stops_at_its_limit():
    found = run(*[RIGHT] * 50, limit=7)
    assert found.training_frames == 7
    assert len(found.actions) == 7


def test_the_action_that_ends_the_episode_is_dropped_but_its_frame_counts():
    found = run(*[RIGHT] * 3, *[DOWN] * 3, RIGHT, RIGHT)
    assert found.actions == bytes([RIGHT] * 3 + [DOWN] * 2)
    assert found.training_frames == 6
    assert cell(*Field.pit) not in [offer.cell for offer in found.offers]


def test_known_cells_are_seen_once_however_often_they_are_visited():
    board = Scoreboard()
    board.add(cell(0, 0), Standing(0.0, 0))
    board.add(cell(1, 0), Standing(0.0, 1))
    found = run(RIGHT, LEFT, RIGHT, LEFT, board=board)
    assert list(found.seen) == [0, 1]
    assert found.offers == ()


def test_a_known_cell_is_offered_only_if_the_trajectory_is_better():
    board = Scoreboard()
    for known, standing in ((cell(0, 0), (0.0, 0)), (cell(1, 0), (0.0, 5)), (cell(2, 0), (0.0, 2))):
        board.add(known, Standing(*standing))
    found = run(RIGHT, RIGHT, board=board)
    assert [(offer.number, offer.cell) for offer in found.offers] == [(1, cell(1, 0))]


def test_a_better_second_visit_counts_like_any_other():
    found = run(*[RIGHT] * 5, LEFT)  # the treasure at (5, 0) makes coming back to (4, 0) better
    offers = {offer.cell: offer for offer in found.offers}
    assert offers[cell(4, 0)].standing == Standing(10.0, 6)
    assert offers[cell(4, 0)].offset == 6
    assert offers[cell(4, 0)].number == UNKNOWN
    assert len(found.offers) == len(offers)


def test_random_actions_repeat_as_often_as_they_should():
    source = RandomRepeat(0.95)
    world = make_world()
    changes = total = 0
    first = []
    for seed in range(400):
        actions = list(source.actions(world, SplitMix64(seed), 100))
        first.append(actions[0])
        changes += sum(one != other for one, other in itertools.pairwise(actions))
        total += 99
    # One in twenty is drawn anew, and a quarter of those happens to be the same of 4 actions.
    assert changes / total == pytest.approx(0.05 * 0.75, rel=0.1)
    assert {first.count(action) > 70 for action in range(4)} == {True}


def test_random_actions_are_the_documented_function_of_the_draws():
    words = iter([int(word) >> 32 for word in SplitMix64(5).words(19)])
    expected = [next(words) * 4 >> 32]
    while len(expected) < 10:
        repeat = next(words) < 2**31
        expected.append(expected[-1] if repeat else next(words) * 4 >> 32)
    assert list(RandomRepeat(0.5).actions(make_world(), SplitMix64(5), 10)) == expected


def test_a_source_of_actions_may_look_at_the_world():
    class RightUntilTheWall:
        def actions(self, world, random, limit):
            yield RIGHT
            while world.env.observation()[0] < 6:
                yield RIGHT

    world = make_world()
    start = Entry(
        number=0, cell=world.reset(), standing=Standing(0.0, 0), branch=START, snapshot=world.snapshot()
    )
    found = PythonKernel(world, RightUntilTheWall()).run(
        Task(order=1, start=start, random_state=0), Scoreboard()
    )
    assert len(found.actions) == 6


def test_a_kernel_does_not_offer_again_what_an_earlier_task_of_the_batch_has_found_as_good():
    world = make_world()
    start = Entry(
        number=0, cell=world.reset(), standing=Standing(0.0, 0), branch=START, snapshot=world.snapshot()
    )
    board = Scoreboard()
    board.add(start.cell, start.standing)
    kernel = PythonKernel(world, Script(RIGHT, RIGHT))
    first, second, earlier = (
        kernel.run(Task(order=index, start=start, random_state=0), board) for index in (3, 4, 2)
    )
    assert len(first.offers) == 2
    assert second.offers == ()
    assert second.seen_new == (cell(1, 0), cell(2, 0))
    assert earlier.offers == first.offers  # what comes first in the batch must be offered, whoever ran first
