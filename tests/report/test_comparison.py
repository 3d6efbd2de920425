"""A search beside its baselines."""

import contextlib
import io

import pytest

from goexplore.cli import main
from goexplore.comparison import BY_REPLAY, MEANING, OURS, by_replay, variants
from goexplore.presets import preset

COMPARE = ["compare", "two-mazes", "--game-frames", "20K", "--seeds", "2"]


def line(game_frames, with_replay, cells):
    return {
        "game_frames": game_frames,
        "game_frames_with_replay": with_replay,
        "cells": cells,
        "rooms": 1,
        "level": 0,
        "max_score": 0.0,
    }


def test_every_variant_is_explained():
    assert {*variants(preset("montezuma")), BY_REPLAY} == set(MEANING)


def test_variants_differ_in_what_they_say_alone():
    base = preset("montezuma-2021")
    found = variants(base)
    assert found[OURS] == base
    assert found["uniform selection"].selection.rule == "uniform"
    assert found["restarts"].exploration == base.exploration
    assert {config.cells for config in found.values()} == {base.cells}
    assert {config.env for config in found.values()} == {base.env}


def test_replay_costs_frames():
    metrics = [line(10, 10, 5), line(20, 60, 8), line(30, 150, 9)]
    moved = by_replay(metrics, 100)
    assert [(each["game_frames"], each["cells"]) for each in moved] == [(10, 5), (60, 8), (100, 8)]


def test_a_budget_too_small_for_the_first_line_has_found_the_start():
    assert by_replay([line(10, 500, 5)], 100)[-1]["cells"] == 1


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The folder of a comparison, and what the command said."""
    folder = tmp_path_factory.mktemp("compare")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main([*COMPARE, "--run-dir", str(folder)]) == 0
    return folder, said.getvalue()


def test_the_command_compares_and_resumes(compared, capsys):
    folder, first = compared
    assert main([*COMPARE, "--run-dir", str(folder)]) == 0
    assert capsys.readouterr().out == first, "nothing is searched again"
    page = (folder / "compare.html").read_text()
    rows = {row.split(" | ")[0].strip("| "): row for row in first.splitlines() if row.startswith("| ")}
    assert set(rows) >= set(MEANING)
    for name in MEANING:
        assert name in page

    def cells(name):
        return float(rows[name].split(" | ")[1].split(" ")[0])

    assert cells(OURS) > cells("restarts")
    assert cells(OURS) > cells(BY_REPLAY)


@pytest.mark.parametrize("width", [320, 1600])
def test_the_page_in_a_browser(opened, compared, width):
    tab = opened(compared[0] / "compare.html", viewport={"width": width, "height": 800})
    assert tab.locator(".plots svg").count() == 2  # the mazes have no rooms and no levels
    assert set(MEANING) <= set(tab.locator("#table td:first-child").all_inner_texts())
    assert all(name in tab.locator(".legend").inner_text() for name in MEANING)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nowhere"], "expected a preset"), (["two-mazes", "--seeds", "0"], "--seeds to be 1 or more")],
)
def test_mistakes_are_told(arguments, message, tmp_path, capsys):
    assert main(["compare", *arguments, "--run-dir", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
