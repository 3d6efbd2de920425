import numpy as np
import pytest

from goexplore import _native as native
from goexplore.games._character import CHARACTER, find_character
from goexplore.games.montezuma_revenge import MontezumaCells
from goexplore.games.pitfall import PitfallCells


@pytest.mark.skipif(native.cells is None, reason="installed without a C compiler")
def test_the_compiled_search_equals_the_reference(monkeypatch):
    random = np.random.default_rng(0)
    screens = [np.zeros((210, 160), np.uint8)]
    for pixels in [1, 1, 2, 2, 3, 5, 8, 13, 100, 3000] * 30:
        screen = random.integers(0, CHARACTER, (210, 160), dtype=np.uint8)
        screen.ravel()[random.integers(0, screen.size, pixels)] = CHARACTER
        screens.append(screen)
    for corner in ((50, 0), (209, 159), (49, 159)):
        screen = np.zeros((210, 160), np.uint8)
        screen[corner] = CHARACTER
        screens.append(screen)
    compiled = [find_character(screen) for screen in screens]
    monkeypatch.setattr(native, "cells", None)
    assert compiled == [find_character(screen) for screen in screens]
    assert compiled[0] is None
    assert {found[2] for found in compiled if found} == {True, False}


@pytest.mark.skipif(native.cells is None, reason="installed without a C compiler")
def test_the_compiled_search_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="rows x columns"):
        native.cells.find_character(bytes(100), 0, CHARACTER)
    with pytest.raises(ValueError, match="first row"):
        native.cells.find_character(np.zeros((10, 10), np.uint8), 11, CHARACTER)


@pytest.mark.parametrize("cells", [MontezumaCells(), PitfallCells()])
@pytest.mark.parametrize("size", range(25))
def test_keys_of_damaged_archives_do_no_harm(cells, size):
    damaged = bytes(range(1, size + 1))
    for of_key in (
        cells.horizontal_neighbours,
        cells.vertical_neighbours,
        cells.spot,
        cells.level_of,
        cells.rank,
    ):
        if of_key is not None:
            of_key(damaged)
    columns = cells.columns([damaged, damaged + b"x"])
    assert {len(column) for column in columns.values()} == {2}
    assert len(cells.areas([damaged])) == 1


def test_a_damaged_key_of_megabytes_ranks_as_one_with_all_keys():
    assert MontezumaCells().rank(bytes(5) + b"\1" * 4) == 4
    assert MontezumaCells().rank(bytes(3_000_000)) == 4
