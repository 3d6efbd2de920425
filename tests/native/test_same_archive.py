"""Both engines find the same archive, under all presets of Atari games and of all games that are certified.

GOEXPLORE_SAME_GAME_FRAMES and GOEXPLORE_SAME_SEEDS go further.
"""

import os
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from goexplore import _native as native
from goexplore.envs import gymnasium_id
from goexplore.games import AtariGame, certificate
from goexplore.problems import family, find_problem, problem_names
from goexplore.runs import Limits, run_search

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled"),
]

GAME_FRAMES = int(os.environ.get("GOEXPLORE_SAME_GAME_FRAMES", "200000"))
PRESETS = [find_problem(name) for name in problem_names() if family(name) is None]
ATARI = [
    *(problem.name for problem in PRESETS if isinstance(problem.env, AtariGame)),
    *(gymnasium_id(rom) for rom in (native.atari.GAMES if native.atari else ()) if certificate(rom)),
]
SEEDS = int(os.environ.get("GOEXPLORE_SAME_SEEDS", "1"))


def explored(problem, seed, engine, folder):
    """Return all that is written of an archive but the snapshots, which are each engine's own."""
    limits = Limits(game_frames=GAME_FRAMES)
    outcome = run_search(problem, run_dir=folder, limits=limits, seed=seed, workers=2, engine=engine)
    checkpoint = outcome.run.last_checkpoint()
    assert checkpoint.status.game_frames >= GAME_FRAMES
    archive = pq.read_table(checkpoint.folder / "archive.parquet")
    return archive.drop_columns(["snapshot"]), (checkpoint.folder / "segments.parquet").read_bytes()


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", ATARI)
def test_both_engines_find_the_same_archive(name, seed, tmp_path):
    problem = find_problem(name)
    # An exploration has up to 400 game frames: 25 batches or more, since the first begins at one cell alone.
    batch_size = min(problem.exploration.batch_size, GAME_FRAMES // 10_000)
    problem = replace(problem, exploration=replace(problem.exploration, batch_size=batch_size))
    native, ale = (explored(problem, seed, engine, tmp_path / engine) for engine in ("native", "ale"))
    assert native == ale
