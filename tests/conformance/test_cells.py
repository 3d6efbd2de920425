"""Every cell representation keeps the contract of `goexplore.CellRepresentation`."""

import pytest

from goexplore.random import SplitMix64
from tests.conformance.lists import CELLS

each_representation = pytest.mark.parametrize("problem", CELLS)
STEPS = 120


def walk(env, cells):
    """Play a walk; return each cell, with the states of environment and cells before the next action."""
    env.reset()
    keys, states, lost = [cells.reset(env.observation())], [], False
    for action in SplitMix64(0).below(env.action_count, STEPS).tolist():
        states.append(None if lost else (env.snapshot(), cells.state()))
        ended = env.step(action).ended
        keys.append(None if ended or lost else cells.update(env.observation()))
        lost = keys[-1] is None
        if ended:
            env.reset()
            keys[-1] = cells.reset(env.observation())
            lost = False
    return keys, states


@each_representation
def test_keys_are_bytes_and_the_same_each_time(problem):
    env = problem.env()
    cells = problem.cells(env)
    keys, states = walk(env, cells)
    assert {type(key) for key in keys} <= {bytes, type(None)}
    assert {type(state[1]) for state in states if state} == {bytes}
    assert len(set(keys)) > 1
    assert walk(env, cells) == (keys, states)
    assert walk(env, problem.cells(env)) == (keys, states)


@each_representation
def test_what_is_tracked_is_restored(problem):
    env = problem.env()
    cells = problem.cells(env)
    keys, states = walk(env, cells)
    actions = SplitMix64(0).below(env.action_count, STEPS).tolist()
    fresh = problem.cells(env)
    for representation in (cells, fresh):
        for start in (STEPS - 20, STEPS // 2, 5):
            if states[start] is None:
                continue
            env.restore(states[start][0])
            representation.restore(states[start][1])
            assert representation.state() == states[start][1]
            for at in range(start, min(start + 15, STEPS)):
                if env.step(actions[at]).ended or keys[at + 1] is None:
                    break
                assert representation.update(env.observation()) == keys[at + 1]


@each_representation
def test_cells_have_one_value_in_each_column(problem):
    env = problem.env()
    cells = problem.cells(env)
    keys = sorted({key for key in walk(env, cells)[0] if key is not None})
    for values in cells.columns(keys).values():
        assert len(values) == len(keys)
    areas = cells.areas(keys)
    assert areas is None or areas.shape == (len(keys), 4)


@each_representation
def test_neighbours_and_ranks_are_those_of_cells(problem):
    env = problem.env()
    cells = problem.cells(env)
    env.reset()
    key = cells.reset(env.observation())
    for neighbours in (cells.horizontal_neighbours, cells.vertical_neighbours):
        if neighbours is not None:
            assert all(type(each) is bytes and each != key for each in neighbours(key))
            assert all(key in neighbours(each) for each in neighbours(key))
    assert (cells.spot is None) == (cells.rank is None)
    if cells.spot is not None:
        assert type(cells.spot(key)) is bytes
        assert cells.rank(key) >= 0
    if cells.level_of is not None:
        assert cells.level_of(key) >= 0


@each_representation
def test_settings_make_the_same_cells_again(problem):
    spec = problem.cells
    assert spec.with_settings(spec.settings()) == spec
    assert spec.kind
