"""Rollouts from demonstration points, on the two mazes and on Montezuma's Revenge."""

import dataclasses

import numpy as np
import pytest

from goexplore.config import MazesConfig
from goexplore.demos import find_demonstration
from goexplore.errors import ConfigError, DemonstrationError, EngineError
from goexplore.random import SplitMix64
from goexplore.training import PreprocessingConfig, DemonstrationBuffer, Rollout, RolloutConfig, Start, StochasticGame
from goexplore.training._rollout import Transition

from .mazes import ACTIONS, PREPROCESSING, MONTEZUMA_WHOLE, demonstrate, buffer

STILL = RolloutConfig(repeat_action_probability=0.0, no_ops=0)


def rollout(config=STILL, books=None):
    return Rollout(books or buffer(), config, SplitMix64(7))


def play(player, actions):
    """Play until the rollout ends or there are no more actions; return the transitions."""
    moved = []
    for action in actions:
        moved.append(player.step(action))
        if moved[-1].terminated or moved[-1].truncated:
            break
    return moved


@pytest.mark.parametrize("point", [1, 7, 8, 9, 30, 62])
def test_a_rollout_begins_where_the_demonstration_was(point):
    player = rollout()
    player.begin(Start(0, point))
    by_hand = StochasticGame(MazesConfig(), "ale")
    by_hand.reset()
    for action in ACTIONS[:point]:
        by_hand.step(action)
    assert player._game.snapshot() == by_hand.snapshot()
    np.testing.assert_array_equal(player.preprocessing.observation[-1], by_hand.env.observation())


def test_it_sees_the_screens_that_led_there():
    demonstration = find_demonstration("montezuma-first-key-00")
    books = DemonstrationBuffer([demonstration], PreprocessingConfig(stack=3), "native")
    player = rollout(books=books)
    player.begin(Start(0, 20))
    seen = player.preprocessing.observation.copy()
    player.begin(Start(0, 18))
    for action in demonstration.actions[18:20]:
        player.step(action)
    np.testing.assert_array_equal(player.preprocessing.observation, seen)


@pytest.mark.parametrize("point", [1, 15, 16, 17])
def test_people_see_the_screen_of_the_starting_point(point):
    demonstration = find_demonstration("montezuma-first-key-00")
    player = rollout(books=DemonstrationBuffer([demonstration], PreprocessingConfig(), "native"))
    player.begin(Start(0, point))
    by_hand = StochasticGame(demonstration.env, "native")
    by_hand.reset()
    for action in demonstration.actions[:point]:
        by_hand.step(action)
    np.testing.assert_array_equal(player.picture(), by_hand.env.picture())


def test_following_the_demonstration_succeeds_and_ends_the_rollout():
    player = rollout()
    player.begin(Start(0, 40))
    moved = play(player, ACTIONS[40:])
    assert len(moved) == 23
    assert moved[-1].terminated
    assert player.ending == "success"
    player.begin(Start(0, 40))
    assert player.ending is None, "the next one has just begun"
    moved = play(player, ACTIONS[40:])
    assert [each.reward for each in moved] == [0.0] * 22 + [1.0]
    assert player.result() == (Start(0, 40), True)


def test_success_counts_what_is_won_from_the_start_on():
    """From point 40 only the second gold is missing: nobody asks for the first one."""
    player = rollout()
    player.begin(Start(0, 10))
    assert not play(player, ACTIONS[10:25])[-1].terminated
    assert not player.result().success


def test_a_rollout_that_lags_behind_is_ended():
    """The demonstration wins at its 23rd training frame from point 40: 50 later it is too late."""
    player = rollout()
    player.begin(Start(0, 40))
    moved = play(player, [0] * 200)
    assert len(moved) == 23 + 50
    assert moved[-1].terminated
    assert not player.result().success
    assert player.ending == "late"


