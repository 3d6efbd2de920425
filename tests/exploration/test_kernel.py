"""One exploration, by scripted actions on tiny environments."""

import itertools

import numpy as np
import pytest

from goexplore.archive import (
    END,
    START,
    UNKNOWN,
    Entry,
    ScoreIndex,
    ScoreLength,
    event_tag,
    unpack_actions,
)
from goexplore.cells import CellEnvironment, End, FunctionCells, encode
from goexplore.errors import ConfigError
from goexplore.exploration import ExplorationConfig, Fatal, PythonKernel, RandomRepeat, Task
from goexplore.random import SplitMix64
from tests.fields import Buggy, Corridor, Field, Lock, cells_of, itself, make_cell_env

RIGHT, LEFT, DOWN, UP = range(4)
INTO_THE_PIT = [RIGHT] * 3 + [DOWN] * 3


class Script:
    def __init__(self, *actions):
        self._actions = actions

    def actions(self, cell_env, random, limit):
        return iter(self._actions[:limit])


def initial(cell_env):
    return Entry(
        number=0,
        cell=cell_env.reset(),
        score_length=ScoreLength(0.0, 0),
        branch=START,
        snapshot=cell_env.snapshot(),
    )


def index_of(*known):
    """Return an index of cells with their scores and lengths."""
    score_index = ScoreIndex()
    for cell, score, length in known:
        score_index.add(cell, ScoreLength(score, length))
    return score_index


def run(*actions, cell_env=None, score_index=None, limit=100):
    cell_env = cell_env or make_cell_env()
    start = initial(cell_env)
    kernel = PythonKernel(cell_env, Script(*actions), training_frames=limit)
    task = Task(order=1, start=start, random_state=0)
    return kernel.run(task, score_index or index_of((start.cell, 0.0, 0)))


def cell(x, y):
    return encode((x, y))


def test_new_cells_are_offered_with_everything_needed_to_return():
    found = run(RIGHT, DOWN)
    assert [(each.cell, each.offset, each.score_length) for each in found.candidates] == [
        (cell(1, 0), 1, ScoreLength(0.0, 1)),
        (cell(1, 1), 2, ScoreLength(0.0, 2)),
    ]
    cell_env = make_cell_env()
    cell_env.restore(found.candidates[-1].snapshot)
    assert (cell_env.env.x, cell_env.env.y) == (1, 1)


def test_an_exploration_stops_at_its_limit():
    found = run(*[RIGHT] * 50, limit=7)
    assert found.training_frames == 7
    assert len(found.actions) == 7


def test_known_cells_are_seen_once_however_often_they_are_visited():
    known = index_of((cell(0, 0), 0.0, 0), (cell(1, 0), 0.0, 1))
    found = run(RIGHT, LEFT, RIGHT, LEFT, score_index=known)
    assert list(found.seen) == [0, 1]
    assert found.candidates == ()


def test_a_known_cell_is_offered_only_if_the_trajectory_is_better():
    known = index_of((cell(0, 0), 0.0, 0), (cell(1, 0), 0.0, 5), (cell(2, 0), 0.0, 2))
    found = run(RIGHT, RIGHT, score_index=known)
    assert [(each.number, each.cell) for each in found.candidates] == [(1, cell(1, 0))]


def test_a_better_second_visit_counts_like_any_other():
    found = run(*[RIGHT] * 5, LEFT)  # the treasure at (5, 0) makes coming back to (4, 0) better
    candidates = {each.cell: each for each in found.candidates}
    assert candidates[cell(4, 0)].score_length == ScoreLength(10.0, 6)
    assert candidates[cell(4, 0)].offset == 6
    assert candidates[cell(4, 0)].number == UNKNOWN
    assert len(found.candidates) == len(candidates)


def test_random_actions_repeat_as_often_as_they_should():
    source = RandomRepeat(0.95)
    cell_env = make_cell_env()
    changes = total = 0
    first = []
    for seed in range(400):
        actions = list(source.actions(cell_env, SplitMix64(seed), 100))
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
    assert list(RandomRepeat(0.5).actions(make_cell_env(), SplitMix64(5), 10)) == expected


def test_a_source_of_actions_may_look_at_the_environment():
    class RightUntilTheWall:
        def actions(self, cell_env, random, limit):
            yield RIGHT
            while cell_env.env.observation()[0] < 6:
                yield RIGHT

    cell_env = make_cell_env()
    task = Task(order=1, start=initial(cell_env), random_state=0)
    found = PythonKernel(cell_env, RightUntilTheWall()).run(task, ScoreIndex())
    assert len(found.actions) == 6


