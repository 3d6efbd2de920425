"""Curves and their bands."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from goexplore.presets import preset
from goexplore.report._curves import PANELS, Group, band, draw_panel
from goexplore.report._paper import paper_search


def curve(*points):
    return [{"game_frames": frames, **dict.fromkeys(PANELS, value)} for frames, value in points]


def test_one_run_is_its_own_mean_without_a_band():
    found = band([curve((50, 5), (100, 10))], "cells")
    assert (found.mean == found.low).all()
    assert (found.mean == found.high).all()
    assert (found.game_frames[0], found.game_frames[-1]) == (0, 100)
    assert found.mean[-1] == 10
    assert np.interp(75, found.game_frames, found.mean) == pytest.approx(7.5)


def test_several_runs_have_a_mean_and_a_percentile_band():
    ends = [1.0, 2.0, 6.0]
    found = band([curve((100, end)) for end in ends], "cells")
    assert found.mean[-1] == pytest.approx(3)
    expected = bootstrap(
        (ends,), np.mean, n_resamples=1000, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    assert found.low[-1] == pytest.approx(expected.low, abs=0.4)
    assert found.high[-1] == pytest.approx(expected.high, abs=0.4)
    assert 1 <= found.low[-1] < 3 < found.high[-1] <= 6


def test_the_band_ends_with_the_shortest_run():
    found = band([curve((100, 1)), curve((40, 1), (300, 9))], "cells")
    assert found.game_frames[-1] == 100


def test_runs_that_agree_have_no_band():
    found = band([curve((100, 7))] * 3, "cells")
    assert (found.low == 7).all()
    assert (found.high == 7).all()


def test_plots_take_their_colours_from_the_page_and_their_names_from_themselves():
    group = Group(name="some", curves=[curve((100, 1)), curve((100, 5))], paper=None)
    one, other = (draw_panel([group], column) for column in ("cells", "rooms"))
    assert "var(--ink)" in one
    assert "#010203" not in one
    names = [{part.split('"')[0] for part in svg.split('id="')[1:]} for svg in (one, other)]
    assert not names[0] & names[1]
    assert 'aria-label="cells over game frames"' in one
    assert "<script" not in one


@pytest.mark.parametrize(
    ("name", "rooms", "levels"),
    [("montezuma", 238, 11), ("montezuma-2021", 238, 11), ("montezuma-pixels", 35, 2), ("pitfall", 255, 0)],
)
def test_the_papers_numbers_are_found_by_game_and_cells(name, rooms, levels):
    paper = paper_search(preset(name))
    assert (paper.rooms, len(paper.levels)) == (rooms, levels)


def test_other_games_have_no_line_of_the_paper():
    assert paper_search(preset("ALE/Freeway-v5")) is None
