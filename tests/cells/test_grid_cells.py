"""Grids: which numbers fall together, where names are looked up, and what is refused."""

import math
from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pytest

from goexplore.archive import write_archive
from goexplore.cells import GridAxis, GridCells
from goexplore.cells._grid import _TABLE
from goexplore.errors import ConfigError, EnvironmentContractError
from tests.fields import rooted


def grid(*names, info=None, space=None, **settings):
    axes = [GridAxis(name=name, **settings) for name in names or ("observation",)]
    return GridCells(axes, info=lambda: info or {}, space=space)


def bins(value, **settings):
    """Return the bins of an observation, as tables show them."""
    cells = grid(**settings)
    (found,) = zip(*cells.columns([cells.update(value)]).values(), strict=True)
    return found if len(found) > 1 else found[0]


# ---- sizes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "size", "expected"),
    [
        (0, 16, 0),
        (15, 16, 0),
        (16, 16, 1),
        (-1, 16, -1),
        (-16, 16, -1),
        (-17, 16, -2),
        (15.99, 16, 0),
        (-0.0, 16, 0),
        (0.0, 0.5, 0),
        (-0.001, 0.5, -1),
        (1.0, 0.1, 10),  # the rounded quotient: 1 // 0.1 is 9
        (0.3, 0.1, 2),  # 0.3 / 0.1 is below 3
        (True, 1, 1),
        (2**60 + 1, 2, 2**59),
        (np.float32(2.5), 1, 2),
        (np.int8(-5), 2, -3),
        (np.uint8(255), 16, 15),
    ],
)
def test_a_bin_is_the_quotient_rounded_down(value, size, expected):
    assert bins(value, size=size) == expected
    assert bins(np.array([value, value]), size=size) == (expected, expected)


def test_the_key_is_the_same_for_equal_numbers_of_any_type():
    cells = grid(size=2)
    assert cells.update(5) == cells.update(5.0) == cells.update(np.float32(5)) == cells.update(np.uint8(5))
    assert cells.update((5, 3)) == cells.update(np.array([5.0, 3.0])) == cells.update([5, 3]) == b"((2, 1),)"
    assert cells.update(-0.0) == cells.update(0) == b"(0,)"


def test_a_bin_may_be_further_away_than_any_machine_number():
    assert grid(size=1e-10).update(1e30) == f"({math.floor(1e30 / 1e-10)},)".encode()


def test_different_shapes_are_different_cells():
    cells = grid(size=1)
    assert len({cells.update(np.zeros(shape)) for shape in [(), (1,), (1, 1), (2,), (4,), (2, 2)]}) == 6


@pytest.mark.parametrize("value", [math.nan, math.inf, np.array([0.0, math.nan]), np.float32("-inf")])
def test_a_number_that_is_not_finite_has_no_bin(value):
    with pytest.raises(EnvironmentContractError, match=r"expected finite numbers for observation in a cell"):
        grid(size=1).update(value)


def test_some_numbers_of_an_array_can_be_chosen():
    value = np.array([[1.0, math.nan], [7.0, 9.0]])
    assert bins(value, dims=(2, 0), size=2) == (3, 0)
    with pytest.raises(ConfigError, match="expected `dims` from 0 to 3 for observation, got 4"):
        bins(value, dims=(0, 4), size=2)


def test_an_image_is_too_much_for_a_cell():
    with pytest.raises(ConfigError, match="expected up to 512 numbers of observation in a cell, got 1,024"):
        grid(size=8).update(np.zeros((32, 32), np.uint8))


# ---- numbers of bins --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [(-1.0, 0), (-0.51, 0), (-0.5, 1), (0.0, 2), (0.99, 3), (1.0, 3), (7.0, 3), (-7, 0), (math.inf, 3)],
)
def test_values_outside_the_bounds_are_in_the_outermost_bins(value, expected):
    assert bins(value, bins=4, low=-1, high=1) == expected


