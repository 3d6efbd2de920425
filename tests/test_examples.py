"""The examples as users have them: a package that brings a problem, and a module of their own."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def goexplore(tmp_path):
    """Runs a command in a folder of its own, with what is in `installed` on Python's path."""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}

    def run(*arguments, status=0):
        result = subprocess.run(
            [sys.executable, "-m", "goexplore", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert result.returncode == status, result.stderr
        return result.stderr if status else result.stdout

    return run


def install(package, folder):
    """Install a package as pip does, offline. It is built in a copy, for builds leave files behind."""
    if find_spec("pip") is None or find_spec("setuptools") is None:
        pytest.skip("pip and setuptools are not installed")
    copy = folder / "source"
    shutil.copytree(package, copy)
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "install", *offline, "--target", folder / "installed", copy]
    subprocess.run(command, check=True, timeout=120)


def test_a_package_brings_a_problem_that_every_command_knows_by_name(goexplore, tmp_path):
    install(EXAMPLES / "lock_package", tmp_path)
    assert "\nlock " in goexplore("explore", "--list")
    assert "best score 1 " in goexplore("explore", "lock", "--until-score", "1")
    run = "runs/lock-seed0"
    assert "13 of 13 entries" in goexplore("verify", run, "--all")
    assert "score 1 (search score) in 12 training frames, terminated" in goexplore(
        "demos", run, "--out", "demos"
    )
    assert "as it says" in goexplore("verify", "demos")
    goexplore("report", run)
    assert "Lock" in (tmp_path / run / "report.html").read_text()


def test_a_problem_from_a_module_of_ones_own_is_named_again(goexplore, tmp_path):
    (tmp_path / "installed").mkdir()
    shutil.copy(EXAMPLES / "own_environment.py", tmp_path / "installed")
    target = "own_environment:PROBLEM"
    assert "best score 1 " in goexplore("explore", target, "--until-score", "1", "--run-dir", "run")
    assert f"--problem {target}" in goexplore("verify", "run", status=2)
    assert "no mismatches" in goexplore("verify", "run", "--all", "--problem", target)
    assert "terminated" in goexplore("demos", "run", "--out", "demos", "--problem", target)
    assert "as it says" in goexplore("verify", "demos", "--problem", target)


def test_a_tester_finds_every_way_to_two_bugs(tmp_path):
    result = subprocess.run(
        [sys.executable, EXAMPLES / "game_tester.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    outside, crash = result.stdout.splitlines()
    assert outside.startswith("out-of-bounds: 33 ways, the shortest is [")
    assert outside.count("), (") == 5
    assert crash == "worker-crash: 1 ways, the shortest is [(0, 1), (0, 1), (0, 0)]"
    assert len((EXAMPLES / "game_tester.py").read_text().splitlines()) <= 40
