"""Curves and their bands."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from goexplore.problems import find_problem
from goexplore.report._curves import PANELS, Group, band, draw_panel, panels
from goexplore.report._paper import paper_search
from goexplore.runs import SearchMetrics


def curve(*points):
    return [SearchMetrics(game_frames=frames, **dict.fromkeys(PANELS, value)) for frames, value in points]


def make_group(*curves, paper=None, rooms=True, levels=True):
    return Group(name="some", curves=curves, paper=paper, has_rooms=rooms, has_levels=levels)


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


def test_beyond_the_end_of_the_shorter_runs_the_others_go_on():
    found = band([curve((100, 1)), curve((100, 3), (300, 9))], "cells")
    assert found.game_frames[-1] == 300
    assert np.interp(90, found.game_frames, found.mean) == pytest.approx(1.9)  # 1 and 2.8, from 1 at 0
    assert np.interp(200, found.game_frames, found.mean) == pytest.approx(6)
    assert np.interp(200, found.game_frames, found.high) == pytest.approx(6)
    assert np.interp(90, found.game_frames, found.high) > 2.5


def test_a_run_that_has_not_begun_does_not_hide_the_others():
    found = band([curve((0, 0)), curve((100, 5))], "cells")
    assert found.mean[-1] == 5
    assert not np.isnan(found.mean).any()


def test_runs_that_agree_have_no_band():
    found = band([curve((100, 7))] * 3, "cells")
    assert np.allclose(found.low, found.mean)
    assert np.allclose(found.high, found.mean)


def test_plots_take_their_colours_from_the_page_and_their_names_from_themselves():
    group = make_group(curve((100, 1)), curve((100, 5)))
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
    paper = paper_search(find_problem(name))
    assert (paper.rooms, len(paper.levels)) == (rooms, levels)


def test_other_games_have_no_line_of_the_paper():
    assert paper_search(find_problem("ALE/Freeway-v5")) is None


def test_the_papers_points_are_drawn_as_far_as_our_curves_go():
    paper = paper_search(find_problem("montezuma"))
    group = make_group(curve((100_000_000, 1)), paper=paper)
    assert group.papers_points("level") == [(58e6, 1.0), (104e6, 2.0)]
    assert group.papers_points("rooms") == []
    assert group.papers_points("cells") == []
    group = make_group(curve((600_000_000, 1)), paper=paper)
    assert group.papers_points("rooms") == [(600e6, 238)]
    assert make_group(curve((600_000_000, 1))).papers_points("level") == []


def test_games_without_rooms_or_levels_have_no_plots_of_them():
    point = curve((100, 1))
    assert panels([make_group(point)]) == list(PANELS)
    assert "level" not in panels([make_group(point, levels=False)])
    assert "rooms" not in panels([make_group(point, rooms=False, levels=False)])
