"""All engines play the games alike: the same rewards, ends, lives, locations, screens and pictures."""

from functools import cache
from hashlib import blake2b

import pytest

from goexplore.games import AtariGame
from goexplore.random import SplitMix64
from tests.conformance.lists import ENGINES, GAMES

STEPS = 250


@cache
def played(game, engine, frame_skip, episode_end):
    """Return what some random play on an engine shows, with restores on the way."""
    spec = AtariGame(game=f"ALE/{game}-v5", frame_skip=frame_skip, episode_end=episode_end)
    env = spec.with_engine(engine).env()
    env.reset()
    random, action, shown = SplitMix64(11), 0, []
    for number in range(STEPS):
        if not random.happens(0.8):
            action = random.index(env.action_count)
        step = env.step(action)
        screen = blake2b(env.observation().tobytes(), digest_size=8).digest()
        picture = blake2b(env.picture().tobytes(), digest_size=8).digest() if number % 10 == 0 else None
        shown.append((step, env.lives(), env.location(), env.memory(), screen, picture))
        if step.ended:
            env.reset()
        elif number % 16 == 0:
            env.restore(env.snapshot())
    env.close()
    return shown


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("game", GAMES)
def test_engines_play_alike(game, engine):
    assert played(game, engine, 4, None) == played(game, "ale", 4, None)


@pytest.mark.parametrize("engine", ENGINES)
def test_other_frame_skips_and_ends_are_played_alike_too(engine):
    settings = ("MontezumaRevenge", 3, "game-over"), ("Pitfall", 2, "life-loss")
    for game, frame_skip, episode_end in settings:
        shown = played(game, engine, frame_skip, episode_end)
        assert shown == played(game, "ale", frame_skip, episode_end)