def test_each_number_can_have_its_own_bounds():
    assert bins((5, 5), bins=10, low=(0, 0), high=(10, 100)) == (5, 0)
    assert bins((5, 5), bins=10, low=0, high=(10, 100)) == (5, 0)
    with pytest.raises(ConfigError, match="expected as many bounds as numbers for observation, got 3 for 2"):
        bins((5, 5), bins=10, low=0, high=(1, 2, 3))
    with pytest.raises(EnvironmentContractError, match="expected finite numbers"):
        bins((math.nan, 1), bins=10, low=0, high=1)


def box(low, high):
    return SimpleNamespace(low=np.array(low, np.float32), high=np.array(high, np.float32))


def test_bounds_come_from_the_observation_space():
    space = box([-1.0, 0.0], [1.0, 10.0])
    assert bins(np.array([0.0, 9.0]), bins=10, space=space) == (5, 9)
    assert bins(np.array([0.0, 9.0]), bins=10, space=space, dims=(1,)) == 9
    inner = SimpleNamespace(
        spaces={"goal": box([0.0], [4.0]), "arm": SimpleNamespace(spaces={"x": box(0, 2)})}
    )
    assert grid("goal", bins=4, space=inner).update({"goal": np.array([3.5])}) == b"((3,),)"
    assert grid("arm.x", bins=4, space=inner).update({"arm": {"x": 0.6}}) == b"(1,)"
    discrete = SimpleNamespace(n=8, start=0)
    assert [bins(value, bins=4, space=discrete) for value in (0, 1, 2, 7)] == [0, 0, 1, 3]


def test_the_bounds_are_gymnasiums():
    spaces = pytest.importorskip("gymnasium").spaces
    space = spaces.Dict({"where": spaces.Box(-1, 1, (2,), np.float64), "room": spaces.Discrete(6)})
    assert grid("where", bins=4, space=space).update({"where": np.array([-0.6, 0.9])}) == b"((0, 3),)"
    assert grid("room", bins=3, space=space).update({"room": 5}) == b"(2,)"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {},
            "expected bounds of observation for `bins`, got none from the environment: give `low` and `high`",
        ),
        ({"low": 0}, "expected bounds of observation for `bins`, got none"),
        ({"low": 1, "high": 1}, "expected `low` to be below `high` for observation"),
        ({"space": box([0, -np.inf], [1, np.inf])}, "expected finite bounds of observation for `bins`, got"),
        ({"space": box([0, -3.4e38], [1, 3.4e38])}, "expected finite bounds of observation for `bins`, got"),
        ({"low": (0, 0), "high": (1, 1, 1)}, "expected as many lower as upper bounds of observation"),
    ],
)
def test_bins_need_finite_bounds(settings, message):
    with pytest.raises(ConfigError, match=message):
        grid(bins=4, **settings)


def test_bounds_of_numbers_that_do_not_count_may_be_infinite():
    assert bins(np.zeros(2), bins=4, dims=(0,), space=box([0, -np.inf], [1, np.inf])) == 0


# ---- exact values -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [7, "cave", b"cave", True, (1, "a"), None, 0.5, np.array([1, 2]), np.int64(3)]
)
def test_a_value_without_a_size_is_its_own_bin(value):
    cells = grid()
    assert cells.update(value) == cells.update(value)
    others = [8, "hut", b"hut", False, (1, "b"), 1.5, np.array([2, 1]), "None"]
    assert cells.update(value) not in [cells.update(other) for other in others]


def test_real_numbers_of_an_array_need_a_size():
    with pytest.raises(ConfigError, match="expected `size` or `bins` for the real numbers of observation"):
        grid().update(np.zeros(2))


def test_what_has_no_numbers_has_no_bins():
    with pytest.raises(
        ConfigError, match=r"expected numbers for observation, got str \(cave\): only numbers"
    ):
        grid(size=2).update("cave")
    with pytest.raises(ConfigError, match=r"got a mapping: name what is in it \(x, y.z\)"):
        grid(size=2).update({"x": 1, "y": {"z": 2}})
    with pytest.raises(ConfigError, match="expected numbers for observation"):
        grid(size=2).update([1, [2, 3]])


