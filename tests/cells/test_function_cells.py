import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from goexplore.cells import FunctionCells, encode
from goexplore.errors import ConfigError, EnvironmentContractError


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, 23), (12, 3)),
        ("1", 1),
        (b"1", 1),
        (b"1", "1"),
        ("b'1'", b"1"),
        (True, 1),
        (1.0, 1),
        (0.1, 0.2),
        (("a", "b"), ("a, b",)),
        ((1, (2, 3)), (1, 2, 3)),
        (np.array([[1, 2], [3, 4]]), np.array([1, 2, 3, 4])),
        (np.array([1, 0]), np.array([True, False])),
        (np.array([1, 2]), (1, 2)),
        (b"a", b"b"),
        ((), ((),)),
    ],
)
def test_different_values_are_different_cells(one, other):
    assert encode(one) == encode(one)
    assert encode(one) != encode(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), b"a"),
        (np.int64(1), 1),
        (np.uint8(1), np.int64(1)),
        (np.float64(0.5), 0.5),
        (np.bool_(True), True),
        (np.array(3), 3),
        ((np.int64(3), np.bool_(True)), (3, True)),
        ([1, 2], (1, 2)),
        ([1, [2, 3]], (1, (2, 3))),
        (-0.0, 0.0),
        (np.array([1, 2], np.uint8), np.array([1, 2], np.int64)),
        (np.array([[1, 2], [3, 4]]).T, np.array([[1, 3], [2, 4]])),
    ],
)
def test_the_same_value_is_the_same_cell_whatever_its_type(one, other):
    assert encode(one) == encode(other)


def test_a_cell_is_the_same_in_every_process():
    value = ("a", 1, 0.1, b"\xff", True, (None is None,))
    program = f"from goexplore.cells import encode; print(encode({value!r}).hex())"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == encode(value).hex()


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (float("nan"), r"a number that is not finite \(nan\)"),
        ((1, np.float32("inf")), r"a number that is not finite \(inf\)"),
        (np.zeros(2), r"an array of float64 \(\[0\. 0\.\]\)"),
        ((1, np.zeros(2)), r"an array of float64"),
        (np.array(["a"]), r"an array of <U1"),
        ({"x": 1}, r"dict \(\{'x': 1\}\)"),
        ({1, 2}, "set"),
        (1j, "complex"),
        (object(), r"object \(<object object at"),
        ((1, None), r"NoneType \(None\)"),
    ],
)
def test_values_that_would_give_unstable_cells_are_refused(value, what):
    with pytest.raises(
        EnvironmentContractError, match=rf"got {what}.*: round or encode it in the cell function"
    ):
        FunctionCells(lambda observation: observation).update(value)


def test_the_cell_is_what_the_function_makes_of_the_observation():
    cells = FunctionCells(lambda observation: observation // 10)
    assert cells.reset(57) == cells.update(51) == encode(5)
    assert cells.update(60) != encode(5)


def test_none_loses_the_episode_but_cannot_begin_one():
    cells = FunctionCells(lambda value: None)
    assert cells.update(0) is None
    with pytest.raises(EnvironmentContractError, match="expected a cell for the initial state, got None"):
        cells.reset(0)


def test_tables_show_the_value_that_names_a_cell():
    cells = FunctionCells(lambda value: value)
    texts = cells.columns([encode((1, "a")), encode(b"\xff")])["cell_text"]
    assert texts.tolist() == ["(1, 'a')", r"b'\xff'"]


# ---- functions of observation and info --------------------------------------------------------------------


class Callable:
    def __call__(self, observation, info):
        return observation, info["room"]


@pytest.mark.parametrize(
    "function",
    [
        lambda observation, info: (observation, info["room"]),
        lambda observation, said: (observation, said["room"]),
        lambda observation, info=None: (observation, info["room"]),
        lambda observation, info, size=1: (observation, info["room"]),
        partial(lambda size, observation, info: (observation, info["room"]), 1),
        Callable(),
    ],
)
def test_a_function_of_two_parameters_gets_info_too(function):
    room = iter([1, 2])
    cells = FunctionCells(function, SimpleNamespace(info=lambda: {"room": next(room)}))
    assert cells.reset(5) == encode((5, 1))
    assert cells.update(5) == encode((5, 2))


@pytest.mark.parametrize(
    "function", [lambda observation, size=2: observation, lambda *values: values[0], int, np.abs]
)
def test_other_functions_get_the_observation_alone(function):
    assert FunctionCells(function).update(5) == encode(5)


def test_a_function_of_three_parameters_gets_the_environment_as_its_author_knows_it():
    env = SimpleNamespace(info=dict, unwrapped=SimpleNamespace(agent_pos=(3, 4)))
    cells = FunctionCells(lambda observation, info, env: env.agent_pos, env)
    assert cells.update(5) == encode((3, 4))


@pytest.mark.parametrize("function", [lambda: 0, lambda *, info: 0, lambda one, two, three, four: 0])
def test_a_function_of_none_or_four_parameters_is_refused(function):
    with pytest.raises(ConfigError, match=r"of these and the environment, got one with \d parameters"):
        FunctionCells(function)


def test_a_function_of_info_needs_the_environment():
    with pytest.raises(ConfigError, match="expected `env` for a cell function of more than the observation"):
        FunctionCells(lambda observation, info: 0)
