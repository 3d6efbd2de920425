"""Which trajectories differ enough from each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from goexplore.archive import Actions
from goexplore.replay import shared_length


def keep_different(trajectories: Iterable[Actions], least: float) -> Iterator[int]:
    """Yield the positions of trajectories that differ enough from all that were yielded before.

    `least` is the share of a trajectory that must come after it parted from each of the others.
    """
    taken: list[Actions] = []
    for position, actions in enumerate(trajectories):
        if all(
            actions != other and len(actions) - shared_length(actions, other) >= least * len(actions)
            for other in taken
        ):
            taken.append(actions)
            yield position
