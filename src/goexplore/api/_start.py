"""What a search may start from, in place of the initial state."""

from __future__ import annotations

from pathlib import Path

from goexplore.api._run import Trajectory
from goexplore.demos import Demonstration, find_demonstrations, verify_demonstration
from goexplore.errors import ConfigError, DemonstrationError
from goexplore.problems import Problem, differences
from goexplore.runs import Start


def find_start(source: Demonstration | Trajectory | Path | str, problem: Problem) -> Start:
    """Return the way to what a user names, replayed on the reference; refuse one of another environment."""
    demonstration = _demonstration(source, problem)
    differ = differences(problem.env.played(), demonstration.env.played())
    if differ:
        raise ConfigError(
            f"expected `start_from` to be a demonstration of {problem.env.name} with the settings of the "
            f"search, got one of another kind: {'; '.join(differ)}"
        )
    if not demonstration.actions:
        raise ConfigError(
            "expected `start_from` to have at least one training frame, got none: omit it to start from the "
            "initial state"
        )
    verify_demonstration(demonstration)
    origin = demonstration.provenance
    return Start(
        actions=demonstration.actions,
        action_count=demonstration.action_count,
        score=demonstration.score,
        source=f"entry {origin.entry} of {origin.run}",
    )


def _demonstration(source: Demonstration | Trajectory | Path | str, problem: Problem) -> Demonstration:
    if isinstance(source, Demonstration):
        return source
    if isinstance(source, Trajectory):
        return source.demo()
    if not isinstance(source, str | Path):
        raise ConfigError(
            "expected `start_from` to be a demonstration, a trajectory of a run, or a file's or sample's "
            f"name, got {type(source).__name__}"
        )
    try:
        found = find_demonstrations(str(source), problem, verify=False)
    except ConfigError as error:
        raise ConfigError(
            f"expected `start_from` to be a demonstration of {problem.env.name}, got another: {error}"
        ) from error
    if len(found) > 1:
        raise DemonstrationError(
            f"expected `start_from` to be one demonstration, got a folder of {len(found)}, {source}: name "
            "one of its files"
        )
    return found[0]
