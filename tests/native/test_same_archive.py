"""Both engines find the same archive, under all presets of Atari games and of all games that are certified.

GOEXPLORE_SAME_GAME_FRAMES and GOEXPLORE_SAME_SEEDS go further.
"""

import os
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from goexplore import _native as native
from goexplore.config import AtariConfig
from goexplore.engines import CERTIFIED
from goexplore.envs import gymnasium_id
from goexplore.presets import PRESETS, preset
from goexplore.running import Limits, explore

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled"),
]

GAME_FRAMES = int(os.environ.get("GOEXPLORE_SAME_GAME_FRAMES", "200000"))
ATARI = [
    *(name for name, config in PRESETS.items() if isinstance(config.env, AtariConfig)),
    *(gymnasium_id(rom) for rom in CERTIFIED),
]
SEEDS = int(os.environ.get("GOEXPLORE_SAME_SEEDS", "1"))


def explored(config, engine, folder):
    """Return all that is written of an archive but the snapshots, which are each engine's own."""
    outcome = explore(
        config, run_dir=folder, limits=Limits(game_frames=GAME_FRAMES), workers=2, engine=engine
    )
    checkpoint = outcome.run.read_checkpoint()
    assert checkpoint.status.game_frames >= GAME_FRAMES
    archive = pq.read_table(checkpoint.folder / "archive.parquet")
    return archive.drop_columns(["snapshot"]), (checkpoint.folder / "segments.parquet").read_bytes()


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", ATARI)
def test_both_engines_find_the_same_archive(name, seed, tmp_path):
    settings = preset(name)
    exploration = settings.exploration
    # An exploration has up to 400 game frames: 25 batches or more, since the first begins at one cell alone.
    batch_size = min(exploration.batch_size, GAME_FRAMES // 10_000)
    config = replace(settings, seed=seed, exploration=replace(exploration, batch_size=batch_size))
    assert explored(config, "native", tmp_path / "native") == explored(config, "ale", tmp_path / "ale")
