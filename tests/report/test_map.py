"""Maps and galleries of real runs."""

import numpy as np
import pytest

from goexplore.envs import Location
from goexplore.games import facts
from goexplore.problems import find_problem
from goexplore.report import COLOURINGS, ArchiveView, draw_levels, draw_poster, has_map
from goexplore.report._gallery import draw_tree, gallery
from goexplore.report._map import _scale
from goexplore.runs import SavedRun


def look(run):
    saved = SavedRun.open(run)
    return ArchiveView(saved.archive, saved.problem)


def test_every_room_of_a_map_has_one_place():
    for game in ("montezuma_revenge", "pitfall"):
        rooms = [room for row in facts(game).room_map.rows for room in row]
        assert sorted(rooms) == list(range(len(rooms)))
    assert [len(row) for row in facts("montezuma_revenge").room_map.rows] == [3, 5, 7, 9]
    assert sum(len(row) for row in facts("pitfall").room_map.rows) == 255


def test_every_byte_of_pitfall_is_a_room_of_its_own():
    assert sorted(facts("pitfall").room_numbers) == list(range(256))


def test_pitfall_begins_in_room_0_whatever_the_cells():
    env = find_problem("pitfall").env()
    env.reset()
    env.step(0)
    assert env.location() == Location(0, 0)


def test_rooms_that_were_found_show_a_real_picture_and_their_cells(montezuma):
    view = look(montezuma)
    (level,) = draw_levels(view, COLOURINGS)
    found = {location.room for location in view.locations}
    assert level.rooms == len(found) > 0
    height, width = level.pixels.shape[:2]
    assert (height, width) == (4 * 162 - 2, 9 * 162 - 2)
    start = level.pixels[:160, 4 * 162 : 4 * 162 + 160, :3]  # room 1, in the middle of the top row
    assert len(np.unique(start.reshape(-1, 3), axis=0)) > 5
    assert len(np.unique(level.pixels[-160:-20, :160].reshape(-1, 4), axis=0)) == 1  # room 15 was not found
    assert len(np.unique(level.pixels[-20:, :40].reshape(-1, 4), axis=0)) > 2  # but has its number
    for layer in level.layers.values():
        covered = layer.pixels[..., 3] > 0
        assert covered[:160, 4 * 162 : 4 * 162 + 160].any()
        assert not covered[-160:, :160].any()


def test_a_cell_covers_the_pixels_that_it_stands_for(montezuma):
    view = look(montezuma)
    spots = [spot for spot in view.spots if spot.location.room == 1]
    assert {(spot.bottom - spot.top, spot.right - spot.left) for spot in spots} == {(16, 8)}
    (first,) = (spot for spot, entries in view.spots.items() if 0 in entries)
    assert first.left <= 77 <= first.right  # the game begins in the middle of the screen
    assert sum(len(entries) for entries in view.spots.values()) == len(view.archive)


def test_colours_follow_the_archive(montezuma):
    view = look(montezuma)
    seen = view.spot_values("seen")
    assert sum(seen.values()) == view.archive.values("times_seen").sum()
    assert max(view.spot_values("score").values()) == view.archive.values("score").max()
    assert min(view.spot_values("found").values()) == 0
    assert sum(view.spot_values("probability").values()) == pytest.approx(1)


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize("values", [[0.0, 1, 10], [3.0, 3, 3], [0.0, 0, 0], [1e-9, 1e-3, 0]])
def test_every_value_has_a_colour(values, logarithmic):
    values = np.array(values)
    scaled = _scale(values, values.min(), values.max(), logarithmic)
    assert ((scaled >= 0) & (scaled <= 1)).all()
    assert scaled[values.argmax()] == scaled.max()


def test_pitfall_is_a_strip_of_255_rooms(pitfall):
    (level,) = draw_levels(look(pitfall), ["seen"])
    assert level.pixels.shape[:2] == (15 * 162 - 2, 17 * 162 - 2)
    assert level.rooms >= 2


def test_without_positions_whole_rooms_are_coloured(pitfall_pixels):
    view = look(pitfall_pixels)
    (level,) = draw_levels(view, ["seen"])
    covered = level.layers["seen"].pixels[..., 3] > 0
    top, left = 7 * 162, 8 * 162  # room 0, where the game begins, is in the middle
    assert covered[top : top + 159, left : left + 159].all()
    assert level.rooms == len({location.room for location in view.locations})


def test_a_poster_has_the_shape_of_the_game(montezuma):
    (level,) = draw_levels(look(montezuma), ["found"])
    poster = draw_poster(level, "found", "title")
    assert poster.size == (level.shape[1], level.shape[0] + 64)
    assert level.shape[1] / level.shape[0] == pytest.approx(9 * 280 / (4 * 160), rel=0.02)


def test_a_game_without_a_map_has_a_gallery_and_a_tree(freeway):
    view = look(freeway)
    assert not has_map(view)
    shown = gallery(view)
    assert 1 < len(shown) <= 60
    assert [each.entry for each in shown] == sorted({each.entry for each in shown})
    assert all(each.picture.shape == (210, 160, 3) for each in shown)
    assert draw_tree(view.archive).startswith("<svg viewBox=")
