"""The curriculum, by hand-made sequences of rollouts."""

import json
from collections import Counter

import pytest

from goexplore.errors import ConfigError
from goexplore.random import SplitMix64
from goexplore.training._curriculum import Curriculum, CurriculumConfig, Result, Start

SIMPLE = CurriculumConfig(
    window=4, episodes_to_move=4, steps_between_moves=10, largest_move=4, forward_move=3
)


def rollouts(points, *, demonstration=0, success=True):
    return [Result(Start(demonstration, point), success) for point in points]


def test_it_begins_at_the_end_of_each_demonstration():
    assert Curriculum([100, 50], CurriculumConfig()).starting_points == [99, 49]
    assert Curriculum([100, 5], CurriculumConfig(frames_before_end=10)).starting_points == [89, 0]


def test_rollouts_that_succeed_move_the_starting_point_back():
    curriculum = Curriculum([100], SIMPLE)
    assert curriculum.update(rollouts([99, 98, 97, 96]), steps=10) == [0]
    assert curriculum.starting_points == [96]


def test_it_moves_no_further_than_the_earliest_point_that_was_tried():
    curriculum = Curriculum([100], SIMPLE)
    curriculum.update(rollouts([99, 98, 99, 98]), steps=10)
    assert curriculum.starting_points == [98]


def test_it_moves_at_least_one_training_frame():
    curriculum = Curriculum([100], SIMPLE)
    curriculum.update(rollouts([99] * 4), steps=10)
    assert curriculum.starting_points == [98]


def test_it_moves_at_most_so_far_at_once():
    config = CurriculumConfig(window=12, episodes_to_move=2, steps_between_moves=1, largest_move=5)
    curriculum = Curriculum([100], config)
    curriculum.update(rollouts([99, 87]), steps=1)
    assert curriculum.starting_points == [94]


def test_it_never_moves_before_the_first_training_frame():
    curriculum = Curriculum([3], SIMPLE)
    for _ in range(5):
        curriculum.update(rollouts([0, 1, 2, 0]), steps=10)
    assert curriculum.starting_points == [0]


def test_the_success_rate_counts_from_the_latest_point_on():
    """Failures from the earliest points do not undo what works from the later ones."""
    curriculum = Curriculum([100], SIMPLE)  # one demonstration: a threshold of 0.2
    failures = rollouts([96] * 20, success=False)
    curriculum.update([*rollouts([99, 98, 97]), *failures], steps=10)
    assert curriculum.starting_points == [97]


@pytest.mark.parametrize(("demonstrations", "threshold"), [(1, 0.2), (2, 0.1), (10, 0.1)])
def test_the_threshold_depends_on_the_number_of_demonstrations(demonstrations, threshold):
    assert Curriculum([100] * demonstrations, SIMPLE).threshold == threshold
    assert Curriculum([100] * demonstrations, CurriculumConfig(threshold=0.5)).threshold == 0.5


@pytest.mark.parametrize(("wins", "point"), [(1, 99), (2, 98)])
def test_a_rate_just_at_the_threshold_is_enough(wins, point):
    """Of ten rollouts from the latest point two must succeed; one is too few, and it stays at the end."""
    curriculum = Curriculum([100], SIMPLE)
    curriculum.update([*rollouts([99] * wins), *rollouts([99] * (10 - wins), success=False)], steps=10)
    assert curriculum.starting_points == [point]


def test_where_even_the_latest_points_fail_it_moves_to_later_again():
    curriculum = Curriculum([100], SIMPLE)
    curriculum.update(rollouts([99, 98, 97, 96]), steps=10)
    assert curriculum.update(rollouts([96, 95, 94, 93], success=False), steps=10) == [0]
    assert curriculum.starting_points == [99]
    curriculum.update(rollouts([99] * 4, success=False), steps=10)
    assert curriculum.starting_points == [99]


def test_it_waits_for_enough_rollouts_and_enough_training_frames():
    curriculum = Curriculum([100], SIMPLE)
    assert curriculum.update(rollouts([99, 98, 97]), steps=1000) == []
    assert curriculum.update(rollouts([96]), steps=0) == [0]
    assert curriculum.update(rollouts([96, 95, 94, 93]), steps=9) == []
    assert curriculum.update([], steps=1) == [0]


def test_the_wait_grows_with_the_number_of_demonstrations():
    curriculum = Curriculum([100, 100], SIMPLE)
    assert curriculum.update(rollouts([99, 98, 97, 96]), steps=19) == []
    assert curriculum.update([], steps=1) == [0]


def test_demonstrations_move_on_their_own():
    curriculum = Curriculum([100, 100], SIMPLE)
    curriculum.update(rollouts([99, 98, 97, 96], demonstration=1), steps=20)
    assert curriculum.starting_points == [99, 96]


