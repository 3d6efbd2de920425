"""Rollouts from demonstration points: in the two mazes, Montezuma's Revenge and a user's environments."""

import dataclasses

import numpy as np
import pytest

from goexplore.cells import End
from goexplore.envs import Step
from goexplore.errors import ConfigError, EngineError
from goexplore.games.two_mazes import TwoMazesConfig
from goexplore.play import PreprocessingConfig, StochasticGame
from goexplore.random import SplitMix64
from goexplore.training import DemonstrationBuffer, DemonstrationRollout, RolloutConfig, Start
from goexplore.training._rollout import Transition
from tests.fields import Corridor, Field, Lock
from tests.training.mazes import ACTIONS, buffer, demonstrate, first_key, key_after_a_fall, native

STILL = RolloutConfig(repeat_action_probability=0.0, no_ops=0)
PATIENT = dataclasses.replace(STILL, allowed_lag=10_000)


def rollout(config=STILL, demonstrated=None):
    return DemonstrationRollout(demonstrated or buffer(), config, SplitMix64(7))


def buffered_key(**settings):
    demonstration = first_key()
    return DemonstrationBuffer([demonstration], PreprocessingConfig(**settings), native(demonstration.env))


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
    by_hand = StochasticGame(TwoMazesConfig())
    by_hand.reset()
    for action in ACTIONS[:point]:
        by_hand.step(action)
    assert player._game.snapshot() == by_hand.snapshot()
    np.testing.assert_array_equal(player.preprocessor.observation[-1], by_hand.env.observation())


def test_it_sees_the_screens_that_led_there():
    demonstration = first_key()
    player = rollout(demonstrated=buffered_key(stack=3))
    player.begin(Start(0, 20))
    seen = player.preprocessor.observation.copy()
    player.begin(Start(0, 18))
    for action in demonstration.actions[18:20]:
        player.step(action)
    np.testing.assert_array_equal(player.preprocessor.observation, seen)


@pytest.mark.parametrize("point", [1, 15, 16, 17])
def test_people_see_the_screen_of_the_starting_point(point):
    demonstration = first_key()
    player = rollout(demonstrated=buffered_key())
    player.begin(Start(0, point))
    by_hand = StochasticGame(native(demonstration.env))
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
    assert player.ending == "lagging"


def test_an_allowed_deficit_forgives_points():
    player = rollout(dataclasses.replace(STILL, allowed_deficit=100.0, max_game_frames=300))
    player.begin(Start(0, 40))
    moved = play(player, [0] * 500)
    assert len(moved) == 300
    assert moved[-1].truncated, "at the longest rollout, not terminated"
    assert player.ending == "truncated"


def test_where_the_engine_cannot_go_on_a_rollout_is_truncated_and_does_not_count(monkeypatch):
    player = rollout()
    player.begin(Start(0, 40))

    def refuse(actions):
        raise EngineError("a frame without an end")

    with monkeypatch.context() as broken:
        broken.setattr(player.env, "play", refuse)
        moved = play(player, ACTIONS[40:])
    assert [each.truncated for each in moved] == [True]
    assert player.ending == "truncated"
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
        times.add(player._game.snapshot().snapshot[-2:])
    assert len(times) > 5
    for _ in range(5):
        player.begin(Start(0, 1))
        assert player._game.snapshot().snapshot[-2:] == b"\x01\x00"


def test_the_burn_in_plays_the_demonstrations_actions():
    player = rollout(dataclasses.replace(STILL, burn_in=5))
    player.begin(Start(0, 40))
    moved = [player.step(0) for _ in range(6)]
    assert [each.forced for each in moved] == [*ACTIONS[35:40], None]
    by_hand = rollout()
    by_hand.begin(Start(0, 40))
    by_hand.step(0)
    np.testing.assert_array_equal(player.preprocessor.observation, by_hand.preprocessor.observation)


def test_near_the_beginning_the_burn_in_is_shorter():
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
    def key(self):
        return buffered_key()

    def die(self, player):
        player.begin(Start(0, 0))
        moved = play(player, [3] * 40 + [0] * 200)
        assert moved[-1].terminated
        return moved

    def test_a_lost_life_ends_a_rollout(self, key):
        player = rollout(PATIENT, key)
        self.die(player)
        assert not player.result().success
        assert player.ending == "death"

    def test_or_not(self, key):
        config = dataclasses.replace(PATIENT, episode_end="game-over", max_game_frames=4 * 240)
        player = rollout(config, key)
        player.begin(Start(0, 0))
        assert play(player, [3] * 40 + [0] * 200)[-1].truncated

    def test_the_next_one_may_begin_after_the_death(self, key):
        player = rollout(dataclasses.replace(PATIENT, after_death=1.0), key)
        self.die(player)
        lives = player._game.lives
        player.begin(Start(0, 30))
        assert player._game.lives == lives
        assert player.result() is None, "it says nothing about a starting point"

    def test_but_not_where_the_start_has_not_been_learnt(self, key):
        player = rollout(dataclasses.replace(PATIENT, after_death=1.0), key)
        player.begin(Start(0, 50))
        assert play(player, [3] * 10)[-1].terminated, "off the rope"
        player.begin(Start(0, 30))
        assert player.result() is not None

    def test_but_not_without_being_asked_to(self, key):
        player = rollout(PATIENT, key)
        self.die(player)
        lives = player._game.lives
        player.begin(Start(0, 30))
        assert player._game.lives == lives + 1


