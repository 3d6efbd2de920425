"""Real runs to look at, made once."""

from pathlib import Path

import pytest

import goexplore
from goexplore import _native as native

ENGINE, GAME_FRAMES = ("ale", 60_000) if native.atari is None else ("native", 400_000)


def explore(preset, folder, **settings):
    run = folder / preset.rpartition("/")[2]
    limits = goexplore.Limits(game_frames=settings.pop("game_frames", GAME_FRAMES))
    goexplore.explore(goexplore.preset(preset), run_dir=run, limits=limits, **settings)
    return run


@pytest.fixture(scope="session")
def montezuma(tmp_path_factory) -> Path:
    return explore("montezuma-2021", tmp_path_factory.mktemp("runs"), engine=ENGINE)


@pytest.fixture(scope="session")
def pitfall(tmp_path_factory) -> Path:
    return explore("pitfall", tmp_path_factory.mktemp("runs"), engine=ENGINE, game_frames=60_000)


@pytest.fixture(scope="session")
def pitfall_pixels(tmp_path_factory) -> Path:
    return explore("pitfall-pixels", tmp_path_factory.mktemp("runs"), engine=ENGINE, game_frames=60_000)


@pytest.fixture(scope="session")
def freeway(tmp_path_factory) -> Path:
    """A game without a map."""
    return explore("ALE/Freeway-v5", tmp_path_factory.mktemp("runs"), game_frames=20_000)