def test_rollouts_from_elsewhere_do_not_move_it():
    curriculum = Curriculum([100], SIMPLE)
    curriculum.update(rollouts([99, 98, 97, 96]), steps=10)
    assert curriculum.starting_points == [96]
    assert curriculum.update(rollouts([91, 50, 0, 0, 0]), steps=100) == []
    assert curriculum.starting_points == [96]


def test_rollouts_that_began_before_the_last_move_count():
    """Successes take longer than failures: without them a move would often be taken back."""
    curriculum = Curriculum([100], SIMPLE)
    curriculum.update(rollouts([99, 98, 97, 96]), steps=10)
    late = rollouts([99, 98, 97])
    assert curriculum.update([*late, *rollouts([96, 95, 94], success=False)], steps=10) == [0]
    assert curriculum.starting_points == [94], "half of them have succeeded from there on"


def test_success_from_later_points_alone_moves_nothing_back():
    curriculum = Curriculum([100], SIMPLE)
    curriculum.update(rollouts([99, 98, 97, 96]), steps=10)
    failures = rollouts([96] * 20, success=False)
    assert curriculum.update([*rollouts([99]), *failures], steps=10) == [0]
    assert curriculum.starting_points == [99]


def test_success_rates_are_those_of_the_last_decision():
    curriculum = Curriculum([100], SIMPLE)
    curriculum.update([*rollouts([99]), *rollouts([98], success=False)], steps=1)
    assert curriculum.success_rates == [None]
    curriculum.update(rollouts([99, 98]), steps=10)
    assert curriculum.success_rates == [0.75]
    curriculum.update(rollouts([98], success=False), steps=1)
    assert curriculum.success_rates == [0.75]


# ---- drawing ----------------------------------------------------------------------------------------------


def drawn(curriculum, count=4000):
    random = SplitMix64(1)
    return [curriculum.draw(random) for _ in range(count)]


def moved_to(point, length=100, **settings):
    """A curriculum of one demonstration whose maximum starting point is there."""
    curriculum = Curriculum([length], CurriculumConfig(**{"window": 10, **settings}))
    state = curriculum.state()
    state["demonstrations"][0]["max_starting_point"] = point
    curriculum.restore(state)
    return curriculum


def test_most_rollouts_begin_in_the_window_and_some_anywhere_after_it():
    points = Counter(start.point for start in drawn(moved_to(60)))
    window = sum(points[point] for point in range(50, 61))
    assert window / 4000 == pytest.approx(0.8, abs=0.03)
    assert set(range(50, 100)) == set(points)
    assert all(points[point] == pytest.approx(4000 * 0.8 / 11, rel=0.3) for point in range(50, 61))


def test_at_the_end_there_is_nothing_later():
    assert {start.point for start in drawn(moved_to(99))} == set(range(89, 100))


def test_demonstrations_are_equally_likely():
    drawn_from = Counter(
        start.demonstration for start in drawn(Curriculum([10, 1000, 50], CurriculumConfig(near_start=0)))
    )
    assert all(drawn_from[number] == pytest.approx(4000 / 3, rel=0.1) for number in range(3))


@pytest.mark.parametrize(
    ("point", "share"), [(11, 0), (9, 0.8 / 10), (8, 0.2 + 0.8 * 0.8 / 9), (0, 0.2 + 0.8 * 0.8)]
)
def test_near_the_start_more_rollouts_begin_at_the_real_start(point, share):
    starts = drawn(moved_to(point))
    real = sum(start.point == 0 for start in starts)
    assert real / len(starts) == pytest.approx(share, abs=0.03)


# ---- saving -----------------------------------------------------------------------------------------------


def test_saved_and_restored_it_goes_on_as_it_would_have():
    one, other = (Curriculum([100, 40], SIMPLE) for _ in range(2))
    one.update([*rollouts([99, 98]), *rollouts([38], demonstration=1)], steps=7)
    other.restore(json.loads(json.dumps(one.state())))
    for curriculum in (one, other):
        curriculum.update(rollouts([97, 96]), steps=13)
    assert one.state() == other.state()
    assert one.starting_points == [96, 39]
    assert drawn(one, 100) == drawn(other, 100)


def test_other_demonstrations_are_refused():
    saved = Curriculum([100, 40], SIMPLE).state()
    with pytest.raises(
        ConfigError, match=r"expected the demonstrations that training began with \(of \[100, 40\]"
    ):
        Curriculum([100, 41], SIMPLE).restore(saved)


@pytest.mark.parametrize("lengths", [[], [5, 0]])
def test_nothing_to_learn_from_is_refused(lengths):
    with pytest.raises(ConfigError, match="expected demonstrations of at least one training frame"):
        Curriculum(lengths, SIMPLE)


@pytest.mark.parametrize(
    ("settings", "name"),
    [({"window": 0}, "window"), ({"later_share": 1.5}, "later_share"), ({"forward_move": 0}, "forward_move")],
)
def test_settings_out_of_range_are_refused(settings, name):
    with pytest.raises(ConfigError, match=f"expected `{name}`"):
        CurriculumConfig(**settings)
