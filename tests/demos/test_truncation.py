"""Where a trajectory ends, by hand-made rewards and levels (paper sections 3.1 and 3.2)."""

import pytest

from goexplore.demos import Truncation
from goexplore.errors import ConfigError

REWARDS = [0, 100, 0, -30, 300, 0]
LEVELS = [0, 0, 1, 1, 2, 2]


def kept(rewards=REWARDS, levels=LEVELS, **rules):
    truncation = Truncation(**rules)
    ranked = truncation.rank_length(rewards, levels)
    return None if ranked is None else truncation.final_length(rewards, ranked)


def test_without_rules_the_whole_trajectory_is_kept():
    assert kept() == 6


@pytest.mark.parametrize(("level", "length"), [(1, 3), (2, 5)])
def test_a_level_is_reached_at_the_first_training_frame_that_is_on_it(level, length):
    assert kept(until_level=level) == length


def test_a_level_that_was_skipped_is_reached_with_the_next_one():
    assert kept(rewards=[0] * 3, levels=[0, 2, 2], until_level=1) == 2


def test_a_trajectory_that_never_reaches_the_level_does_not_qualify():
    assert kept(until_level=3) is None


@pytest.mark.parametrize(("most", "length"), [(1, 1), (6, 6), (9000, 6)])
def test_no_more_training_frames_than_asked_for(most, length):
    assert kept(max_training_frames=most) == length


@pytest.mark.parametrize(("score", "length"), [(100, 2), (101, 5), (370, 5), (-5, 1), (0, 1)])
def test_a_score_is_reached_at_the_training_frame_that_pays_it(score, length):
    assert kept(until_score=score) == length


def test_a_score_that_is_never_reached_does_not_qualify():
    assert kept(until_score=371) is None


def test_a_score_must_be_reached_before_the_other_rules_cut():
    assert kept(until_score=370, until_level=1) is None
    assert kept(until_score=370, max_training_frames=4) is None


def test_the_end_is_right_after_the_last_reward():
    assert kept(after_last_reward=True) == 5
    assert kept(after_last_reward=True, max_training_frames=4) == 2


def test_a_penalty_is_not_a_reward():
    assert kept(rewards=[5, 0, -1], levels=[0] * 3, after_last_reward=True) == 1


@pytest.mark.parametrize("rewards", [[], [0, 0], [0, -1]])
def test_without_any_reward_there_is_nothing_to_end_after(rewards):
    assert kept(rewards=rewards, levels=[0] * len(rewards), after_last_reward=True) is None


def test_a_reward_at_the_very_end_cuts_nothing():
    assert kept(rewards=[0, 1], levels=[0, 0], after_last_reward=True) == 2


@pytest.mark.parametrize("rule", ["until_level", "max_training_frames"])
def test_numbers_below_one_are_refused(rule):
    with pytest.raises(ConfigError, match=f"expected `{rule}` to be 1 or more, got 0"):
        Truncation(**{rule: 0})


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_nobody_can_reach_is_refused(score):
    with pytest.raises(ConfigError, match="expected `until_score` to be a finite number"):
        Truncation(until_score=score)


def test_rules_are_told_in_words():
    truncation = Truncation(until_level=3, max_training_frames=9000, until_score=400, after_last_reward=True)
    assert truncation.describe() == (
        "where level 3 is first reached",
        "to 9000 training frames at most",
        "where a score of 400 is first reached",
        "right after the last reward",
    )
    assert Truncation().describe() == ()
