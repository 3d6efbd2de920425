"""Intervals that the paper reports (section 2.3), from SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_TABLE_RESAMPLES = 10_000
_LEVEL = 0.95


class Estimate(NamedTuple):
    """A number with its 95 % interval; the bounds are the number itself where nothing varies."""

    value: float
    low: float
    high: float


def mean_with_interval(values: Sequence[float]) -> Estimate:
    """Return a mean with its pivotal bootstrap interval, 10,000 resamples: for tables (paper section 2.3).

    The same values give the same interval every time.
    """
    from scipy.stats import bootstrap

    sample = np.asarray(values, np.float64)
    mean = float(sample.mean())
    if len(sample) < 2 or np.ptp(sample) == 0:
        return Estimate(mean, mean, mean)
    found = bootstrap(
        (sample,),
        np.mean,
        n_resamples=_TABLE_RESAMPLES,
        confidence_level=_LEVEL,
        method="basic",  # SciPy's name for the pivotal method
        rng=np.random.default_rng(0),
    ).confidence_interval
    return Estimate(mean, float(found.low), float(found.high))


def share_with_interval(successes: int, tries: int) -> Estimate:
    """Return a success rate with Wilson's interval, which holds near 0 and 1 too."""
    from scipy.stats import binomtest

    found = binomtest(successes, tries).proportion_ci(_LEVEL, method="wilson")
    return Estimate(successes / tries, float(found.low), float(found.high))