def test_a_deficit_forgives_points():
    player = rollout(dataclasses.replace(STILL, allowed_deficit=100.0, max_game_frames=300))
    player.begin(Start(0, 40))
    moved = play(player, [0] * 500)
    assert len(moved) == 300
    assert moved[-1].truncated, "cut at the longest rollout, not ended"
    assert player.ending == "cut"


def test_where_the_engine_cannot_go_on_a_rollout_is_cut_and_does_not_count(monkeypatch):
    player = rollout()
    player.begin(Start(0, 40))

    def refuse(actions):
        raise EngineError("a frame without an end")

    with monkeypatch.context() as broken:
        broken.setattr(player.env, "play", refuse)
        moved = play(player, ACTIONS[40:])
    assert [each.truncated for each in moved] == [True]
    assert player.ending == "cut"
    assert player.result() is None
    player.begin(Start(0, 40))
    assert play(player, ACTIONS[40:])[-1].terminated
    assert player.result() == (Start(0, 40), True)


def test_what_the_demonstration_plays_before_that_is_not_learnt_from(monkeypatch):
    player = rollout(dataclasses.replace(STILL, burn_in=3))
    player.begin(Start(0, 40))
    assert player.step(0).forced == ACTIONS[37]

    def refuse(actions):
        raise EngineError("a frame without an end")

    monkeypatch.setattr(player.env, "play", refuse)
    assert player.step(0) == Transition(0.0, truncated=True, forced=ACTIONS[38])


def test_after_success_it_may_go_on_for_a_random_while():
    lengths = set()
    player = rollout(dataclasses.replace(STILL, after_success="go-on"))
    for _ in range(20):
        player.begin(Start(0, 60))
        moved = play(player, ACTIONS[60:] + bytes(2000))
        assert player.result().success
        assert moved[-1].truncated or moved[-1].terminated
        lengths.add(len(moved))
    assert len(lengths) > 5


def test_only_the_real_start_has_no_ops():
    player = rollout(dataclasses.replace(STILL, no_ops=30))
    times = set()
    for _ in range(20):
        player.begin(Start(0, 0))
        times.add(player._game.snapshot().emulator[-2:])
    assert len(times) > 5
    for _ in range(5):
        player.begin(Start(0, 1))
        assert player._game.snapshot().emulator[-2:] == b"\x01\x00"


def test_the_lead_in_plays_the_demonstrations_actions():
    player = rollout(dataclasses.replace(STILL, burn_in=5))
    player.begin(Start(0, 40))
    moved = [player.step(0) for _ in range(6)]
    assert [each.forced for each in moved] == [*ACTIONS[35:40], None]
    by_hand = rollout()
    by_hand.begin(Start(0, 40))
    by_hand.step(0)
    np.testing.assert_array_equal(player.preprocessing.observation, by_hand.preprocessing.observation)


def test_near_the_beginning_the_lead_in_is_shorter():
    player = rollout(dataclasses.replace(STILL, burn_in=5))
    player.begin(Start(0, 2))
    assert [player.step(0).forced for _ in range(3)] == [*ACTIONS[:2], None]


@pytest.mark.parametrize(("rewards", "expected"), [("sign", 1.0), ("scale", 0.1), ("demonstration", 0.5)])
def test_rewards_for_the_learner(rewards, expected):
    player = rollout(dataclasses.replace(STILL, rewards=rewards))
    player.begin(Start(0, 62))
    assert player.step(ACTIONS[62]).reward == pytest.approx(expected)


