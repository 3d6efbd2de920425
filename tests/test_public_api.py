"""What `import goexplore` offers: these names, and nothing else."""

import importlib
import subprocess
import sys

import pytest

import goexplore

PUBLIC = [
    "NOWHERE",
    "CellRepresentation",
    "Demonstration",
    "DownscaledCells",
    "Environment",
    "ExplorationConfig",
    "FunctionCells",
    "GoExploreError",
    "Gymnasium",
    "Grid",
    "Location",
    "PolicyRun",
    "Problem",
    "Rendering",
    "Run",
    "SelectionConfig",
    "Step",
    "Trajectory",
    "Truncation",
    "check_env",
    "evaluate",
    "explore",
    "open_run",
    "preview_cells",
    "problem_names",
    "read_demonstration",
    "register",
    "robustify",
    "write_report",
]

PACKAGES = [
    "api",
    "archive",
    "cells",
    "checks",
    "cli",
    "demos",
    "engines",
    "envs",
    "evaluation",
    "exploration",
    "games",
    "planning",
    "play",
    "problems",
    "replay",
    "report",
    "runs",
    "selection",
    "training",
]


def test_the_public_names_are_these():
    assert sorted(goexplore.__all__) == sorted(PUBLIC)
    assert dir(goexplore) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_each_public_name_is_there(name):
    assert getattr(goexplore, name) is not None


def test_each_public_name_has_one_home():
    homes = sorted(name for names in goexplore._HOMES.values() for name in names)
    assert homes == sorted(PUBLIC)


def test_what_is_not_offered_is_not_there():
    for name in ("numpy", "Archive", "run_search", "nothing"):
        with pytest.raises(AttributeError, match=f"module 'goexplore' has no attribute '{name}'"):
            getattr(goexplore, name)


@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_package_offers_is_there(package):
    module = importlib.import_module(f"goexplore.{package}")
    for name in getattr(module, "__all__", ()):
        assert getattr(module, name) is not None
    offered = getattr(module, "__all__", [])
    assert len(offered) == len(set(offered))


def test_importing_goexplore_imports_nothing_heavy():
    script = (
        "import sys, goexplore; print(sorted({'numpy', 'torch', 'ale_py', 'pyarrow'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
