"""The page about cells: what is on it, and that a browser shows it."""

import re

import numpy as np
import pytest

import goexplore
from goexplore.errors import ConfigError
from goexplore.games.two_mazes import TwoMazes
from goexplore.problems import Grid, Problem, Rendering
from goexplore.report import preview_cells
from tests.fields import Field, itself


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    file = tmp_path_factory.mktemp("preview") / "preview.html"
    preview_cells(
        "two-mazes", "rendering(width=1, height=1, levels=2)", Grid("observation", dims=(0,)),
        training_frames=1500, out=file,
    )  # fmt: skip
    return file


def test_the_page_is_one_file_that_is_the_same_each_time(page, tmp_path):
    text = page.read_text()
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    preview_cells(
        "two-mazes", "rendering(width=1, height=1, levels=2)", Grid("observation", dims=(0,)),
        training_frames=1500, out=tmp_path / "again.html",
    )  # fmt: skip
    assert (tmp_path / "again.html").read_text() == text


def test_a_browser_shows_verdict_curves_and_pictures(page, opened):
    tab = opened(page)
    assert tab.title() == "Cells of two-mazes"
    headings = tab.locator("h2").all_inner_texts()
    assert headings == [
        "Verdict",
        "Cells over time",
        "the problem's own: downscaled(width=20, height=15, levels=255)",
        "rendering(width=1, height=1, levels=2)",
        "grid(observation, dims=(0,))",
    ]
    verdicts = tab.locator("#verdict li").all_inner_texts()
    assert "Fine." in verdicts[0]
    assert "Too few cells." in verdicts[1]
    assert tab.locator("#growth svg").count() == 2
    assert "All states of a cell have the same observation." in tab.locator("#choice-0").inner_text()
    assert tab.locator("#choice-0 .pairs figure").count() == 6
    assert tab.locator("#choice-1 .rows img").count() == 6, "one cell, in which many states fall together"
    assert "No two states that follow each other" in tab.locator("#choice-1").inner_text()
    broken = "[...document.images].filter(image => !image.complete || !image.naturalWidth).length"
    assert tab.evaluate(broken) == 0


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_page(page, opened, width):
    tab = opened(page, viewport={"width": width, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_states_that_fall_together_look_different(page):
    rows = re.findall(r'<div class="states">(.*?)</div>', page.read_text())
    images = [re.findall(r'src="([^"]+)"', row) for row in rows]
    assert all(len(set(row)) == len(row) for row in images)


def test_an_environment_without_a_picture_shows_its_observations_as_text(tmp_path):
    file = tmp_path / "page.html"
    preview = preview_cells(Problem(env=Field, cells=itself), training_frames=300, out=file)
    text = file.read_text()
    assert len(preview.choices) == 1
    assert "cell 1, then 2" in text
    (one, other), *_ = (
        re.findall(r'src="([^"]+)"', row) for row in re.findall(r'class="states">(.*?)</div>', text)
    )
    assert one != other
    halves = preview_cells(Problem(env=Field, cells=lambda seen: seen[0] // 6), training_frames=300, out=file)
    assert len(halves.choices[0].keys) == 2
    assert "cell 1 (cell_text 0): " in file.read_text()


def test_cells_by_default_are_left_out_where_there_are_none():
    class Real(Field):
        def observation(self):
            return np.array([self.x, self.y], np.float64)

    preview = preview_cells(Real, Grid("observation", size=3), training_frames=200)
    assert [choice.name for choice in preview.choices] == ["grid(observation, size=3)"]
    with pytest.raises(ConfigError, match="expected a cell function for observations that are real numbers"):
        preview_cells(Real, training_frames=200)


def test_choices_may_be_anything_that_explore_takes():
    preview = goexplore.preview_cells(
        TwoMazes, Rendering(width=4), "grid(observation, dims=(1,))", training_frames=20
    )
    assert [choice.name for choice in preview.choices] == [
        "the problem's own: default",
        "rendering(width=4, height=8, levels=8)",
        "grid(observation, dims=(1,))",
    ]