# ---- names ------------------------------------------------------------------------------------------------


def test_names_are_looked_up_in_the_observation_then_in_info():
    seen, said = {"x": 1, "bag": {"keys": 2, "a.b": 5}}, {"x": 10, "y": 20, "bag": {"lamps": 3}}
    for name, expected in {"x": 1, "y": 20, "bag.keys": 2, "bag.a.b": 5}.items():
        assert grid(name, info=said).update(seen) == f"({expected},)".encode()
    assert grid("x", "y", info=said).update(np.zeros(3)) == b"(10, 20)"
    assert grid("bag.lamps", info=said).update(OrderedDict(x=1)) == b"(3,)"


def test_observation_is_the_whole_of_it_unless_there_is_such_a_key():
    assert grid("observation", size=1).update(np.array([3.0])) == b"((3,),)"
    assert grid("observation", size=1).update({"observation": 4, "goal": 5}) == b"(4,)"
    assert grid("observation", info={"observation": 9}).update(3) == b"(3,)"


def test_a_name_may_be_an_attribute_of_the_environment():
    env = SimpleNamespace(agent_pos=np.array([3, 4]), carrying=SimpleNamespace(type="key"))
    cells = GridCells([GridAxis(name="agent_pos"), GridAxis(name="carrying.type")], unwrapped=lambda: env)
    assert cells.update(0) == b"((3, 4), 'key')"
    env.carrying = None
    assert cells.update(0) == b"((3, 4), None)"


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(
        ConfigError, match=r"one of x, bag.keys, room in the .*, got 'rom': did you mean room\?"
    ):
        grid("rom", info={"room": 1}).update({"x": 1, "bag": {"keys": 2}})
    with pytest.raises(
        ConfigError, match=r"expected one of observation in the observation or info, .* got 'x'"
    ):
        grid("x").update(3)


# ---- tables -----------------------------------------------------------------------------------------------


def test_tables_have_a_column_per_name_or_number():
    cells = grid("room", "where", "score", info={"room": "cave", "score": 3})
    keys = [cells.update({"where": np.array(each)}) for each in ([1, 2], [3, 4])]
    columns = {name: values.tolist() for name, values in cells.columns(keys).items()}
    assert columns == {
        "cell_room": ["cave", "cave"],
        "where_0": [1, 3],
        "where_1": [2, 4],
        "cell_score": [3, 3],
    }
    numbers = grid(size=1, dims=(3, 1)).columns([b"((5, 6),)"])
    assert {name: values.tolist() for name, values in numbers.items()} == {
        "observation_3": [5],
        "observation_1": [6],
    }
    assert numbers["observation_3"].dtype == np.int64


def test_no_column_has_the_name_of_one_that_every_table_has(tmp_path):
    import pyarrow.parquet as pq

    file, _ = write_archive(rooted(), tmp_path, lambda cells: {})
    assert set(pq.read_schema(file).names) | {"entry"} == _TABLE


# ---- settings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, "expected `size` to be more than 0, got 0"),
        ({"size": math.nan}, "expected `size` to be a number, got nan"),
        ({"size": "16"}, "expected `size` to be a number, got '16'"),
        ({"bins": 0}, "expected `bins` to be a whole number of 1 or more, got 0"),
        ({"bins": 2.5}, "expected `bins` to be a whole number of 1 or more, got 2.5"),
        ({"bins": 2, "size": 3}, "expected either `size` or `bins` for x, got both"),
        ({"low": 2}, "expected `bins` with `low` for x, got none"),
        ({"dims": (-1,)}, "expected `dims` to be a whole number of 0 or more, got -1"),
        ({"name": 3}, "expected the names of a grid to be texts, got 3"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        GridAxis(**{"name": "x", **settings})
