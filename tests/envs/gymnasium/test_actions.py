"""Action spaces as numbers: every action once, drawn tables, the same bits in every process."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest
from gymnasium import spaces

from goexplore.envs.gymnasium import ActionTable
from goexplore.errors import ConfigError, EnvironmentContractError

FINITE = [
    (spaces.Discrete(5), 5),
    (spaces.Discrete(5, start=-2), 5),
    (spaces.MultiDiscrete([2, 3]), 6),
    (spaces.MultiDiscrete([2, 3], start=[4, 5]), 6),
    (spaces.MultiBinary(4), 16),
    (spaces.MultiBinary((2, 2)), 16),
    (spaces.Tuple([spaces.Discrete(3), spaces.MultiBinary(2)]), 12),
    (spaces.Dict({"move": spaces.Discrete(3), "arm": spaces.Tuple([spaces.Discrete(2)])}), 6),
]


@pytest.mark.parametrize(("space", "count"), FINITE, ids=str)
def test_finite_spaces_are_numbered_through(space, count):
    table = ActionTable(space)
    assert table.action_count == count
    actions = [table[number] for number in range(count)]
    assert all(map(space.contains, actions))
    assert len({repr(action) for action in actions}) == count


@pytest.mark.parametrize(("space", "count"), FINITE, ids=str)
def test_each_action_of_a_finite_space_is_found_again_as_the_no_op(space, count):
    for number in range(count):
        assert ActionTable(space, no_op=ActionTable(space)[number]).no_op == number


@pytest.mark.parametrize("draw", ["uniform", "gaussian"])
def test_a_box_has_a_table_of_drawn_actions(draw):
    space = spaces.Box(np.array([-1, 0], np.float32), np.array([1, 10], np.float32))
    table = ActionTable(space, draw=draw, count=500, sigma=0.3)
    actions = np.array([table[number] for number in range(500)])
    assert table.action_count == 500
    assert actions.dtype == np.float32
    assert all(map(space.contains, actions))
    assert np.allclose(actions.mean(axis=0), [0, 5], atol=0.5)
    deviation = [1 / 3**0.5, 5 / 3**0.5] if draw == "uniform" else [0.3, 1.5]
    assert np.allclose(actions.std(axis=0), deviation, rtol=0.1)


def test_a_box_without_bounds_needs_gaussian_actions():
    space = spaces.Box(-np.inf, np.inf, (3,))
    with pytest.raises(
        ConfigError, match=r"expected bounds for uniform actions, got Box.*`draw` to gaussian"
    ):
        ActionTable(space)
    table = ActionTable(space, draw="gaussian", sigma=2.0)
    actions = np.array([table[number] for number in range(256)])
    assert 1.5 < actions.std() < 2.5


def test_spaces_that_are_too_large_are_drawn_from():
    space = spaces.Dict({"keys": spaces.MultiBinary(20), "stick": spaces.Box(-1, 1, (2,))})
    table = ActionTable(space, count=1000)
    assert table.action_count == 1000
    assert all(space.contains(table[number]) for number in range(1000))


def test_the_no_op_is_in_a_drawn_table():
    table = ActionTable(spaces.Box(-1, 1, (2,)), no_op=[0, 0])
    assert table.no_op == 0
    assert table[0].tolist() == [0, 0]


def test_an_action_that_is_none_is_no_no_op():
    with pytest.raises(ConfigError, match=r"expected `no_op` to be an action of Discrete\(3\), got 7"):
        ActionTable(spaces.Discrete(3), no_op=7)
    with pytest.raises(ConfigError, match="expected `no_op` to be an action"):
        ActionTable(spaces.Box(-1, 1, (2,)), no_op=[0, 0, 0])


def test_whole_numbers_of_a_box_are_drawn_up_to_the_highest():
    for draw in ("uniform", "gaussian"):
        table = ActionTable(spaces.Box(0, 1, (1,), np.int8), draw=draw)
        assert {int(table[number][0]) for number in range(256)} == {0, 1}, draw


def test_gaussian_actions_spread_from_the_one_bound_that_there_is():
    table = ActionTable(spaces.Box(5, np.inf, (1,)), draw="gaussian")
    actions = np.array([table[number][0] for number in range(256)])
    assert actions.min() == 5
    assert actions.max() > 5.5


def test_an_environment_may_change_what_it_gets():
    table = ActionTable(spaces.Box(-1, 1, (2,)))
    before = table[3].tolist()
    table[3][:] = 9
    assert table[3].tolist() == before


def test_spaces_of_texts_are_refused():
    with pytest.raises(ConfigError, match=r"expected an action space of Discrete, .*, got Text"):
        ActionTable(spaces.Text(5))


def test_numbers_outside_the_table_are_refused():
    with pytest.raises(EnvironmentContractError, match="expected an action from 0 to 4, got 5"):
        ActionTable(spaces.Discrete(5))[5]


SCRIPT = """
import hashlib, numpy as np
from gymnasium import spaces
from goexplore.envs.gymnasium import ActionTable
for draw in ("uniform", "gaussian"):
    table = ActionTable(spaces.Box(-1, 1, (8,)), draw=draw, count=2000)
    print(hashlib.md5(b"".join(table[number].tobytes() for number in range(2000))).hexdigest())
"""


def test_another_process_draws_the_same_bits():
    found = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    here = []
    for draw in ("uniform", "gaussian"):
        table = ActionTable(spaces.Box(-1, 1, (8,)), draw=draw, count=2000)
        here.append(hashlib.md5(b"".join(table[number].tobytes() for number in range(2000))).hexdigest())
    assert found.stdout.split() == here
