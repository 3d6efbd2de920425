"""The stochastic game: sticky actions and no-ops, whoever made the environment."""

import pytest

from goexplore.demos import find_demonstrations
from goexplore.envs import Environment, Step
from goexplore.games import AtariGame
from goexplore.games.two_mazes import TwoMazesConfig
from goexplore.play import Played, StochasticGame
from goexplore.problems import FactorySpec
from goexplore.random import SplitMix64
from tests.fields import Corridor, Field, Lock
from tests.training.mazes import ACTIONS, MONTEZUMA, native

UP, LEFT = 4, 2
ENGINES = pytest.mark.parametrize("engine", ["ale", "native"])


class Scripted(SplitMix64):
    """A stream whose events happen as written."""

    def __init__(self, events):
        self.events = list(events)

    def happens(self, probability):
        return self.events.pop(0)


def mazes(**settings):
    game = StochasticGame(TwoMazesConfig(**settings))
    game.reset()
    return game


def play(game, actions, random=None):
    return [game.step(action, random) for action in actions]


def test_without_a_stream_it_is_the_deterministic_game():
    assert sum(played.reward for played in play(mazes(), ACTIONS)) == 200


def test_a_sticky_frame_repeats_the_action_that_was_played_last():
    game = mazes()
    start = game.snapshot().snapshot
    game.step(LEFT, Scripted([False]))
    game.step(UP, Scripted([True]))  # left again
    twice_left = game.snapshot().snapshot
    game.reset()
    play(game, [LEFT, LEFT])
    assert game.snapshot().snapshot == twice_left != start


def test_sticky_actions_are_drawn_for_every_game_frame_where_the_environment_can_play_those():
    game = mazes(frame_skip=3)
    game.step(LEFT, stream := Scripted([False, True, True]))
    assert not stream.events
    one_by_one = mazes()
    play(one_by_one, [LEFT] * 3)
    assert game.snapshot().snapshot == one_by_one.snapshot().snapshot


def test_sticky_actions_are_drawn_for_whole_steps_where_a_step_is_all_there_is():
    """A step of Field is four game frames, and cannot be taken apart."""
    game = StochasticGame(FactorySpec(Field))
    game.reset()
    game.step(0, stream := Scripted([False, True, True, True]))
    assert stream.events == [True] * 3
    game.step(2, Scripted([True]))  # right again
    assert game.env.observation() == (2, 0)


@ENGINES
def test_who_watches_sees_every_game_frame_and_changes_nothing(engine):
    (demonstration,) = find_demonstrations("montezuma-first-key-00", verify=False)
    env = demonstration.env.with_engine(engine).env
    alone, watched = (StochasticGame(env) for _ in range(2))
    rewards = []
    watched.watch = rewards.append
    for game in (watched, alone):
        game.reset()
    ours, theirs = (play(game, demonstration.actions, SplitMix64(4)) for game in (watched, alone))
    assert ours == theirs
    assert watched.snapshot() == alone.snapshot()
    assert (watched.env.observation() == alone.env.observation()).all()
    assert len(rewards) == 4 * len(demonstration.actions)
    assert sum(rewards) == sum(played.reward for played in ours)


def test_the_action_that_sticks_survives_a_restore():
    game = mazes()
    game.step(LEFT)
    state = game.snapshot()
    game.step(UP, Scripted([True]))
    expected = game.snapshot()
    game.reset()
    game.restore(state)
    game.step(UP, Scripted([True]))
    assert game.snapshot() == expected


def test_actions_stick_as_often_as_asked_for():
    game = StochasticGame(TwoMazesConfig(), repeat_action_probability=0.25)
    random, stuck = SplitMix64(1), 0
    for number in range(4000):
        if number % 300 == 0:
            game.reset()
        action = 1 + number % 2
        game.step(action, random)
        stuck += game.snapshot().last_action != action
    # Of two in a row that stick, the second one repeats what is asked for: q = 0.25 (1 - q).
    assert 0.17 < stuck / 4000 < 0.23


