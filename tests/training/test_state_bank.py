"""Where rollouts begin: the real start, and states from which success is uncertain."""

import dataclasses
import json
from collections import Counter
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from goexplore.errors import ConfigError
from goexplore.random import SplitMix64
from goexplore.training import Result, Start, StateBankConfig
from goexplore.training._state_bank import REAL_START, StateBank

PROGRESS = [*range(10), *[9] * 6, *range(9, 20)]
"""Of a recording of 26 training frames: half of the way, a pause, and the other half."""
EVERYTHING = StateBankConfig(real_start_share=0.0, bin_length=5, every=1)


def buffer(*progress, until=None, pause=7):
    return SimpleNamespace(
        progress=[np.array(each) for each in progress],
        recordings=[
            SimpleNamespace(lessons=partial(range, len(each) - 1 if until is None else until))
            for each in progress
        ],
        longest_pause=lambda: pause,
    )


def bank(config=EVERYTHING, *progress, **settings):
    return StateBank(buffer(*(progress or (PROGRESS,)), **settings), config)


def draws(bank, count=6000):
    random = SplitMix64(1)
    return [bank.draw(random) for _ in range(count)]


class TestDraws:
    @pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
    def test_the_real_start_has_its_share(self, share):
        drawn = draws(bank(StateBankConfig(real_start_share=share)))
        assert drawn.count(REAL_START) / len(drawn) == pytest.approx(share, abs=0.02 if 0 < share < 1 else 0)

    def test_all_states_are_drawn_but_the_last(self):
        """There nothing is ahead."""
        assert {start.point for start in draws(bank())} == set(range(1, 26))

    def test_and_none_is_where_the_expert_chose_badly(self):
        assert {start.point for start in draws(bank(until=8))} == set(range(1, 8))

    def test_every_few_training_frames_another_one_in_each_recording(self):
        found = bank(StateBankConfig(real_start_share=0.0, every=4, bin_length=5), PROGRESS, PROGRESS)
        points = {number: set() for number in range(2)}
        for number, point in draws(found):
            points[number].add(point)
        assert points == {0: {1, 5, 9, 13, 17, 21, 25}, 1: {2, 6, 10, 14, 18, 22}}

    def test_bins_are_alike_in_progress(self):
        """Whatever the recording, and however long it took."""
        made = bank(EVERYTHING, PROGRESS, [3, 12, 13, 14])
        assert sorted(made.rates) == [0, 1, 2, 3]
        made.update([Result(Start(1, 1), True), Result(Start(0, 20), True)])
        assert made.rates[2] == pytest.approx(1 - 0.5 * 0.94**2), "both have a progress of 12 and 13"

    @pytest.mark.parametrize(
        ("hope", "weights"), [(0.0, [0.28, 0.12, 0.03, 0.03]), (0.25, [0.405, 0.145, 0.03, 0.28])]
    )
    def test_bins_are_drawn_by_how_uncertain_their_success_is(self, hope, weights):
        """0.5 * 0.5, 0.1 * 0.9, 0 and 0, with hope more where they fail, and 0.03 for all."""
        made = bank(dataclasses.replace(EVERYTHING, hope=hope))
        made.restore({"rates": [[0, 0.5], [1, 0.9], [2, 1.0], [3, 0.0]]})
        drawn = draws(made, 20_000)
        found = Counter(PROGRESS[start.point] // 5 for start in drawn)
        for where, weight in enumerate(weights):
            assert found[where] / len(drawn) == pytest.approx(weight / sum(weights), abs=0.015)
        points = Counter(start.point for start in drawn if PROGRESS[start.point] // 5 == 1)
        assert set(points) == set(range(5, 17))
        assert min(points.values()) > 0.75 * max(points.values())

    def test_a_floor_keeps_what_is_certain(self):
        made = bank(dataclasses.replace(EVERYTHING, floor=1.0))
        made.restore({"rates": [[0, 0.5], [1, 1.0], [2, 1.0], [3, 0.5]]})
        found = Counter(PROGRESS[start.point] // 5 for start in draws(made))
        assert found[1] / found[0] == pytest.approx(0.8, abs=0.1)

    def test_equal_streams_draw_equal_starts(self):
        assert draws(bank()) == draws(bank())


class TestResults:
    def test_a_result_moves_the_rate_of_its_bin(self):
        made = bank()
        made.update([Result(Start(0, 4), True), Result(Start(0, 3), True), Result(Start(0, 12), False)])
        up = 0.5 + 0.06 * 0.5
        assert made.rates[0] == pytest.approx(up + 0.06 * (1 - up))
        assert made.rates[1] == pytest.approx(0.47)
        assert made.rates[2] == made.rates[3] == 0.5

    def test_what_is_certain_by_now_is_drawn_less(self):
        made = bank()
        before = sum(start.point < 5 for start in draws(made))
        made.update([Result(Start(0, 3), True)] * 200)
        assert sum(start.point < 5 for start in draws(made)) < 0.2 * before

    def test_the_real_start_is_in_no_bin(self):
        made = bank()
        made.update([Result(REAL_START, True)])
        assert set(made.rates.values()) == {0.5}

    def test_rates_along_the_way(self):
        made = bank()
        made.restore({"rates": [[0, 0.2], [1, 0.4], [2, 1.0]]})
        assert made.along_the_way() == [0.2, 0.4, 1.0, 0.5], "no more parts than there are bins"
        assert made.along_the_way(2) == pytest.approx([0.3, 0.75])
        assert made.along_the_way(1) == pytest.approx([0.525])


class TestState:
    def test_it_comes_back_from_json(self):
        one, other = bank(), bank()
        one.update([Result(start, bool(number % 3)) for number, start in enumerate(draws(one, 500))])
        other.restore(json.loads(json.dumps(one.state())))
        assert other.rates == one.rates
        assert len(set(one.rates.values())) > 2
        assert draws(other) == draws(one)

    def test_bins_that_are_new_keep_their_rates_and_those_that_are_gone_are_forgotten(self):
        made = bank(EVERYTHING, [0, 1, 2, 7, 8, 9])
        made.restore({"rates": [[0, 0.9], [50, 0.1]]})
        assert made.rates == {0: 0.9, 1: 0.5}


def test_patience_is_a_multiple_of_the_longest_pause_and_a_little_more():
    assert bank(pause=7).patience == 7 + 30
    assert bank(StateBankConfig(patience=1.5, more_patience=0), pause=8).patience == 12
    assert bank(StateBankConfig(patience=0.1, more_patience=5), pause=1).patience == 5


def test_recordings_that_die_at_once_are_refused():
    with pytest.raises(ConfigError, match="expected recorded episodes to begin from, got none that survives"):
        bank(until=0)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("real_start_share", 1.1),
        ("own_share", -0.1),
        ("new_life_share", 2),
        ("every", 0),
        ("bin_length", 0),
        ("advance", 0),
        ("patience", 0),
        ("more_patience", -1),
        ("floor", 0),
        ("hope", -0.1),
    ],
)
def test_impossible_settings_are_refused(setting, value):
    with pytest.raises(ConfigError, match=f"expected `{setting}`"):
        StateBankConfig(**{setting: value})
