"""Intervals: against sums by hand, SciPy, and simulation."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from goexplore.evaluation import caution, mean_with_interval, share_with_interval


def test_the_pivotal_interval_mirrors_the_percentile_one():
    """Pivotal: twice the mean minus the percentiles of the resampled means."""
    values = np.random.default_rng(3).exponential(100, 40)
    found = mean_with_interval(values.tolist())
    random = np.random.default_rng(9)
    means = random.choice(values, (200_000, len(values))).mean(1)
    low, high = np.percentile(means, [2.5, 97.5])
    assert found.value == pytest.approx(values.mean())
    assert found.low == pytest.approx(2 * values.mean() - high, rel=0.025)
    assert found.high == pytest.approx(2 * values.mean() - low, rel=0.025)


def test_two_values_by_hand():
    """Resamples of (0, 2) have the means 0, 1, 1, 2: percentiles 0 and 2, mirrored 2 and 0."""
    assert mean_with_interval([0.0, 2.0]) == (1.0, 0.0, 2.0)


def test_it_is_scipy_s_basic_interval():
    values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]
    theirs = bootstrap(
        (values,), np.mean, n_resamples=10_000, method="basic", rng=np.random.default_rng(0)
    ).confidence_interval
    assert mean_with_interval(values)[1:] == (theirs.low, theirs.high)


def test_the_same_values_give_the_same_interval():
    values = [1.0, 2.0, 5.0, 7.0]
    assert mean_with_interval(values) == mean_with_interval(values)


def test_where_nothing_varies_the_interval_is_a_point():
    assert mean_with_interval([5.0, 5.0, 5.0]) == (5.0, 5.0, 5.0)
    assert mean_with_interval([5.0, 5.0, 5.0]).text() == "5.0 (no spread)"


def test_one_value_says_nothing_about_its_interval():
    alone = mean_with_interval([5.0])
    assert alone.value == 5.0
    assert np.isnan([alone.low, alone.high]).all()
    assert alone.text() == "5.0"
    assert mean_with_interval([4.0, 6.0]).text() == "5.0 (95 %: 4.0 to 6.0)"


def test_the_interval_covers_the_truth_as_often_as_it_says():
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(300):
        found = mean_with_interval(random.normal(10, 3, 50).tolist())
        covered += found.low <= 10 <= found.high
    assert 0.91 <= covered / 300 <= 0.98


@pytest.mark.parametrize(("values", "per_cent"), [(2, 51), (3, 74), (5, 83), (10, 90)])
def test_over_few_values_it_does_not_and_says_so(values, per_cent):
    random = np.random.default_rng(values)
    covered = 0
    for _ in range(400):
        found = mean_with_interval(random.normal(10, 3, values).tolist())
        covered += found.low <= 10 <= found.high
    assert covered / 4 == pytest.approx(per_cent, abs=6)
    assert f"over {values} they have the true mean in them about {per_cent} % of the time" in caution(values)


def test_over_many_values_there_is_nothing_to_say():
    assert not caution(11)
    assert not caution(1)


def test_wilson_s_interval_covers_the_truth_as_often_as_it_says():
    random = np.random.default_rng(1)
    found = [share_with_interval(int(wins), 155) for wins in random.binomial(155, 0.95, 1000)]
    assert 0.92 <= np.mean([each.low <= 0.95 <= each.high for each in found]) <= 0.985


def test_shares_by_hand():
    """Wilson's interval for 9 of 10: centre and half width from the formula."""
    z, share, tries = 1.959964, 0.9, 10
    centre = (share + z**2 / (2 * tries)) / (1 + z**2 / tries)
    half = z / (1 + z**2 / tries) * np.sqrt(share * (1 - share) / tries + z**2 / (4 * tries**2))
    found = share_with_interval(9, 10)
    assert found.value == 0.9
    assert found.low == pytest.approx(centre - half, rel=1e-5)
    assert found.high == pytest.approx(centre + half, rel=1e-5)


def test_a_share_of_all_is_not_certain():
    assert share_with_interval(155, 155).low < 0.99
