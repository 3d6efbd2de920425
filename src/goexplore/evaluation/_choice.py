"""Choosing among a training's policies (paper section 2.3): test some, test the best one again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from goexplore.errors import EvaluationError
from goexplore.evaluation._protocol import Evaluation
from goexplore.random import SplitMix64, stream_state

_NEAR = 10
"""Training frames by which a starting point may be behind the lowest one."""


@dataclass(frozen=True, kw_only=True)
class PolicyCandidate:
    """A policy from some time of a training."""

    file: Path
    starting_point: int
    """The lowest maximum starting point of all demonstrations at that time."""
    real_start_success: float | None = None
    """Success rate of the training's last rollouts from the real start at that time, if there were any."""


@dataclass(frozen=True, kw_only=True)
class PolicyChoice:
    """The policy that was chosen."""

    file: Path
    tested: int
    """How many policies were tested."""
    test: Evaluation
    """Of the one that was chosen: too good to be true, because it was chosen by it."""
    retest: Evaluation
    """With fresh seeds: what to report."""


def candidates(policies: Sequence[PolicyCandidate], count: int, seed: int) -> list[PolicyCandidate]:
    """Return this many policies that are worth a test; `policies` begins with the oldest.

    Where it is known how often policies succeeded from the real start, these are the most successful ones,
    of equal ones the later. Else they are drawn from those whose starting point is the lowest or near it.
    """
    if not policies:
        raise EvaluationError("expected policies to choose from, got none: train for longer")
    known = [
        (each.real_start_success, at)
        for at, each in enumerate(policies)
        if each.real_start_success is not None
    ]
    if known:
        return [policies[at] for at in sorted(at for _, at in sorted(known, reverse=True)[:count])]
    lowest = min(each.starting_point for each in policies)
    near = [each for each in policies if each.starting_point <= lowest + _NEAR]
    random = SplitMix64(stream_state(seed, len(near)))
    chosen: list[PolicyCandidate] = []
    while near and len(chosen) < count:
        chosen.append(near.pop(random.index(len(near))))
    return sorted(chosen, key=lambda each: each.file.name)


def choose(
    drawn: Sequence[PolicyCandidate], test: Callable[[Path], Evaluation], retest: Callable[[Path], Evaluation]
) -> PolicyChoice:
    """Test candidates, and test the best again; `retest` must draw from other seeds than `test`."""
    tests = {each.file: test(each.file) for each in drawn}
    best = max(tests, key=lambda file: tests[file].score)
    return PolicyChoice(file=best, tested=len(tests), test=tests[best], retest=retest(best))
