"""A search beside its baselines."""

import contextlib
import io
import shutil
import signal
import subprocess
import sys

import pytest

from goexplore.cli import main
from goexplore.evaluation import BY_REPLAY, MEANING, OURS, by_replay, up_to, variants
from goexplore.problems import find_problem
from goexplore.runs import SavedRun, SearchMetrics

COMPARE = ["compare", "two-mazes", "--game-frames", "20K", "--seeds", "2"]


def line(game_frames, with_replay, cells):
    return SearchMetrics(game_frames=game_frames, game_frames_with_replay=with_replay, cells=cells)


def test_every_variant_is_explained():
    assert {*variants(find_problem("montezuma")), BY_REPLAY} == set(MEANING)


def test_variants_differ_in_what_they_say_alone():
    base = find_problem("montezuma-2021")
    found = variants(base)
    assert found[OURS] == base
    assert found["uniform selection"].selection.rule == "uniform"
    assert found["restarts"].exploration == base.exploration
    assert {problem.cells for problem in found.values()} == {base.cells}
    assert {problem.env for problem in found.values()} == {base.env}


def rows(said):
    return {row.split(" | ")[0].strip("| "): row for row in said.splitlines() if row.startswith("| ")}


def ends(curve):
    return [(each.game_frames, each.cells) for each in curve]


def test_what_was_found_within_the_budget_counts():
    metrics = [line(10, 10, 5), line(20, 60, 8), line(30, 150, 9)]
    assert ends(up_to(metrics, 29)) == [(0, 1), (10, 5), (20, 8)]
    assert ends(up_to(metrics, 30)) == [(0, 1), (10, 5), (20, 8), (30, 9)]


def test_replay_costs_frames():
    metrics = [line(10, 10, 5), line(20, 60, 8), line(30, 150, 9)]
    assert ends(by_replay(metrics, 100)) == [(0, 1), (10, 5), (60, 8)]


def test_a_budget_too_small_for_a_batch_has_found_the_start():
    assert ends(by_replay([line(10, 500, 5)], 100)) == [(0, 1)]


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
    found = rows(first)
    assert set(found) >= set(MEANING)

    def cells(name):
        return float(found[name].split(" | ")[1].split(" ")[0])

    def game_frames(name):
        return int(found[name].rsplit(" | ", 1)[1].strip(" |").replace(",", ""))

    assert all(10_000 < game_frames(name) <= 20_000 for name in MEANING)
    assert cells(OURS) > cells("restarts")
    assert cells(OURS) > cells(BY_REPLAY)


def test_the_variants_have_the_settings_that_are_given(tmp_path, capsys):
    short = ["--exploration.training-frames", "7", "--game-frames", "4K", "--seeds", "1"]
    assert main(["compare", "two-mazes", *short, "--run-dir", str(tmp_path), "--workers", "0"]) == 0
    assert "one run of each" in capsys.readouterr().out
    chosen = {
        path.name: SavedRun.open(path).problem.exploration.training_frames
        for path in tmp_path.iterdir()
        if path.is_dir()
    }
    assert chosen == {
        "as-it-is-seed0": 7,
        "uniform-selection-seed0": 7,
        "restarts-seed0": 7,
        "random-seed0": 65_535,
    }


def test_an_earlier_longer_comparison_changes_nothing(compared, tmp_path, capsys):
    """What a smaller budget finds is read from the longer run, at the same batch as if it had ended there."""
    shorter = ["compare", "two-mazes", "--game-frames", "7001", "--seeds", "2"]
    assert main([*shorter, "--run-dir", str(tmp_path / "alone")]) == 0
    alone = capsys.readouterr().out
    assert main([*shorter, "--run-dir", str(shutil.copytree(compared[0], tmp_path / "longer"))]) == 0
    assert rows(capsys.readouterr().out) == rows(alone)


def test_an_interrupted_comparison_goes_on(compared, tmp_path, capsys):
    command = [sys.executable, "-m", "goexplore", *COMPARE, "--run-dir", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for said in process.stderr:
        if said.startswith("restarts"):
            break
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert main([*COMPARE, "--run-dir", str(tmp_path)]) == 0
    assert rows(capsys.readouterr().out) == rows(compared[1])


def test_few_runs_are_no_proof(compared):
    assert "over 2 they have the true mean in them about 51 % of the time" in compared[1]


@pytest.mark.parametrize("width", [320, 1600])
def test_the_page_in_a_browser(opened, compared, width):
    tab = opened(compared[0] / "compare.html", viewport={"width": width, "height": 800})
    assert tab.locator(".plots svg").count() == 2  # the mazes have no rooms and no levels
    assert set(MEANING) <= set(tab.locator("#table td:first-child").all_inner_texts())
    assert all(name in tab.locator(".legend").inner_text() for name in MEANING)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "expected a registered problem"),
        (["--seeds", "3"], "expected TARGET first"),
        (["two-mazes", "--seeds", "0"], "expected --seeds to be 1 or more"),
        (["two-mazes", "--exploration.training-frames", "0"], "--exploration.training-frames to be"),
    ],
)
def test_mistakes_are_told(arguments, message, tmp_path, capsys):
    assert main(["compare", *arguments, "--run-dir", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
