"""Demonstrations as training has them: played once, and proven by it."""

import dataclasses

import numpy as np
import pytest

from goexplore.demos import find_demonstrations
from goexplore.errors import ConfigError, DemonstrationError
from goexplore.games.two_mazes import TwoMazesConfig
from goexplore.play import PreprocessingConfig
from goexplore.training import DemonstrationBuffer
from tests.fields import Corridor, Field, Lock
from tests.training.mazes import ACTIONS, PREPROCESSING, buffer, demonstrate

FIVE_RIGHT = bytes([0] * 5)


def test_it_needs_a_demonstration():
    with pytest.raises(ConfigError, match="at least one demonstration"):
        DemonstrationBuffer([], PREPROCESSING)


def test_mixed_frame_skips_are_refused():
    slow = demonstrate(bytes([4]) * 3 + ACTIONS, TwoMazesConfig(frame_skip=1))
    fast = dataclasses.replace(slow, env=TwoMazesConfig(frame_skip=2))
    with pytest.raises(ConfigError, match="frame_skip is 1, not 2"):
        buffer(slow, fast)


def test_another_game_is_refused():
    with pytest.raises(ConfigError, match="game is 'two-mazes', not 'montezuma_revenge'"):
        buffer(demonstrate(), *find_demonstrations("montezuma-first-key-00", verify=False))


def test_what_ended_the_searches_episodes_may_differ():
    (key,) = find_demonstrations("montezuma-first-key-00", verify=False)
    whole = dataclasses.replace(key, env=dataclasses.replace(key.env, episode_end="game-over"))
    both = DemonstrationBuffer([key, whole], PreprocessingConfig(), key.env.with_engine("native").env)
    assert both.lengths == [len(key.actions)] * 2


@pytest.mark.parametrize("actions", [ACTIONS[:10], b""])
def test_a_demonstration_that_wins_nothing_and_ends_nothing_is_refused(actions):
    with pytest.raises(ConfigError, match="win something or end their episode, got one of"):
        buffer(demonstrate(actions))


def test_one_that_ends_its_episode_need_not_win():
    found = buffer(demonstrate(bytes([1] * 4), Corridor))
    assert found.ends == [True]
    assert found.scores[0].tolist() == [0, -1, -2, -3, -4]
    assert found.mean_score == 4.0, "the size of the score, whatever its sign"


def test_one_that_costs_nothing_either_is_scaled_by_one():
    class Free(Corridor):
        def step(self, action):
            return super().step(action)._replace(reward=0.0)

    assert buffer(demonstrate(bytes([1] * 4), Free)).mean_score == 1.0


# ---- it is the verification -------------------------------------------------------------------------------


class Counting(Field):
    """Counts the steps of all environments of its kind."""

    played = 0

    def step(self, action):
        type(self).played += 1
        return super().step(action)


def test_each_demonstration_is_played_once():
    demonstrations = [demonstrate(FIVE_RIGHT, Counting), demonstrate(bytes([2, 3]) + FIVE_RIGHT, Counting)]
    Counting.played = 0
    buffer(*demonstrations)
    assert Counting.played == 5 + 7


@pytest.mark.parametrize("action", [1, 2, 4, 200])
def test_a_changed_action_is_found(action):
    """Also one that this environment does not have."""
    good = demonstrate(FIVE_RIGHT, Field)
    changed = dataclasses.replace(good, actions=bytes([action]) + good.actions[1:])
    with pytest.raises(DemonstrationError, match="demonstration 1 was made with, got others"):
        buffer(good, changed)


def test_a_changed_reward_is_found():
    good = demonstrate(FIVE_RIGHT, Field)
    with pytest.raises(DemonstrationError, match="expected the rewards that demonstration 0 says"):
        buffer(dataclasses.replace(good, rewards=(5.0, *good.rewards[1:])))


def test_an_episode_that_ends_too_early_is_found():
    good = demonstrate(bytes([1] * 4), Corridor)
    longer = dataclasses.replace(good, actions=bytes([1] * 5), rewards=(-1.0,) * 5)
    with pytest.raises(DemonstrationError, match="does not replay"):
        buffer(longer)


def test_both_engines_prove_the_same():
    (key,) = find_demonstrations("montezuma-first-key-00", verify=False)
    ale, native = (
        DemonstrationBuffer([key], PreprocessingConfig(), key.env.with_engine(engine).env)
        for engine in ("ale", "native")
    )
    np.testing.assert_array_equal(ale.observation(0, 40), native.observation(0, 40))
    assert (ale.env.engine, native.env.engine) == ("ale", "native")


# ---- what it keeps ----------------------------------------------------------------------------------------


def test_observations_at_the_beginning_repeat_the_first_one():
    stacked = buffer(preprocessing=PreprocessingConfig(stack=3))
    first = stacked.observation(0, 0)
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_array_equal(stacked.observation(0, 2)[0], first[0])


def test_observations_of_vectors_are_stacked_too():
    stacked = buffer(demonstrate(FIVE_RIGHT, Field), preprocessing=PreprocessingConfig(stack=2))
    assert (stacked.shape, stacked.dtype, stacked.is_image) == ((4,), np.float32, False)
    assert stacked.observation(0, 0).tolist() == [0, 0, 0, 0]
    assert stacked.observation(0, 3).tolist() == [2, 0, 3, 0]


def test_actions_above_255_are_kept_as_they_are():
    found = buffer(demonstrate((950, 0, 899), Lock))
    assert found.actions == [(950, 0, 899)]
    assert found.action_count == 1000
    assert found.scores[0].tolist() == [0, 1, 1, 2]


def test_the_spread_of_vectors_is_over_all_demonstrations():
    """x is 0 to 4 in the one and 0, 0 to 4 in the other; y never changes, and is left as it is."""
    found = buffer(
        demonstrate(FIVE_RIGHT, Field),
        demonstrate(bytes([1]) + FIVE_RIGHT, Field),
        preprocessing=PreprocessingConfig(stack=2),
    )
    mean, deviation = found.spread()
    x = [0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 4]
    np.testing.assert_allclose(mean, [np.mean(x), 0] * 2, rtol=1e-6)
    np.testing.assert_allclose(deviation, [np.std(x), 1] * 2, rtol=1e-6)


def test_states_are_kept_for_every_training_frame_where_they_are_small():
    found = buffer(demonstrate(FIVE_RIGHT, Field))
    position, state = found.mark_before(0, 4)
    assert position == 3, "one before: a restored emulator shows its last screen until it is stepped"
    assert state.snapshot == bytes([3, 0, 0])
    assert state.last_action == 0
    assert found.mark_before(0, 0)[0] == 0


class Heavy(Field):
    """Its states take two kilobytes."""

    def snapshot(self):
        return super().snapshot() + bytes(2000)

    def restore(self, snapshot):
        super().restore(snapshot[:3])


def test_and_for_every_eighth_where_they_are_large():
    found = buffer(demonstrate(bytes([2] * 11) + bytes([0] * 11), Heavy))
    marks = [found.mark_before(0, point) for point in (0, 8, 9, 20)]
    assert [position for position, _ in marks] == [0, 0, 8, 16]
    assert marks[-1][1].snapshot[:3] == bytes([5, 11, 0])
