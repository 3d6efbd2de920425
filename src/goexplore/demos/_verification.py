"""Proof by replay that a demonstration does what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goexplore.demos._demonstration import Demonstration, parse_demonstration
from goexplore.errors import DemonstrationError
from goexplore.problems import given_problem
from goexplore.replay import record


def read_demonstration(file: Path | str, problem: Any | None = None) -> Demonstration:
    """Read a demonstration's file, and prove by replay that the environment still plays as it says."""
    demonstration = parse_demonstration(Path(file), given_problem(problem))
    verify_demonstration(demonstration)
    return demonstration


def verify_demonstration(demonstration: Demonstration) -> None:
    """Replay a demonstration on the reference engine; raise DemonstrationError where it differs."""
    name = demonstration.env.name
    found = record(demonstration.env.reference()(), demonstration.actions)
    pairs = zip(demonstration.rewards, found.rewards, strict=True)
    for position, (expected, reward) in enumerate(pairs):
        if expected != reward:
            raise DemonstrationError(
                f"expected a reward of {expected:g} at training frame {position} of {name}, got {reward:g}: "
                "the demonstration is not what the game plays; make it anew"
            )
    if (found.digest, found.location, found.end) != (
        demonstration.digest,
        demonstration.location,
        demonstration.end,
    ):
        raise DemonstrationError(
            "expected the actions and observations that the demonstration was made with, got others from "
            f"{name}: an action was changed, or the simulator is another one; make it anew"
        )
