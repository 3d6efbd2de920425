"""Going to the state that a search begins with: the initial one, or one that somebody has found before."""

from __future__ import annotations

from typing import NamedTuple

from goexplore.archive import Actions
from goexplore.cells import CellEnvironment, CellKey
from goexplore.errors import DemonstrationError


class Reached(NamedTuple):
    """Where actions led to."""

    cell: CellKey
    score: float


def go_to_start(cell_env: CellEnvironment, actions: Actions) -> Reached:
    """Play actions from the initial state, so that cells which remember the way there are right.

    Raise DemonstrationError where the episode ends on the way: nothing can be explored from there.
    """
    here: CellKey | None = cell_env.reset()
    score = 0.0
    for position, action in enumerate(actions, start=1):
        if action >= cell_env.action_count:
            raise DemonstrationError(
                f"expected actions below {cell_env.action_count} in `start_from`, got {action} at training "
                f"frame {position}: it belongs to another environment"
            )
        reward, here, end = cell_env.step(action)
        score += reward
        if here is None or end:
            raise DemonstrationError(
                f"expected `start_from` to end where the search can go on, got an episode that is over at "
                f"training frame {position} of {len(actions)}: take a way to a cell before that"
            )
    assert here is not None
    return Reached(here, score)