# ---- demonstrations that lose a life: of a search until the game is over ----------------------------------


def montezuma(*demonstrations):
    preprocessing = PreprocessingConfig(width=8, height=8)
    return DemonstrationBuffer(demonstrations, preprocessing, native(demonstrations[0].env))


def test_a_buffer_knows_which_demonstrations_lose_a_life():
    dying = key_after_a_fall()
    assert (dying.score, dying.end) == (100, End.NONE)
    assert montezuma(first_key(), dying).loses_life == [False, True]


def test_rollouts_survive_a_lost_life_as_the_search_did():
    dying = key_after_a_fall()
    player = rollout(PATIENT, montezuma(dying))
    player.begin(Start(0, 10))
    moved = play(player, dying.actions[10:])
    assert len(moved) == len(dying.actions) - 10
    assert player.ending == "success"


def test_such_demonstrations_are_refused_where_a_lost_life_ends_rollouts():
    with pytest.raises(ConfigError, match=r"got one \(number 0\) that does: .* omit `episode_end`"):
        rollout(RolloutConfig(episode_end="life-loss"), montezuma(key_after_a_fall()))


def test_also_among_those_of_a_search_whose_episodes_ended_there():
    both = montezuma(first_key(), key_after_a_fall())
    with pytest.raises(ConfigError, match=r"number 1.* set `episode_end` to game-over"):
        rollout(RolloutConfig(), both)
    rollout(RolloutConfig(episode_end="game-over"), both)


# ---- demonstrations that end their episode ----------------------------------------------------------------


def corridor(*actions, env=Corridor, config=STILL):
    """A rollout in the corridor, where every step costs a point, from the start of such a demonstration."""
    player = rollout(config, buffer(demonstrate(bytes(actions), env)))
    player.begin(Start(0, 0))
    return player


STRAIGHT, DETOUR = (1, 1, 1, 1), (0, 1, 1, 0, 1, 1, 1)


def test_success_is_to_end_the_episode_with_the_demonstration_s_score():
    player = corridor(*DETOUR)
    moved = play(player, STRAIGHT)
    assert [each.reward for each in moved] == [-1.0] * 4
    assert moved[-1] == Transition(-1.0, terminated=True)
    assert (player.ending, player.result()) == ("success", (Start(0, 0), True))


def test_a_better_score_is_no_success_before_the_end():
    """After one step it is -1, much better than the demonstration's -7; but nothing is achieved."""
    player = corridor(*DETOUR)
    assert not any(each.terminated for each in play(player, [1, 0, 1, 0]))
    assert not player.result().success


@pytest.mark.parametrize(("lag", "ending"), [(2, "game over"), (3, "success")])
def test_additional_steps_may_cost_what_they_cost_up_to_the_allowed_lag(lag, ending):
    """The detour takes 7 steps instead of 4: three more, at a point each."""
    player = corridor(*STRAIGHT, config=dataclasses.replace(STILL, allowed_lag=lag))
    moved = play(player, DETOUR)
    assert len(moved) == 7
    assert moved[-1].terminated
    assert player.ending == ending
    assert player.result().success == (ending == "success")


@pytest.mark.parametrize(("deficit", "success"), [(2.0, False), (3.0, True)])
def test_a_worse_score_at_the_end_is_a_success_within_the_allowed_deficit(deficit, success):
    """Without any lag, the three points must be allowed for as points."""
    config = dataclasses.replace(STILL, allowed_lag=0, allowed_deficit=deficit)
    player = corridor(*STRAIGHT, config=config)
    play(player, DETOUR)
    assert player.result().success == success


def test_success_counts_what_is_left_from_the_starting_point_on():
    player = corridor(*STRAIGHT)
    player.begin(Start(0, 3))
    assert play(player, [1])[-1].terminated
    assert player.result() == (Start(0, 3), True)


