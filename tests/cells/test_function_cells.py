import numpy as np
import pytest

from goexplore.cells import FunctionCells
from goexplore.errors import ConfigError


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, 23), (12, 3)),
        ("1", 1),
        (True, 1),
        ((1, (2, 3)), (1, 2, 3)),
        (np.array([[1, 2], [3, 4]]), np.array([1, 2, 3, 4])),
        (b"a", b"b"),
    ],
)
def test_different_values_are_different_cells(one, other):
    cells = FunctionCells(lambda value: value)
    assert cells.update(one) == cells.update(one)
    assert cells.update(one) != cells.update(other)


def test_numpy_scalars_are_the_numbers_they_hold():
    cells = FunctionCells(lambda value: value)
    assert cells.update((np.int64(3), np.bool_(True))) == cells.update((3, True))


@pytest.mark.parametrize("value", [1.5, (1, 2.0), {"x": 1}, np.zeros(2)])
def test_values_that_would_give_unstable_cells_are_refused(value):
    with pytest.raises(ConfigError, match="whole numbers"):
        FunctionCells(lambda observation: observation).update(value)


def test_none_ends_the_episode_but_cannot_begin_one():
    cells = FunctionCells(lambda value: None)
    assert cells.update(0) is None
    with pytest.raises(ConfigError, match="initial state"):
        cells.reset(0)
