"""Rollouts from states of recordings: in the two mazes, on a field, and in Montezuma's Revenge."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from goexplore.envs import Step
from goexplore.planning import guide
from goexplore.play import PreprocessingConfig, Preprocessor
from goexplore.problems import DefaultCells, FactorySpec
from goexplore.random import SplitMix64
from goexplore.training import Result, Start, StateBankConfig
from goexplore.training import _bank_rollout as bank_rollout
from goexplore.training._bank_rollout import BankRollout, OwnState, OwnStates
from goexplore.training._state_bank import REAL_START
from tests.fields import Field
from tests.training.combination import Combination
from tests.training.mazes import ACTIONS, MONTEZUMA_WHOLE, demonstrate, first_key, key_after_a_fall, native
from tests.training.recordings import guided_mazes, recording, recording_buffer

STACKED = PreprocessingConfig(stack=2)
STILL = StateBankConfig(own_share=0.0, new_life_share=0.0, held_up_share=0.0, advance=10)
FIRST_GOLD = 22
"""Training frames until the first of the two."""


def rollout(buffer=None, config=STILL, *, own=None, patience=80, no_ops=0):
    own = own or OwnStates(config.bin_length)
    return BankRollout(
        buffer or recording_buffer(), config, own, SplitMix64(7), patience=patience, no_ops=no_ops
    )


def on_the_field(actions, **settings):
    """Return a rollout on the field, where the cells are the places, along a way by hand."""
    env = FactorySpec(Field)
    make = guide([demonstrate(actions, Field)], env, DefaultCells(), repeat_action_probability=0.0)
    return rollout(recording_buffer(recording(actions, env), make_game=make), **settings)


def play(rollout, actions):
    """Play until the rollout is over; return all that came."""
    moved = []
    for action in actions:
        moved.append(rollout.step(action))
        if moved[-1].terminated or moved[-1].truncated:
            break
    return moved


def rewards(moved):
    return [each.reward for each in moved]


class TestBeginning:
    def check(self, make_game, actions, point, preprocessing):
        played = recording(actions, make_game.env)
        begun = rollout(recording_buffer(played, make_game=make_game, preprocessing=preprocessing))
        begun.begin(Start(0, point))
        game = make_game()
        seen = Preprocessor(game.game.env, preprocessing)
        game.reset()
        seen.reset()
        for action in actions[:point]:
            game.step(action, None)
            seen.observe()
        np.testing.assert_array_equal(begun.preprocessor.observation, seen.observation)
        assert begun._guided.situation() == game.situation()
        assert begun._guided.progress == point

    @pytest.mark.parametrize("point", [1, 2, 7, FIRST_GOLD, 40, len(ACTIONS) - 1])
    def test_it_is_as_if_the_recording_had_been_played(self, point):
        self.check(guided_mazes(), ACTIONS, point, STACKED)

    @pytest.mark.parametrize("point", [3, 8, 9, 31])
    def test_so_it_is_on_the_native_engine_where_few_states_are_kept(self, point):
        demonstration = first_key()
        make = guide([demonstration], native(demonstration.env), DefaultCells())
        self.check(make, demonstration.actions, point, PreprocessingConfig())

    def test_the_last_action_of_the_recording_may_stick(self):
        begun = rollout(recording_buffer(make_game=guided_mazes(repeat=0.999)))
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


class TestHoldUps:
    HELD_UP = replace(STILL, held_up_share=1.0, held_up=10)

    def test_a_rollout_from_a_recorded_state_may_begin_with_no_ops(self):
        begun, times = rollout(config=self.HELD_UP), set()
        for _ in range(40):
            begun.begin(Start(0, 5))
            times.add(begun.env._time)
        assert len(times) > 8
        assert times <= set(range(5, 16))

    def test_what_is_seen_then_is_what_is_there(self):
        begun = rollout(config=self.HELD_UP)
        begun.begin(Start(0, 5))
        np.testing.assert_array_equal(begun.preprocessor.frame(), begun.preprocessor.observation)

    def test_where_they_end_the_episode_it_begins_as_recorded(self):
        begun = rollout(config=replace(self.HELD_UP, held_up=1000))
        times = Counter()
        for _ in range(40):
            begun.begin(Start(0, 5))
            times[begun.env._time] += 1
        assert times[5] > 10, "their time limit is 400 game frames"


class TestReward:
    def test_it_is_further_progress(self):
        begun = rollout()
        begun.begin(Start(0, 20))
        assert rewards(play(begun, ACTIONS[20:25])) == [pytest.approx(0.1)] * 5

    def test_all_of_it_together_is_the_way_that_is_left(self):
        begun = rollout()
        begun.begin(REAL_START)
        assert sum(rewards(play(begun, ACTIONS))) == pytest.approx(len(ACTIONS) / 10)

    def test_back_and_forth_is_rewarded_once(self):
        right, left = 0, 1
        begun = on_the_field(bytes([right] * 4))
        begun.begin(Start(0, 1))
        moved = play(begun, [right, left, right, right])
        assert rewards(moved) == [pytest.approx(0.1), 0.0, 0.0, pytest.approx(0.1)]

    def test_a_short_cut_is_rewarded_with_1_at_most(self):
        """Down three, right, and up three is a way of seven to what is one step away."""
        begun = on_the_field(bytes([2, 2, 2, 0, 3, 3, 3, 0, 0, 0]), config=StateBankConfig(advance=5))
        begun.begin(REAL_START)
        (moved,) = play(begun, [0])
        assert begun._guided.progress == 7
        assert (moved.reward, moved.terminated) == (1.0, False)
        assert rewards(play(begun, [0])) == [pytest.approx(0.2)]

    def test_points_alone_are_none(self):
        begun = rollout()
        begun.begin(Start(0, 5))
        progress = begun._guided.progress
        assert begun.finish_step(Step(-3.0)).reward == 0.0
        assert begun._guided.progress <= progress + 1
        assert not begun.result().success


class TestSuccess:
    def test_it_is_enough_progress_and_the_rollout_goes_on(self):
        begun = rollout()
        begun.begin(Start(0, 20))
        play(begun, ACTIONS[20:29])
        assert begun.result() == Result(Start(0, 20), False), "one is missing"
        (last,) = play(begun, ACTIONS[29:30])
        assert begun.result() == Result(Start(0, 20), True)
        assert not last.terminated
        rest = play(begun, ACTIONS[30:])
        assert len(rest) == len(ACTIONS) - 30
        assert rest[-1] == (pytest.approx(0.1), True, False, None)
        assert (begun.ending, begun.result().success) == ("success", True)

    def test_or_the_end_of_the_demonstrations(self):
        begun = rollout()
        begun.begin(Start(0, len(ACTIONS) - 3))
        moved = play(begun, ACTIONS[-3:])
        assert moved[-1].terminated
        assert (begun.ending, begun.result().success) == ("success", True)

    def test_without_progress_there_is_none(self):
        begun = rollout()
        begun.begin(Start(0, 20))
        play(begun, [0] * 10)
        assert begun.result() == Result(Start(0, 20), False)

    def test_progress_of_the_recording_before_it_began_does_not_count(self):
        begun = rollout()
        begun.begin(Start(0, 40))
        play(begun, ACTIONS[40:45])
        assert not begun.result().success

    def test_from_the_real_start_it_is_the_end(self):
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
        moved = play(begun, ACTIONS[3:FIRST_GOLD])
        assert begun.ending is None, "how far the last rollout came is gone"
        assert sum(rewards(moved)) == pytest.approx((FIRST_GOLD - 3) / 10)


class TestPatience:
    def test_without_progress_it_ends(self):
        begun = rollout(patience=12)
        begun.begin(Start(0, 25))
        moved = play(begun, [0] * 50)
        waited = begun._best - 25  # the demonstration waits there too
        assert waited <= 2
        assert len(moved) == waited + 12
        assert (moved[-1].terminated, begun.ending) == (True, "lagging")
        assert not begun.result().success

    def test_progress_gives_more(self):
        begun = rollout(patience=12)
        begun.begin(Start(0, 12))
        moved = play(begun, [*ACTIONS[12:25], *[0] * 50])
        assert len(moved) == begun._best - 12 + 12
        assert begun._best >= 25
        assert begun.ending == "lagging"
        assert begun.result().success

    def test_a_time_limit_of_the_environment_truncates(self):
        begun = rollout(patience=1000)
        begun.begin(Start(0, 25))
        moved = play(begun, [0] * 500)
        assert len(moved) == 400 - 25
        assert (moved[-1].terminated, moved[-1].truncated) == (False, True)
        assert begun.ending == "truncated"

    def test_an_engine_that_cannot_go_on_truncates(self):
        begun = rollout()
        begun.begin(Start(0, 25))
        assert begun.finish_step(None) == (0.0, False, True, None)
        assert (begun.ending, begun.result()) == ("truncated", None)


class TestLostLife:
    """Right, off the ledge: it is over."""

    FALL = (*[3] * 15, *[0] * 150)

    @pytest.fixture(autouse=True)
    def one_is_enough(self, monkeypatch):
        monkeypatch.setattr(bank_rollout, "_ENOUGH", 1)

    @pytest.fixture
    def make_game(self):
        return guide([first_key()], native(MONTEZUMA_WHOLE), DefaultCells(), repeat_action_probability=0.0)

    @pytest.fixture
    def key(self, make_game):
        played = recording(first_key().actions, native(MONTEZUMA_WHOLE))
        return recording_buffer(played, make_game=make_game, preprocessing=PreprocessingConfig())

    def dead(self, key, share, start=REAL_START):
        config = StateBankConfig(own_share=0.0, new_life_share=share)
        begun = rollout(key, config, patience=1000)
        begun.begin(start)
        moved = play(begun, self.FALL)
        assert moved[-1].terminated
        assert sum(rewards(moved)) == pytest.approx(0.0), "what was on the way is given back"
        assert begun.ending == "death"
        assert not begun.result().success
        return begun

    def test_the_next_one_goes_on_there(self, key):
        begun = self.dead(key, share=1.0)
        before = begun.env.memory()
        begun.begin(Start(0, 40))
        assert begun.result() is None, "it says nothing of where it was told to begin"
        assert begun.env.memory() == before
        assert begun.ending is None

    def test_or_begins_where_it_is_told(self, key):
        begun = self.dead(key, share=0.0)
        begun.begin(Start(0, 40))
        assert begun.result() == Result(Start(0, 40), False)
        np.testing.assert_array_equal(begun.preprocessor.observation, key.observation(0, 40))

    def test_so_it_does_after_a_life_lost_from_a_state_of_a_recording(self, make_game):
        played = recording(bytes(10), native(MONTEZUMA_WHOLE))
        waiting = recording_buffer(played, make_game=make_game, preprocessing=PreprocessingConfig())
        begun = self.dead(waiting, share=1.0, start=Start(0, 5))
        before = begun.env.memory()
        begun.begin(Start(0, 8))
        assert begun.result() is None
        assert begun.env.memory() == before

    def test_others_begin_there_later_so_that_it_is_not_forgotten(self, key):
        config = StateBankConfig(own_share=0.0, new_life_share=0.0)
        own = OwnStates(config.bin_length)
        dying = rollout(key, config, own=own, patience=1000)
        for _ in range(20):
            dying.begin(REAL_START)
            play(dying, self.FALL)
        before = dying.env.memory()
        dying.begin(REAL_START)
        other = rollout(key, replace(config, new_life_share=1.0), own=own)
        other.begin(Start(0, 40))
        assert other.result() is None, "it says nothing of where it was told to begin"
        assert other.env.memory() == before
        other.begin(Start(0, 40))
        assert other.result() is None, "again and again"

    def test_nobody_begins_there_before_some_lives_were_lost(self, key):
        begun = rollout(key, replace(STILL, new_life_share=1.0))
        begun.begin(Start(0, 40))
        assert begun.result() == Result(Start(0, 40), False)

    def test_in_the_next_life_progress_counts_from_where_it_begins(self, key):
        begun = rollout(key, StateBankConfig(own_share=0.0, new_life_share=1.0), patience=1000)
        begun.begin(REAL_START)
        actions = iter(key_after_a_fall().actions)
        play(begun, actions)
        assert begun.ending == "death"
        assert begun._guided.progress > 0, "that of the fall"
        begun.begin(REAL_START)
        moved = play(begun, actions)
        assert begun.ending == "success"
        assert sum(rewards(moved)) == pytest.approx(key.goal / 50), "the whole way is rewarded again"

    def test_before_it_appears_steps_back_are_no_new_beginning(self, key):
        """Otherwise a policy would earn more by walking back first."""
        begun = self.dead(key, share=1.0)
        begun.begin(REAL_START)
        assert begun._best == 8, "that of the fall"
        for row in (7, 4, 0):
            begun._guided.tracker = begun._guided.tracker._replace(row=row)
            assert begun.step(0).reward == 0.0
            assert begun._best == 8

    def test_but_who_turns_back_later_is_not_rewarded_twice(self, key):
        begun = rollout(key, StateBankConfig(own_share=0.0, new_life_share=1.0), patience=1000)
        begun.begin(REAL_START)
        actions = iter(key_after_a_fall().actions)
        play(begun, actions)
        begun.begin(REAL_START)
        moved = [begun.step(next(actions)) for _ in range(len(key_after_a_fall().actions) - 30 - 15)]
        before = begun._best
        assert sum(rewards(moved)) == pytest.approx(before / 50)
        begun._guided.restore(
            begun._guided.situation()._replace(tracker=begun._guided.tracker._replace(row=0))
        )
        again = begun.step(0)
        assert begun._best == before
        assert again.reward == 0.0


class TestProgressThatIsNotSurvived:
    """A falling character passes places that the demonstration reaches on foot much later."""

    @pytest.fixture
    def make_game(self):
        return guide([first_key()], native(MONTEZUMA_WHOLE), DefaultCells(), repeat_action_probability=0.0)

    def fall(self, make_game, proven_after):
        """Climb down the ladder, and be carried over the edge by the conveyor belt."""
        played = recording(first_key().actions, native(MONTEZUMA_WHOLE))
        buffer = recording_buffer(played, make_game=make_game, preprocessing=PreprocessingConfig())
        config = StateBankConfig(own_share=0.0, new_life_share=0.0, proven_after=proven_after)
        begun = rollout(buffer, config, patience=1000)
        begun.begin(REAL_START)
        moved = play(begun, [*[5] * 14, *[0] * 150])
        assert begun.ending == "death"
        return begun, rewards(moved)

    def test_its_reward_is_given_back(self, make_game):
        begun, earned = self.fall(make_game, proven_after=1000)
        assert sum(earned[:-1]) > 0.2
        assert sum(earned) == pytest.approx(0.0)
        assert begun._best == begun._first
        assert not begun.result().success

    def test_but_not_that_of_long_before(self, make_game):
        begun, earned = self.fall(make_game, proven_after=1)
        assert sum(earned) == pytest.approx((begun._best - begun._first) / 50)
        assert begun._best > begun._first

    def test_the_next_rollout_owes_nothing(self, make_game):
        begun, _ = self.fall(make_game, proven_after=1000)
        begun.begin(REAL_START)
        earned = rewards(play(begun, first_key().actions[:40]))
        assert min(earned) == 0.0
        assert sum(earned) == pytest.approx(40 / 50)


class TestOwnStates:
    SEEN = np.full((1, 15, 20), 9, np.uint8)

    def states(self, count, point=5, bin_length=25):
        """Return states that were reached while nothing was done at a point of the way."""
        own = OwnStates(bin_length)
        game = guided_mazes()()
        game.reset()
        for action in ACTIONS[:point]:
            game.step(action, None)
        for _ in range(count):
            game.step(0, None)
            own.add(game.progress, OwnState(game.situation(), self.SEEN))
        return own

    def begin(self, own, share=1.0):
        begun = rollout(config=StateBankConfig(own_share=share, new_life_share=0.0), own=own)
        begun.begin(Start(0, 5))
        return begun

    def test_some_rollouts_begin_at_what_the_policy_reached(self):
        begun = self.begin(self.states(30))
        assert (begun.preprocessor.observation == 9).all()
        assert begun.env._time > 5
        assert begun.result() is None

    def test_their_progress_counts_from_there(self):
        begun = self.begin(self.states(30))
        moved = play(begun, ACTIONS[5:9])
        assert sum(rewards(moved)) == pytest.approx((begun._best - begun._first) / 50)
        assert begun._best > begun._first

    @pytest.mark.parametrize(("count", "point", "share"), [(30, 40, 1.0), (19, 5, 1.0), (30, 5, 0.0)])
    def test_but_not_elsewhere_nor_if_there_are_few(self, count, point, share):
        assert self.begin(self.states(count, point), share).result() == Result(Start(0, 5), False)

    def test_the_oldest_of_a_bin_are_forgotten(self):
        random, own = SplitMix64(0), self.states(150)
        seen = {own.draw(5, random).situation.state.snapshot for _ in range(5000)}
        assert len(seen) == 100

    def test_bins_are_progress_that_is_taken_together(self):
        own, random = self.states(30, point=5, bin_length=4), SplitMix64(0)
        (where,) = own._kept
        assert where in (1, 2)
        assert own.draw(4 * where, random) is not None
        assert own.draw(4 * where + 3, random) is not None
        assert own.draw(4 * where - 1, random) is None
        assert own.draw(4 * where + 4, random) is None

    def test_they_are_kept_while_rollouts_are_played(self):
        own = OwnStates(25)
        begun = rollout(own=own, patience=10_000)
        for _ in range(20):
            begun.begin(Start(0, 5))
            play(begun, [0] * 1000)
        drawn = own.draw(5, SplitMix64(0))
        begun._guided.restore(drawn.situation)
        assert begun.env._time > 5
        assert begun._guided.progress // 25 == 0


class TestEnd:
    """Where demonstrations win nothing, the end of the episode is still the end of the way."""

    ENV = FactorySpec(Combination)

    def rollout(self):
        lock = demonstrate(bytes(Combination.digits), Combination)
        make = guide([lock], self.ENV, DefaultCells(), repeat_action_probability=0.0)
        buffer = recording_buffer(recording(bytes(Combination.digits), self.ENV), make_game=make)
        assert buffer.progress[0].tolist() == list(range(len(Combination.digits) + 1))
        return rollout(buffer)

    def test_it_is_the_goal(self):
        begun = self.rollout()
        begun.begin(Start(0, 3))
        moved = play(begun, Combination.digits[3:])
        assert rewards(moved) == [pytest.approx(0.1)] * 5
        assert [each.terminated for each in moved] == [False] * 4 + [True]
        assert (begun.ending, begun.result()) == ("success", Result(Start(0, 3), True))

    def test_the_steps_before_are_no_success(self):
        begun = self.rollout()
        begun.begin(Start(0, 3))
        play(begun, Combination.digits[3:-1])
        assert not begun.result().success