def test_a_kernel_does_not_offer_again_what_an_earlier_task_of_the_batch_has_found_as_good():
    cell_env = make_cell_env()
    start = initial(cell_env)
    score_index = index_of((start.cell, 0.0, 0))
    kernel = PythonKernel(cell_env, Script(*INTO_THE_PIT))
    first, second, earlier = (
        kernel.run(Task(order=order, start=start, random_state=0), score_index) for order in (3, 4, 2)
    )
    assert len(first.candidates) == 6
    assert second.candidates == ()
    assert second.seen_new == first.seen_new
    assert second.ended_in == first.ended_in == cell(*Field.pit)
    assert earlier == first  # what comes first in the batch must be offered, whoever ran first


# ---- ends -------------------------------------------------------------------------------------------------


def test_an_episode_that_ends_is_offered_with_its_cell_and_nothing_to_return_to():
    found = run(*INTO_THE_PIT, RIGHT, RIGHT)
    assert found.training_frames == 6
    assert found.actions == bytes(INTO_THE_PIT)
    last = found.candidates[-1]
    assert (last.cell, last.end, last.snapshot, last.offset) == (cell(3, 3), End.TERMINATED, b"", 6)
    assert found.ended_in == cell(3, 3)
    assert cell(3, 3) not in found.seen_new


def test_an_episode_that_is_cut_off_is_offered_alike():
    class Timed(Corridor):
        limit = 3

    found = run(1, 1, 1, 1, cell_env=cells_of(Timed()))
    assert [(each.cell, each.end) for each in found.candidates] == [
        (encode(1), End.NONE),
        (encode(2), End.NONE),
        (encode(3), End.TRUNCATED),
    ]
    assert found.training_frames == 3


def test_an_end_is_compared_with_the_end_that_is_known_not_with_the_cell():
    known = index_of((cell(0, 0), 0.0, 0), (cell(3, 3), 0.0, 1))
    ended = known.add(cell(3, 3), ScoreLength(0.0, 9), tag=END)
    found = run(*INTO_THE_PIT, score_index=known)
    assert [each.number for each in found.candidates if each.end] == [ended]
    assert list(found.seen) == [0]
    known.improve(ended, ScoreLength(0.0, 6))
    again = run(*INTO_THE_PIT, score_index=known)
    assert not any(each.end for each in again.candidates)
    assert again.ended_in == cell(3, 3)


def test_where_ends_are_dropped_so_is_the_action_that_ended_the_episode_but_its_frame_counts():
    found = run(*INTO_THE_PIT, RIGHT, RIGHT, cell_env=cells_of(Field(), ends="drop"))
    assert found.actions == bytes(INTO_THE_PIT[:-1])
    assert found.training_frames == 6
    assert found.ended_in is None
    assert cell(*Field.pit) not in [each.cell for each in found.candidates]


# ---- what is stored of them -------------------------------------------------------------------------------


def test_actions_take_two_bytes_each_where_there_are_more_than_256():
    found = run(999, 3, 256, cell_env=cells_of(Lock()))
    assert len(found.actions) == 6
    assert unpack_actions(found.actions, 2) == (999, 3, 256)
    assert [each.offset for each in found.candidates] == [1, 2, 3]


def test_scores_stay_pythons_numbers_whatever_the_rewards_are():
    class Rich(Field):
        def step(self, action):
            step = super().step(action)
            return step._replace(reward=np.float32(0.1))

    found = run(RIGHT, RIGHT, RIGHT, cell_env=cells_of(Rich()))
    last = found.candidates[-1].score_length.score
    assert type(last) is float
    assert last == 3 * float(np.float32(0.1))


# ---- settings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("training_frames", [0, -1, 65_536])
def test_a_length_that_cannot_be_is_refused(training_frames):
    for make in (
        lambda: PythonKernel(make_cell_env(), RandomRepeat(), training_frames=training_frames),
        lambda: ExplorationConfig(training_frames=training_frames),
    ):
        with pytest.raises(ConfigError, match="expected `training_frames` to be"):
            make()


@pytest.mark.parametrize("probability", [1.5, -0.1, float("nan")])
def test_a_probability_that_cannot_be_is_refused(probability):
    for make in (
        lambda: RandomRepeat(probability),
        lambda: ExplorationConfig(repeat_probability=probability),
    ):
        with pytest.raises(ConfigError, match="expected `repeat_probability` to be between 0 and 1"):
            make()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, "`batch_size` to be a whole number"),
        ({"ends": "kept"}, "`ends` to be keep or drop"),
    ],
)
def test_other_settings_that_cannot_be_used_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        ExplorationConfig(**settings)


# ---- events and objectives --------------------------------------------------------------------------------