class TestLives:
    """Montezuma's Revenge: right from the start, off the ledge."""

    @pytest.fixture
    def books(self):
        return DemonstrationBuffer([find_demonstration("montezuma-first-key-00")], PreprocessingConfig(), "native")

    def die(self, player):
        player.begin(Start(0, 0))
        moved = play(player, [3] * 40 + [0] * 200)
        assert moved[-1].terminated
        return moved

    def test_a_lost_life_ends_a_rollout(self, books):
        player = rollout(dataclasses.replace(STILL, allowed_lag=10_000), books)
        self.die(player)
        assert not player.result().success
        assert player.ending == "death"

    def test_or_not(self, books):
        config = dataclasses.replace(STILL, episode_end="game-over", allowed_lag=10_000, max_game_frames=4 * 240)
        player = rollout(config, books)
        player.begin(Start(0, 0))
        assert play(player, [3] * 40 + [0] * 200)[-1].truncated

    def test_the_next_one_may_begin_after_the_death(self, books):
        player = rollout(dataclasses.replace(STILL, allowed_lag=10_000, after_death=1.0), books)
        self.die(player)
        lives = player._game.lives
        player.begin(Start(0, 30))
        assert player._game.lives == lives
        assert player.result() is None, "it says nothing about a starting point"

    def test_but_not_where_the_start_has_not_been_learnt(self, books):
        player = rollout(dataclasses.replace(STILL, allowed_lag=10_000, after_death=1.0), books)
        player.begin(Start(0, 50))
        assert play(player, [3] * 10)[-1].terminated, "off the rope"
        player.begin(Start(0, 30))
        assert player.result() is not None

    def test_but_not_without_being_asked_to(self, books):
        player = rollout(dataclasses.replace(STILL, allowed_lag=10_000), books)
        self.die(player)
        lives = player._game.lives
        player.begin(Start(0, 30))
        assert player._game.lives == lives + 1


class TestLibrary:
    def test_it_needs_a_demonstration(self):
        with pytest.raises(ConfigError, match="at least one demonstration"):
            DemonstrationBuffer([], PREPROCESSING, "ale")

    def test_mixed_frame_skips_are_refused(self):
        slow = demonstrate(bytes([4]) * 3 + ACTIONS, MazesConfig(frame_skip=1))
        fast = dataclasses.replace(slow, env=MazesConfig(frame_skip=2))
        with pytest.raises(ConfigError, match="frame_skip is 1, not 2"):
            buffer(slow, fast)

    def test_another_game_is_refused(self):
        with pytest.raises(ConfigError, match="game is 'two-mazes', not 'montezuma_revenge'"):
            buffer(demonstrate(), find_demonstration("montezuma-first-key-00"))

    def test_a_demonstration_that_does_not_replay_is_refused(self):
        good = demonstrate()
        changed = dataclasses.replace(good, actions=bytes([1]) + good.actions[1:])
        with pytest.raises(DemonstrationError, match="does not replay"):
            buffer(changed)

    def test_a_demonstration_that_loses_a_life_replays(self):
        """The frame in which it dies is played to its end, as the search did."""
        dying = demonstrate(bytes([3]) * 40 + bytes(60), MONTEZUMA_WHOLE)
        rewarded = dataclasses.replace(dying, rewards=(1.0, *dying.rewards[1:]))
        books = DemonstrationBuffer([rewarded], PreprocessingConfig(), "native")
        assert books.loses_life == [True]
        with pytest.raises(ConfigError, match=r"--rollout\.episode-end game-over"):
            Rollout(books, RolloutConfig(), SplitMix64(0))
        Rollout(books, RolloutConfig(episode_end="game-over"), SplitMix64(0))

    def test_a_demonstration_that_wins_nothing_is_refused(self):
        with pytest.raises(ConfigError, match="win something"):
            buffer(demonstrate(ACTIONS[:10]))

    def test_observations_at_the_beginning_repeat_the_first_screen(self):
        books = buffer(preprocessing=PreprocessingConfig(width=20, height=15, stack=3))
        first = books.observation(0, 0)
        np.testing.assert_array_equal(first[0], first[2])
        np.testing.assert_array_equal(books.observation(0, 2)[0], first[0])


@pytest.mark.parametrize(
    ("setting", "value"), [("stickiness", 1.5), ("lag", -1), ("after_death", 2.0), ("max_game_frames", 0)]
)
def test_impossible_settings_are_refused(setting, value):
    with pytest.raises(ConfigError, match=f"--rollout.{setting.replace('_', '-')}"):
        RolloutConfig(**{setting: value})
