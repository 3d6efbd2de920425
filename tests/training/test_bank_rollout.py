"""Rollouts from states of recordings: in the two mazes, and in Montezuma's Revenge."""

import numpy as np
import pytest

from goexplore.envs import Step
from goexplore.play import PreprocessingConfig, Preprocessor, StochasticGame
from goexplore.problems import FactorySpec
from goexplore.random import SplitMix64
from goexplore.training import Result, Start, StateBankConfig
from goexplore.training._bank_rollout import BankRollout, OwnState, OwnStates
from goexplore.training._recording_buffer import RecordingBuffer
from goexplore.training._state_bank import REAL_START
from tests.training.combination import Combination
from tests.training.mazes import ACTIONS, MONTEZUMA_WHOLE, PREPROCESSING, first_key, native
from tests.training.recordings import MAZES, recording, recording_buffer

STACKED = PreprocessingConfig(stack=2)
FIRST_GOLD = 22
"""Training frames until the first of the two."""
STILL = StateBankConfig(own_share=0.0, after_death=0.0)


def rollout(buffer=None, config=STILL, *, own=None, goal=200.0, patience=80, no_ops=0, repeat=0.0):
    return BankRollout(
        buffer or recording_buffer(),
        config,
        own or OwnStates(),
        SplitMix64(7),
        goal=goal,
        patience=patience,
        repeat_action_probability=repeat,
        no_ops=no_ops,
    )


def play(rollout, actions):
    """Play until the rollout is over; return all that came."""
    moved = []
    for action in actions:
        moved.append(rollout.step(action))
        if moved[-1].terminated or moved[-1].truncated:
            break
    return moved


class TestBeginning:
    @pytest.mark.parametrize("point", [1, 2, 7, FIRST_GOLD, 40, len(ACTIONS) - 1])
    def test_it_is_as_if_the_recording_had_been_played(self, point):
        begun = rollout(recording_buffer(preprocessing=STACKED))
        begun.begin(Start(0, point))
        game = StochasticGame(MAZES)
        seen = Preprocessor(game.env, STACKED)
        game.reset()
        seen.reset()
        for action in ACTIONS[:point]:
            game.step(action)
            seen.observe()
        np.testing.assert_array_equal(begun.preprocessor.observation, seen.observation)
        assert begun._game.snapshot() == game.snapshot()

    @pytest.mark.parametrize("point", [3, 8, 9, 31])
    def test_so_it_is_on_the_native_engine_where_few_states_are_kept(self, point):
        demonstration = first_key()
        env = native(demonstration.env)
        begun = rollout(
            recording_buffer(
                recording(demonstration.actions, env), env=env, preprocessing=PreprocessingConfig()
            )
        )
        begun.begin(Start(0, point))
        game = StochasticGame(env)
        game.reset()
        seen = Preprocessor(game.env, PreprocessingConfig())
        seen.reset()
        for action in demonstration.actions[:point]:
            game.step(action)
            seen.observe()
        np.testing.assert_array_equal(begun.preprocessor.observation, seen.observation)
        assert begun._game.snapshot() == game.snapshot()

    def test_the_last_action_of_the_recording_may_stick(self):
        begun = rollout(repeat=0.999)
        begun.begin(Start(0, 5))
        assert set(begun.draw(ACTIONS[4] + 1)) == {ACTIONS[4]}

    def test_the_real_start_has_no_ops(self):
        begun = rollout(no_ops=30)
        times = set()
        for _ in range(20):
            begun.begin(REAL_START)
            times.add(begun.env._time)
        assert len(times) > 8
        assert times <= set(range(31))


