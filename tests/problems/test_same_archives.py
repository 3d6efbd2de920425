"""Every preset finds what it found before: archives.json has the digests of all columns but the snapshots.

They are of searches with two workers and seed 0: short ones in batches of 25, and long ones in the batches of
the preset. A change that is meant to find something else needs new ones, and says so in CHANGELOG.md.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from goexplore import _native as native
from goexplore.archive import ARCHIVE_FILE, SEGMENTS_FILE
from goexplore.games import AtariGame
from goexplore.problems import find_problem
from goexplore.runs import Limits, run_search

EXPECTED = json.loads(Path(__file__).with_name("archives.json").read_text())
GAME_FRAMES = {"short": 60_000, "long": 400_000}


def searched(name, length):
    """Return a preset's problem as it is searched for so long."""
    problem = find_problem(name)
    if length == "short":
        problem = replace(problem, exploration=replace(problem.exploration, batch_size=25))
    return problem


def found(name, length, engine, folder):
    limits = Limits(game_frames=GAME_FRAMES[length])
    problem = searched(name, length)
    run = run_search(problem, run_dir=folder, limits=limits, seed=0, workers=2, engine=engine).run
    checkpoint = run.last_checkpoint()
    tables = [pq.read_table(checkpoint.folder / file) for file in (ARCHIVE_FILE, SEGMENTS_FILE)]
    return {
        "game_frames": checkpoint.status.game_frames,
        "cells": checkpoint.status.cells,
        "columns": {
            column: hashlib.sha256(repr(table[column].to_pylist()).encode()).hexdigest()[:16]
            for table in tables
            for column in table.column_names
            if column in EXPECTED[length][name]["columns"]
        },
    }


def is_atari(name):
    return isinstance(find_problem(name).env, AtariGame)


@pytest.mark.parametrize("length", ["short", pytest.param("long", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", EXPECTED["long"])
def test_a_preset_finds_the_same_archive_as_before(name, length, tmp_path):
    if is_atari(name) and native.atari is None:
        pytest.skip("the native engine was not compiled")
    engine = "native" if is_atari(name) else "auto"
    assert found(name, length, engine, tmp_path / "run") == EXPECTED[length][name]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EXPECTED["long"] if is_atari(name)])
def test_a_preset_finds_the_same_archive_as_before_on_ale_py(name, tmp_path):
    assert found(name, "long", "ale", tmp_path / "run") == EXPECTED["long"][name]
