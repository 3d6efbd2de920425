"""A package that brings problems: an entry point is all that it takes."""

import os

import pytest

from tests.cli.commands import goexplore

MODULE = """
from goexplore import ExplorationConfig, Problem
from tests.fields import Field

def corner(observation):
    return observation[0] // 2, observation[1] // 2

FIELD = Problem(env=Field, cells=corner, exploration=ExplorationConfig(batch_size=10))
"""

ENTRY_POINTS = """
[goexplore.problems]
treasure-field = treasures.problems:FIELD
treasure-field-fine = treasures.problems:Field
broken-field = treasures.problems:NOTHING
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What pip would leave behind; returns how commands see it."""
    site = tmp_path_factory.mktemp("site")
    (site / "treasures").mkdir()
    (site / "treasures" / "__init__.py").touch()
    (site / "treasures" / "problems.py").write_text(MODULE)
    info = site / "treasures-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: treasures\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS.replace("broken-field", "# broken-field"))
    tests = str(__file__).partition("/tests/")[0]
    return {"env": {**os.environ, "PYTHONPATH": f"{site}:{tests}"}, "cwd": site}


@pytest.fixture(scope="module")
def run(installed):
    result = goexplore("explore", "treasure-field", "--game-frames", "8K", "--run-dir", "run", **installed)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_its_problems_are_listed(installed):
    printed = goexplore("explore", "--list", **installed).stdout
    assert "treasure-field " in printed
    assert "treasure-field-fine " in printed
    assert "two-mazes " in printed


def test_its_problems_are_explored_by_their_names(run):
    assert "best score " in run
    assert "check: goexplore verify run)" in run, "nothing has to be named again"


def test_their_settings_are_options(installed):
    printed = goexplore("explore", "treasure-field", "--help", **installed).stdout
    assert "--exploration.batch-size" in printed
    assert "--selection.rule" in printed


@pytest.mark.parametrize(
    "arguments",
    [["verify", "run", "--all"], ["demos", "run", "--out", "demos"], ["report", "run"]],
    ids=" ".join,
)
def test_its_runs_are_opened_without_naming_the_problem(arguments, run, installed):
    result = goexplore(*arguments, **installed)
    assert result.returncode == 0, result.stderr


def test_where_the_package_is_missing_its_runs_say_so(run, installed):
    result = goexplore("verify", "run", cwd=installed["cwd"].parent, env={**os.environ})
    assert result.returncode == 2
    result = goexplore("verify", installed["cwd"] / "run")
    assert result.returncode == 2
    assert "expected a problem that an installed package registers, got treasure-field" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_package_whose_problem_is_gone_is_named(installed):
    file = installed["cwd"] / "treasures-1.0.dist-info" / "entry_points.txt"
    whole = file.read_text()
    file.write_text(ENTRY_POINTS)
    try:
        result = goexplore("explore", "broken-field", **installed)
        listed = goexplore("explore", "--list", **installed)
    finally:
        file.write_text(whole)
    assert result.returncode == 2
    assert "expected treasures.problems:NOTHING, which a package registered as broken-field" in result.stderr
    assert listed.returncode == 0
    assert "treasure-field-fine " in listed.stdout, "the others are listed nonetheless"
    assert "broken-field           cannot be used: expected treasures.problems:NOTHING" in listed.stdout