class TestSuccess:
    def test_it_is_the_next_gain_and_the_rollout_goes_on(self):
        begun = rollout()
        begun.begin(Start(0, 20))
        first, second = play(begun, ACTIONS[20:FIRST_GOLD])
        assert (first.reward, second.reward) == (0.0, 1.0)
        assert not second.terminated
        assert begun.result() == Result(Start(0, 20), True)
        rest = play(begun, ACTIONS[FIRST_GOLD:])
        assert len(rest) == len(ACTIONS) - FIRST_GOLD
        assert rest[-1] == (1.0, True, False, None)
        assert (begun.ending, begun.result().success) == ("success", True)

    def test_without_a_gain_there_is_none(self):
        begun = rollout()
        begun.begin(Start(0, 20))
        play(begun, [0] * 10)
        assert begun.result() == Result(Start(0, 20), False)

    def test_a_gain_of_the_recording_before_it_began_does_not_count(self):
        begun = rollout()
        begun.begin(Start(0, FIRST_GOLD + 1))
        play(begun, [0] * 10)
        assert not begun.result().success

    def test_but_its_points_do(self):
        begun = rollout(goal=200.0)
        begun.begin(Start(0, FIRST_GOLD))
        play(begun, ACTIONS[FIRST_GOLD:])
        assert begun.ending == "success"

    def test_from_the_real_start_it_is_the_goal(self):
        begun = rollout()
        begun.begin(REAL_START)
        play(begun, ACTIONS[: FIRST_GOLD + 3])
        assert begun.result() == Result(REAL_START, False)
        play(begun, ACTIONS[FIRST_GOLD + 3 :])
        assert begun.result() == Result(REAL_START, True)

    def test_what_came_before_is_forgotten(self):
        begun = rollout()
        begun.begin(REAL_START)
        play(begun, ACTIONS)
        begun.begin(Start(0, 3))
        assert begun.ending is None
        assert not begun.result().success
        play(begun, ACTIONS[3:FIRST_GOLD])
        assert begun.ending is None, "the points of the last rollout are gone"


class TestPatience:
    def test_without_a_gain_it_ends(self):
        begun = rollout(patience=12)
        begun.begin(Start(0, 25))
        moved = play(begun, [0] * 50)
        assert 12 <= len(moved) <= 13
        assert moved[-1].terminated
        assert begun.ending == "lagging"

    def test_a_gain_gives_more(self):
        begun = rollout(patience=12)
        begun.begin(Start(0, FIRST_GOLD - 10))
        moved = play(begun, [*ACTIONS[FIRST_GOLD - 10 : FIRST_GOLD], *[0] * 50])
        assert 10 + 12 <= len(moved) <= 10 + 13
        assert begun.result().success

    def test_a_time_limit_of_the_environment_truncates(self):
        begun = rollout(patience=1000)
        begun.begin(Start(0, 25))
        moved = play(begun, [0] * 500)
        assert len(moved) == 400 - 25
        assert (moved[-1].terminated, moved[-1].truncated) == (False, True)

    def test_an_engine_that_cannot_go_on_truncates(self):
        begun = rollout()
        begun.begin(Start(0, 25))
        assert begun.finish_step(None) == (0.0, False, True, None)
        assert (begun.ending, begun.result()) == ("truncated", None)


class TestLostLife:
    """Right, off the ledge: after about a hundred training frames it is over."""

    FALL = (*[3] * 15, *[0] * 150)

    @pytest.fixture
    def key(self):
        env = native(MONTEZUMA_WHOLE)
        return recording_buffer(
            recording(first_key().actions, env), env=env, preprocessing=PreprocessingConfig()
        )

    def dead(self, key, after_death, start=REAL_START):
        begun = rollout(key, StateBankConfig(own_share=0.0, after_death=after_death), patience=1000)
        begun.begin(start)
        moved = play(begun, self.FALL)
        assert moved[-1].terminated
        assert begun.ending == "death"
        assert not begun.result().success
        return begun

    def test_the_next_one_goes_on_there(self, key):
        begun = self.dead(key, after_death=1.0)
        before = begun.env.memory()
        begun.begin(Start(0, 40))
        assert begun.result() is None, "it says nothing of where it was told to begin"
        assert begun.env.memory() == before
        assert begun.ending is None

    def test_or_begins_where_it_is_told(self, key):
        begun = self.dead(key, after_death=0.0)
        begun.begin(Start(0, 40))
        assert begun.result() == Result(Start(0, 40), False)
        np.testing.assert_array_equal(begun.preprocessor.observation, key.observation(0, 40))

    def test_a_life_lost_from_a_state_of_a_recording_ends_there(self):
        env = native(MONTEZUMA_WHOLE)
        waiting = recording_buffer(recording(bytes(10), env), env=env, preprocessing=PreprocessingConfig())
        begun = self.dead(waiting, after_death=1.0, start=Start(0, 5))
        begun.begin(Start(0, 8))
        assert begun.result() == Result(Start(0, 8), False)

    def test_it_goes_on_once_for_every_life(self, key):
        begun = self.dead(key, after_death=1.0)
        lives = begun.env.lives()
        begun.begin(REAL_START)
        play(begun, [0] * 130)  # until the new life can move
        begun.begin(REAL_START)
        assert begun.result() == Result(REAL_START, False), "no life was lost in between"
        assert begun.env.lives() == lives + 1


