"""The stochastic game and what a policy sees of it."""

import numpy as np
import pytest

from goexplore.config import AtariConfig, MazesConfig
from goexplore.demos import find_demonstration
from goexplore.errors import ConfigError
from goexplore.random import SplitMix64
from goexplore.training import Preprocessor, PreprocessingConfig, StochasticGame

from .mazes import ACTIONS, MONTEZUMA

UP, LEFT = 4, 2


class Scripted(SplitMix64):
    """A stream whose events happen as written."""

    def __init__(self, events):
        self.events = list(events)

    def happens(self, probability):
        return self.events.pop(0)


def play(game, actions, random=None):
    return [game.step(action, random) for action in actions]


def test_without_a_stream_it_is_the_deterministic_game():
    game = StochasticGame(MazesConfig(), "ale")
    game.reset()
    assert sum(step.reward for step in play(game, ACTIONS)) == 200


def test_a_sticky_frame_repeats_the_action_that_was_played_last():
    game = StochasticGame(MazesConfig(), "ale")
    game.reset()
    start = game.snapshot().emulator
    game.step(LEFT, Scripted([False]))
    game.step(UP, Scripted([True]))  # left again
    twice_left = game.snapshot().emulator
    game.reset()
    play(game, [LEFT, LEFT])
    assert game.snapshot().emulator == twice_left != start


def test_stickiness_is_drawn_for_every_game_frame():
    game = StochasticGame(MazesConfig(frame_skip=3), "ale")
    game.reset()
    game.step(LEFT, stream := Scripted([False, True, True]))
    assert not stream.events
    one_by_one = StochasticGame(MazesConfig(), "ale")
    one_by_one.reset()
    play(one_by_one, [LEFT] * 3)
    assert game.snapshot().emulator == one_by_one.snapshot().emulator


@pytest.mark.parametrize("engine", ["ale", "native"])
def test_who_watches_sees_every_game_frame_and_changes_nothing(engine):
    demonstration = find_demonstration("montezuma-first-key-00")
    alone, watched = (StochasticGame(demonstration.env, engine) for _ in range(2))
    rewards = []
    watched.watch = rewards.append
    ours, theirs = (play(game, demonstration.actions, SplitMix64(4)) for game in (watched, alone))
    assert ours == theirs
    assert watched.snapshot() == alone.snapshot()
    assert (watched.env.observation() == alone.env.observation()).all()
    assert len(rewards) == 4 * len(demonstration.actions)
    assert sum(rewards) == sum(step.reward for step in ours)


def test_the_action_that_sticks_survives_a_restore():
    game = StochasticGame(MazesConfig(), "ale")
    game.reset()
    game.step(LEFT)
    state = game.snapshot()
    game.step(UP, Scripted([True]))
    expected = game.snapshot()
    game.reset()
    game.restore(state)
    game.step(UP, Scripted([True]))
    assert game.snapshot() == expected


def test_actions_stick_as_often_as_asked_for():
    game = StochasticGame(MazesConfig(), "ale", repeat_action_probability=0.25)
    random, stuck = SplitMix64(1), 0
    for number in range(4000):
        if number % 300 == 0:
            game.reset()
        action = 1 + number % 2
        game.step(action, random)
        stuck += game.snapshot().last_action != action
    # Of two in a row that stick, the second one repeats what is asked for: q = 0.25 (1 - q).
    assert 0.17 < stuck / 4000 < 0.23


@pytest.mark.parametrize("engine", ["ale", "native"])
def test_no_ops_are_single_game_frames(engine):
    game = StochasticGame(MONTEZUMA, engine)
    game.reset(6)
    by_hand = StochasticGame(AtariConfig(game="montezuma_revenge", frame_skip=2), engine)
    by_hand.reset()
    play(by_hand, [0] * 3)
    assert game.snapshot() == by_hand.snapshot()


def test_a_lost_life_is_told_and_the_game_goes_on():
    game = StochasticGame(MONTEZUMA, "native")
    game.reset()
    lives = game.lives
    while not (step := game.step(3)).lost_life:  # right, off the ledge
        assert game.lives == lives
    assert game.lives == lives - 1
    assert not step.over


def test_eyes_forget_one_whole_screen_at_a_time():
    """Earlier code rolled colour stacks by one channel."""
    game = StochasticGame(MONTEZUMA, "native")
    preprocessing = Preprocessor(game.env, PreprocessingConfig(width=16, height=20, stack=3, colour=True))
    game.reset()
    preprocessing.reset()
    assert preprocessing.observation.shape == (9, 20, 16)
    for screen in range(3):
        np.testing.assert_array_equal(preprocessing.observation[3 * screen : 3 * screen + 3], preprocessing.screen())
    seen = [preprocessing.screen()]
    for action in (1, 3, 3, 4):
        game.step(action)
        preprocessing.observe()
        seen.append(preprocessing.screen())
    np.testing.assert_array_equal(preprocessing.observation, np.concatenate(seen[-3:]))


def test_both_engines_look_the_same():
    seen = []
    for engine in ("ale", "native"):
        game = StochasticGame(MONTEZUMA, engine)
        preprocessing = Preprocessor(game.env, PreprocessingConfig())
        game.reset()
        preprocessing.reset()
        for action in (1, 1, 3, 3, 3):
            game.step(action)
            preprocessing.observe()
        seen.append(preprocessing.observation)
    np.testing.assert_array_equal(*seen)


def test_eyes_too_large_for_the_screen_are_refused():
    game = StochasticGame(MazesConfig(), "ale")
    game.reset()
    with pytest.raises(ConfigError, match="at most 20 x 15 pixels"):
        Preprocessor(game.env, PreprocessingConfig()).reset()
