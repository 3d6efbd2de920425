"""Where rollouts begin: the real start, and states from which success is uncertain."""

import json
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from goexplore.errors import ConfigError
from goexplore.random import SplitMix64
from goexplore.training import Result, Start, StateBankConfig
from goexplore.training._recording_buffer import gains_ahead
from goexplore.training._state_bank import REAL_START, Bin, StateBank

WON = [0.0] * 11 + [100.0] * 10 + [150.0] * 5
"""A gain after 11 training frames, and one ten later."""
EVERYTHING = StateBankConfig(real_start_share=0.0, bin_length=5, every=1)


def buffer(*won, until=None):
    return SimpleNamespace(
        won=[np.array(each) for each in won],
        recordings=[SimpleNamespace(taught_until=len(each) - 1 if until is None else until) for each in won],
    )


def bank(config=EVERYTHING, *won, **settings):
    return StateBank(buffer(*(won or (WON,)), **settings), config)


def draws(bank, count=6000):
    random = SplitMix64(1)
    return [bank.draw(random) for _ in range(count)]


class TestGainsAhead:
    def test_by_hand(self):
        assert gains_ahead(np.array([0.0, 0, 1, 1, 1, 3])).tolist() == [2, 1, 3, 2, 1, -1]

    def test_nothing_is_ahead_of_nothing(self):
        assert gains_ahead(np.array([0.0])).tolist() == [-1]


class TestDraws:
    @pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
    def test_the_real_start_has_its_share(self, share):
        drawn = draws(bank(StateBankConfig(real_start_share=share)))
        assert drawn.count(REAL_START) / len(drawn) == pytest.approx(share, abs=0.02 if 0 < share < 1 else 0)

    def test_states_have_a_gain_ahead(self):
        assert {start.point for start in draws(bank())} == set(range(1, 21))

    def test_and_none_is_where_the_expert_chose_badly(self):
        assert {start.point for start in draws(bank(until=8))} == set(range(1, 8))

    def test_every_few_training_frames_another_one_in_each_recording(self):
        found = bank(StateBankConfig(real_start_share=0.0, every=4, bin_length=5), WON, WON)
        points = {number: set() for number in range(2)}
        for number, point in draws(found):
            points[number].add(point)
        assert points == {0: {1, 5, 9, 13, 17}, 1: {2, 6, 10, 14, 18}}

    def test_bins_are_alike_in_points_and_distance(self):
        """Ten points before the first gain in bins of five, and so before the second."""
        assert sorted(bank().rates) == [Bin(0.0, 0), Bin(0.0, 1), Bin(100.0, 0), Bin(100.0, 1)]

    def test_bins_are_drawn_by_how_uncertain_their_success_is(self):
        """Variances 0.25, 0.09, 0 and 0, and 0.02 for all; states of a bin are equally likely."""
        made = bank()
        rates = [[0.0, 0, 0.5], [0.0, 1, 0.9], [100.0, 0, 1.0], [100.0, 1, 0.0]]
        made.restore({"rates": rates})
        drawn = draws(made, 20_000)
        found = Counter(
            (start.point > 10, (19 if start.point > 10 else 10) - start.point > 4) for start in drawn
        )
        whole = 0.27 + 0.11 + 0.02 + 0.02
        for where, weight in {
            (False, False): 0.27,
            (False, True): 0.11,
            (True, False): 0.02,
            (True, True): 0.02,
        }.items():
            assert found[where] / len(drawn) == pytest.approx(weight / whole, abs=0.015)
        points = Counter(start.point for start in drawn if 6 <= start.point <= 10)
        assert min(points.values()) > 0.85 * max(points.values())

    def test_equal_streams_draw_equal_starts(self):
        assert draws(bank()) == draws(bank())


class TestResults:
    def test_a_result_moves_the_rate_of_its_bin(self):
        made = bank()
        made.update([Result(Start(0, 10), True), Result(Start(0, 9), True), Result(Start(0, 12), False)])
        up = 0.5 + 0.06 * 0.5
        assert made.rates[Bin(0.0, 0)] == pytest.approx(up + 0.06 * (1 - up))
        assert made.rates[Bin(100.0, 1)] == pytest.approx(0.47)
        assert made.rates[Bin(0.0, 1)] == 0.5

    def test_what_is_certain_by_now_is_drawn_less(self):
        made = bank()
        before = sum(start.point < 6 for start in draws(made))
        made.update([Result(Start(0, 3), True)] * 200)
        assert sum(start.point < 6 for start in draws(made)) < 0.2 * before

    def test_the_real_start_is_in_no_bin(self):
        made = bank()
        made.update([Result(REAL_START, True)])
        assert set(made.rates.values()) == {0.5}

    def test_rates_by_points(self):
        made = bank()
        made.restore({"rates": [[0.0, 0, 0.2], [0.0, 1, 0.4], [100.0, 0, 1.0]]})
        assert made.by_points() == {0.0: pytest.approx(0.3), 100.0: pytest.approx(0.75)}


class TestState:
    def test_it_comes_back_from_json(self):
        one, other = bank(), bank()
        one.update([Result(start, bool(number % 3)) for number, start in enumerate(draws(one, 500))])
        other.restore(json.loads(json.dumps(one.state())))
        assert other.rates == one.rates
        assert draws(other) == draws(one)

    def test_bins_that_are_new_keep_their_rates_and_those_that_are_gone_are_forgotten(self):
        made = bank(EVERYTHING, [0.0, 0, 0, 7, 7, 9])
        made.restore({"rates": [[0.0, 0, 0.9], [50.0, 3, 0.1]]})
        assert made.rates == {Bin(0.0, 0): 0.9, Bin(7.0, 0): 0.5}

    def test_recordings_that_are_new_are_taken_up(self):
        first = buffer(WON)
        made = StateBank(first, EVERYTHING)
        made.update([Result(Start(0, 10), True)])
        rate = made.rates[Bin(0.0, 0)]
        made.extend(buffer(WON, [0.0] * 30 + [3.0]))
        assert made.rates[Bin(0.0, 0)] == rate
        assert {number for number, _ in draws(made)} == {0, 1}
        assert made.patience == 60


def test_patience_is_a_multiple_of_the_longest_stretch_without_a_gain():
    assert bank().patience == 22
    assert bank(StateBankConfig(patience=1.5)).patience == 16
    assert bank(StateBankConfig(patience=0.001)).patience == 1


def test_recordings_without_a_gain_are_refused():
    with pytest.raises(ConfigError, match="with at least one gain to begin from, got none"):
        bank(EVERYTHING, [0.0] * 20)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("real_start_share", 1.1), ("own_share", -0.1), ("every", 0), ("bin_length", 0), ("patience", 0)],
)
def test_impossible_settings_are_refused(setting, value):
    with pytest.raises(ConfigError, match=f"expected `{setting}`"):
        StateBankConfig(**{setting: value})