class TestOwnStates:
    def states(self, count, won=0.0):
        own = OwnStates()
        game = StochasticGame(MAZES)
        game.reset()
        seen = np.full((1, 15, 20), 9, np.uint8)
        for _ in range(count):
            game.step(0)
            own.add(OwnState(game.snapshot(), seen, won))
        return own

    def begin(self, own, share=1.0):
        begun = rollout(config=StateBankConfig(own_share=share, after_death=0.0), own=own)
        begun.begin(Start(0, 5))
        return begun

    def test_some_rollouts_begin_at_what_the_policy_reached(self):
        begun = self.begin(self.states(60))
        assert (begun.preprocessor.observation == 9).all()
        assert (begun.env._x, begun.env._y) == (10, 7)
        assert begun.result() is None

    @pytest.mark.parametrize(("count", "won", "share"), [(60, 100.0, 1.0), (49, 0.0, 1.0), (60, 0.0, 0.0)])
    def test_but_not_with_other_points_nor_if_there_are_few(self, count, won, share):
        assert self.begin(self.states(count, won), share).result() == Result(Start(0, 5), False)

    def test_the_oldest_are_forgotten(self):
        random, own = SplitMix64(0), self.states(350)
        seen = {own.draw(0.0, random).state.snapshot for _ in range(5000)}
        assert len(seen) <= 300

    def test_they_are_kept_while_rollouts_are_played(self):
        own = OwnStates()
        begun = rollout(own=own, patience=10_000)
        for _ in range(20):
            begun.begin(Start(0, 5))
            play(begun, [0] * 1000)
        drawn = own.draw(0.0, SplitMix64(0))
        assert drawn.won == 0.0
        begun._game.restore(drawn.state)
        assert begun.env._time > 5


def test_a_reward_that_is_no_gain_is_no_reward():
    begun = rollout()
    begun.begin(Start(0, 5))
    assert begun.finish_step(Step(-3.0)).reward == 0.0
    assert not begun.result().success


class TestEnd:
    """Where demonstrations win nothing, the end of the episode is the gain."""

    ENV = FactorySpec(Combination)

    def rollout(self):
        buffer = RecordingBuffer(self.ENV, PREPROCESSING, goal_is_a_gain=True)
        buffer.add(recording(Combination.digits, self.ENV))
        assert buffer.won[0].tolist() == [0.0] * len(Combination.digits) + [1.0]
        return rollout(buffer, goal=1.0)

    def test_it_is_the_goal(self):
        begun = self.rollout()
        begun.begin(Start(0, 3))
        moved = play(begun, Combination.digits[3:])
        assert [each.reward for each in moved] == [0.0] * 4 + [1.0]
        assert (begun.ending, begun.result()) == ("success", Result(Start(0, 3), True))

    def test_the_steps_before_are_no_success(self):
        begun = self.rollout()
        begun.begin(Start(0, 3))
        play(begun, Combination.digits[3:-1])
        assert not begun.result().success