@pytest.mark.parametrize(("deficit", "longer"), [(0.0, 11), (5.0, 16)])
def test_what_the_demonstration_pays_as_well_is_no_lag(deficit, longer):
    """With a cost per step the score falls for ever: only what cannot succeed any more is ended.

    The demonstration of 64 steps stands still for 60 first, much longer than the allowed lag of ten.
    """
    config = dataclasses.replace(STILL, allowed_lag=10, allowed_deficit=deficit)
    player = corridor(*[0] * 60, *STRAIGHT, config=config)
    moved = play(player, [0] * 200)
    assert player.ending == "lagging"
    assert len(moved) == 64 + longer


class Short(Corridor):
    """Six steps, of which each costs a point: within the allowed lag of the straight way."""

    limit = 6


class Free(Corridor):
    """Nothing costs anything: the score says nothing about the goal."""

    limit = 20

    def step(self, action):
        return super().step(action)._replace(reward=0.0)


@pytest.mark.parametrize(("env", "cost"), [(Short, 1.0), (Free, 0.0)])
def test_who_lets_the_environment_s_time_run_out_has_not_reached_the_goal(env, cost):
    """Earlier code took any end for the demonstration's: who never moved succeeded."""
    player = corridor(*STRAIGHT, env=env)
    moved = play(player, [0] * 100)
    assert len(moved) == env.limit
    assert moved[-1] == Transition(-cost, truncated=True), "what would follow is to be estimated"
    assert (player.ending, player.result().success) == ("truncated", False)
    player.begin(Start(0, 0))
    play(player, STRAIGHT)
    assert player.ending == "success"


def test_where_the_demonstration_runs_out_of_time_too_that_is_its_end():
    player = corridor(*[0] * 6, env=Short)
    assert len(play(player, [0] * 10)) == 6
    assert (player.ending, player.result().success) == ("success", True)


class Mortal(Corridor):
    """One life; the search's episodes end with it. The goal pays ten and kills."""

    ends_at_life_loss = True

    def lives(self):
        return int(self.x < self.goal)

    def step(self, action):
        step = super().step(action)
        return Step(step.reward + 10 * step.terminated, step.terminated)

    def frame_by_frame(self):
        return Immortal()


class Immortal(Mortal):
    """The same, played until the game is over, which it never is."""

    def step(self, action):
        return super().step(action)._replace(terminated=False)


def test_a_demonstration_may_end_with_the_life_that_ends_rollouts():
    player = corridor(*STRAIGHT, env=Mortal)
    moved = play(player, STRAIGHT)
    assert moved[-1].terminated
    assert (player.ending, player.result().success) == ("success", True)


# ---- a user's environments --------------------------------------------------------------------------------


def test_rollouts_of_a_vector_environment():
    """The treasure of the field is at (5, 0): five steps to the right."""
    player = rollout(demonstrated=buffer(demonstrate(bytes([0] * 5), Field)))
    player.begin(Start(0, 3))
    assert player.preprocessor.observation.tolist() == [3.0, 0.0]
    moved = play(player, [2, 0, 3, 0])
    assert player.preprocessor.observation.tolist() == [5.0, 0.0]
    assert [each.reward for each in moved] == [0, 0, 0, 1]
    assert player.result() == (Start(0, 3), True)


def test_rollouts_with_more_than_256_actions():
    demonstration = demonstrate((999, 899, 799, 699), Lock)
    player = rollout(dataclasses.replace(STILL, burn_in=2), buffer(demonstration))
    player.begin(Start(0, 2))
    assert [player.step(0).forced for _ in range(2)] == [999, 899]
    assert player.step(777) == Transition(1.0)
    assert player.step(600).terminated
    assert player.result().success


def test_without_a_no_op_every_rollout_from_the_real_start_begins_there():
    player = corridor(*STRAIGHT, config=dataclasses.replace(STILL, no_ops=30))
    for _ in range(5):
        player.begin(Start(0, 0))
        assert player.env.steps == 0


def test_sticky_actions_repeat_what_the_demonstration_played_last():
    """Always sticky, as far as that is allowed: from the middle, the demonstration's own action goes on."""
    config = dataclasses.replace(STILL, repeat_action_probability=0.999)
    player = rollout(config, buffer(demonstrate(bytes(STRAIGHT), Corridor)))
    player.begin(Start(0, 2))
    assert play(player, [0] * 5)[-1].terminated
    assert player.result().success


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("repeat_action_probability", 1.5),
        ("allowed_lag", -1),
        ("allowed_lag", 10**18),
        ("reward_scale", float("inf")),
        ("allowed_deficit", -1.0),
        ("burn_in", -1),
        ("no_ops", -1),
        ("after_death", 2.0),
        ("max_game_frames", 0),
    ],
)
def test_impossible_settings_are_refused(setting, value):
    with pytest.raises(ConfigError, match=f"`{setting}`"):
        RolloutConfig(**{setting: value})
