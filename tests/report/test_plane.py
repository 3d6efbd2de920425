"""Cells that are two numbers each are drawn on their grid."""

import pytest

from goexplore.exploration import ExplorationConfig
from goexplore.problems import Grid, Problem
from goexplore.report import ArchiveView, write_report
from goexplore.report._plane import find_plane
from goexplore.runs import Limits, SavedRun, run_search
from tests.fields import Field, itself


def explored(cells, folder):
    problem = Problem(env=Field, cells=cells, exploration=ExplorationConfig(batch_size=10))
    run_search(problem, run_dir=folder / "run", limits=Limits(game_frames=20_000))
    return SavedRun.open(folder / "run", problem)


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    return explored(Grid("observation", size=1), tmp_path_factory.mktemp("plane"))


def test_two_numbers_per_cell_are_a_plane(field):
    plane = find_plane(ArchiveView(field.archive, field.problem))
    assert list(plane) == ["observation_0", "observation_1"]
    assert set(zip(*(values.tolist() for values in plane.values()), strict=True)) >= {
        (0, 0),
        (5, 0),
        (11, 11),
    }


@pytest.mark.parametrize("cells", [itself, Grid("observation", dims=(0,)), Grid("observation") + itself])
def test_anything_else_is_none(cells, tmp_path):
    saved = explored(cells, tmp_path)
    assert find_plane(ArchiveView(saved.archive, saved.problem)) is None


def test_the_report_shows_the_plane(field, opened):
    file = field.path / "report.html"
    write_report([field.path], file, problem=field.problem, videos=0)
    tab = opened(file)
    assert tab.locator("#plane svg").count() == 2
    assert "best search score" in tab.locator("#plane").inner_text()
    assert tab.locator("#plane svg image").count() >= 2
