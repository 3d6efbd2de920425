"""Intervals that the paper reports (section 2.3), from SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from typing import NamedTuple

import numpy as np

from goexplore.runs import score_text

_TABLE_RESAMPLES = 10_000
_LEVEL = 0.95


class Estimate(NamedTuple):
    """A number with its 95 % interval: not a number where a single value tells nothing about it."""

    value: float
    low: float
    high: float

    def text(self, digits: int = 1, *, percent: bool = False) -> str:
        """Return the number with its interval, for people to read."""
        value, low, high = (f"{each:.{digits}%}" if percent else score_text(each, digits) for each in self)
        if isnan(self.low):
            return value
        return f"{value} (no spread)" if self.low == self.high else f"{value} (95 %: {low} to {high})"


_COVERAGE = {2: 51, 3: 74, 4: 79, 5: 83, 7: 88, 10: 90}
"""How often, in per cent, an interval over so few normally distributed values has their mean in it."""


def caution(values: int) -> str:
    """Return what has to be said beside an interval over few values: nothing if there are more than ten."""
    known = max((count for count in _COVERAGE if count <= values), default=None)
    if known is None or values > max(_COVERAGE):
        return ""
    return (
        f" (too narrow: over {values} they have the true mean in them about {_COVERAGE[known]} % of the time)"
    )


def mean_with_interval(values: Sequence[float]) -> Estimate:
    """Return a mean with its pivotal bootstrap interval, 10,000 resamples: for tables (paper section 2.3).

    The same values give the same interval every time.
    """
    from scipy.stats import bootstrap

    sample = np.asarray(values, np.float64)
    mean = float(sample.mean())
    if len(sample) < 2:
        return Estimate(mean, nan, nan)
    if np.ptp(sample) == 0:
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