def test_actions_above_255_are_played_as_they_are():
    game = StochasticGame(FactorySpec(Lock))
    game.reset()
    assert game.draw(950, Scripted([False])) == (950,)
    assert game.draw(3, Scripted([True])) == (950,)
    assert [played.reward for played in play(game, [950, 850, 5])] == [1.0, 1.0, 0.0]
    assert game.snapshot().last_action == 5


# ---- the start --------------------------------------------------------------------------------------------


@ENGINES
def test_no_ops_are_single_game_frames(engine):
    game = StochasticGame(MONTEZUMA.with_engine(engine).env)
    assert game.reset(6) == 6
    by_hand = StochasticGame(AtariGame(game="montezuma_revenge", frame_skip=2).with_engine(engine).env)
    by_hand.reset()
    play(by_hand, [0] * 3)
    assert game.snapshot() == by_hand.snapshot()


def test_the_first_action_may_stick_to_the_no_op_before_it():
    game = mazes()
    before = game.env.observation()
    game.step(LEFT, Scripted([True]))
    assert (game.env.observation() == before).all()


def test_an_environment_without_a_no_op_begins_at_once():
    game = StochasticGame(FactorySpec(Corridor))
    assert game.reset(30) == 0
    assert game.env.observation() == game.env.steps == 0


def test_and_its_first_action_sticks_to_none_that_nobody_played():
    """Action 0 of the corridor is a step to the left, not nothing."""
    game = StochasticGame(FactorySpec(Corridor))
    game.reset()
    game.step(1, Scripted([True]))
    assert game.env.observation() == 1
    game.step(0, Scripted([True]))
    assert game.env.observation() == 2, "from then on the last action sticks"
    game.reset()
    game.step(1, Scripted([True]))
    assert game.env.observation() == 1, "and a new episode knows of none again"


class Fuse(Corridor):
    """Burns down after 20 steps; doing nothing is action 0."""

    no_op = 0
    limit = 20


@pytest.mark.parametrize(("asked", "played"), [(19, 19), (20, 0), (30, 0)])
def test_no_ops_that_would_end_the_episode_are_left_out(asked, played):
    game = StochasticGame(FactorySpec(Fuse))
    assert game.reset(asked) == played
    assert game.env.steps == played


class LateBloomer(Environment):
    """Has no state before the first reset."""

    action_count = 1

    def reset(self):
        self.left = 3

    def lives(self):
        return self.left

    def step(self, action):
        self.left -= 1
        return Step(0.0, terminated=self.left == 0)

    def observation(self):
        return self.left

    def snapshot(self):
        return bytes([self.left])

    def restore(self, snapshot):
        (self.left,) = snapshot


def test_an_environment_is_asked_nothing_before_its_first_reset():
    game = StochasticGame(FactorySpec(LateBloomer))
    game.reset()
    assert game.lives == 3
    assert play(game, [0, 0, 0])[-1] == Played(0.0, terminated=True, truncated=False, lost_life=True)


# ---- lives and ends ---------------------------------------------------------------------------------------


def test_a_lost_life_is_told_and_the_game_goes_on():
    game = StochasticGame(native(MONTEZUMA))
    game.reset()
    lives = game.lives
    while not (played := game.step(3)).lost_life:  # right, off the ledge
        assert game.lives == lives
    assert game.lives == lives - 1
    assert not played.ended


def test_a_goal_terminates_and_a_time_limit_truncates():
    game = StochasticGame(FactorySpec(Corridor))
    game.reset()
    assert play(game, [1] * 4)[-1] == Played(-1.0, terminated=True, truncated=False, lost_life=False)
    game.reset()
    assert play(game, [0] * 255)[-1] == Played(-1.0, terminated=False, truncated=True, lost_life=False)


def test_a_search_that_ended_at_a_lost_life_says_so():
    assert StochasticGame(native(MONTEZUMA)).ends_at_life_loss
    assert not StochasticGame(FactorySpec(Corridor)).ends_at_life_loss