def watched(env, *, ends="keep", **settings):
    return CellEnvironment(env, FunctionCells(itself), ends=ends, **settings)


def ways(found):
    return [(each.event, each.cell, each.offset, each.end) for each in found.candidates if each.event]


def is_low(observation):
    return observation[1] >= 2


def is_pit(observation):
    return observation == Field.pit


def test_the_first_way_of_an_exploration_to_an_event_in_a_cell_is_offered():
    env = watched(Field(), events={"low": is_low})
    found = run(DOWN, DOWN, RIGHT, LEFT, DOWN, cell_env=env)
    assert ways(found) == [
        ("low", cell(0, 2), 2, End.NONE),
        ("low", cell(1, 2), 3, End.NONE),
        ("low", cell(0, 3), 5, End.NONE),
    ]
    assert found.events_seen == (("low", cell(0, 2)), ("low", cell(1, 2)), ("low", cell(0, 3)))
    assert all(each.snapshot == b"" for each in found.candidates if each.event)


def test_a_way_that_is_not_shorter_than_what_is_known_is_not_offered_but_seen():
    env = watched(Field(), events={"low": is_low})
    known = index_of((cell(0, 0), 0.0, 0))
    known.add(cell(0, 2), ScoreLength(-5.0, 2), event_tag("low"))
    found = run(DOWN, DOWN, cell_env=env, score_index=known)
    assert ways(found) == []
    assert found.events_seen == (("low", cell(0, 2)),)


def test_an_event_at_the_end_of_an_episode_is_found_where_ends_are_kept_and_where_they_are_dropped():
    kept = run(*INTO_THE_PIT, cell_env=watched(Field(), events={"death": is_pit}))
    assert ways(kept) == [("death", cell(3, 3), 6, End.TERMINATED)]
    dropped = run(*INTO_THE_PIT, cell_env=watched(Field(), ends="drop", events={"death": is_pit}))
    assert ways(dropped) == [("death", cell(3, 2), 6, End.TERMINATED)], "in the last cell before"
    assert dropped.actions == bytes(INTO_THE_PIT)
    assert not any(each.end for each in dropped.candidates if not each.event)


def test_an_exception_that_is_an_event_ends_the_exploration_in_the_cell_before():
    to_the_bug = [RIGHT] * 5 + [DOWN] * 2
    found = run(*to_the_bug, DOWN, cell_env=watched(Buggy(), events={"lookup": LookupError}))
    assert ways(found) == [("lookup", cell(5, 1), 7, End.RAISED)]
    assert found.training_frames == 7
    with pytest.raises(LookupError):
        run(*to_the_bug, cell_env=watched(Buggy(), events={"value": ValueError}))


@pytest.mark.parametrize(("end", "event"), [(End.CRASHED, "worker-crash"), (End.HUNG, "worker-hang")])
def test_an_action_that_kills_workers_is_not_played_and_becomes_an_event(end, event):
    cell_env = watched(Buggy())
    start = initial(cell_env)
    kernel = PythonKernel(cell_env, Script(RIGHT, RIGHT, DOWN, DOWN))
    found = kernel.run(Task(1, start, 0, Fatal(3, end)), index_of((start.cell, 0.0, 0)))
    assert ways(found) == [(event, cell(2, 0), 3, end)]
    assert found.actions == bytes([RIGHT, RIGHT, DOWN])
    assert [each.cell for each in found.candidates if not each.event] == [cell(1, 0), cell(2, 0)]


def test_each_action_can_be_told_before_it_is_played():
    cell_env = watched(Field())
    kernel = PythonKernel(cell_env, Script(RIGHT, DOWN))
    told = []
    kernel.before_step = lambda action: told.append((action, cell_env.env.observation()))
    kernel.run(Task(1, initial(cell_env), 0), index_of((cell(0, 0), 0.0, 0)))
    assert told == [(RIGHT, (0, 0)), (DOWN, (1, 0))]


def test_a_visit_is_offered_if_its_objective_is_higher_or_equal_and_shorter():
    def height(observation):
        return -observation[1]

    def offered(objective, length):
        known = ScoreIndex()
        known.add(cell(0, 0), ScoreLength(0.0, 0, 0.0))
        known.add(cell(5, 0), ScoreLength(99.0, length, objective))
        found = run(*[RIGHT] * 5, cell_env=watched(Field(), objective=height), score_index=known)
        return [each.score_length for each in found.candidates if each.cell == cell(5, 0)]

    assert offered(-1.0, 1) == [ScoreLength(10.0, 5, 0.0)]
    assert offered(0.0, 6) == [ScoreLength(10.0, 5, 0.0)]
    assert offered(0.0, 5) == offered(1.0, 9) == []
