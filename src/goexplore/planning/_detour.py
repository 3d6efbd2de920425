"""The last resort where no plan leads on: a short search for a way, which then guides the expert.

It is a small Go-Explore search (paper section 2.1) from the current state: an archive of places, and random
actions from those that were chosen least.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from goexplore.archive import as_actions
from goexplore.errors import EngineError
from goexplore.planning._guided_game import GuidedGame, Situation
from goexplore.planning._places import share_of_each
from goexplore.planning._reference import Trajectory
from goexplore.random import SplitMix64

_COARSE = 8
"""Edge of a cell of the search, along each axis of a position that has few."""
_LENGTH = 40
"""Training frames that are explored from a cell at a time."""
_REPEAT = 8
"""Training frames for which an action is held, on average: as in Phase 1 (paper appendix A.3)."""


class _Cell(NamedTuple):
    situation: Situation
    actions: tuple[int, ...]
    """Actions that lead here."""


def find_detour(
    game: GuidedGame, begin: Situation, random: SplitMix64, *, beyond: int, budget: int, safe: int
) -> Generator[None, None, tuple[Trajectory | None, int]]:
    """Look for a way from a situation to more than some progress; return it, and what it took to find it.

    This takes minutes on a slow simulator, so it yields after every stretch that it explores.

    It is None if `budget` training frames do not find one. Following the demonstrations for `safe` training
    frames after it must lose no life.

    The way ignores sticky actions; an expert that follows it must handle them.
    """
    game.restore(begin)
    first: Hashable = "the beginning"
    cells, chosen = {first: _Cell(begin, ())}, {first: 0}
    spent = 0
    while spent < budget:
        names = list(cells)
        weights = np.cumsum([(1 + chosen[name]) ** -0.5 for name in names])  # paper appendix A.5
        index = min(
            int(np.searchsorted(weights, random.uniform(1)[0] * weights[-1], "right")), len(names) - 1
        )
        name = names[index]
        chosen[name] += 1
        cell = cells[name]
        game.restore(cell.situation)
        actions, held = list(cell.actions), -1
        for _ in range(_LENGTH):
            if held < 0 or random.happens(1 / _REPEAT):
                held = random.index(game.game.action_count)
            spent += 1
            try:
                played = game.step(held, None)
            except EngineError:
                break
            if played.lost_life or played.ended:
                break
            actions.append(held)
            if game.progress > beyond:
                spent += safe
                if _is_safe(game, safe):
                    return _play(game, begin, actions), spent + len(actions)
                break
            found = _cell_of(game)
            if found not in cells or len(actions) < len(cells[found].actions):
                cells[found], chosen[found] = _Cell(game.situation(), tuple(actions)), 0
        yield
    return None, spent


def _cell_of(game: GuidedGame) -> Hashable:
    """Return where a game is, and with which score: a treasure may have to be fetched first."""
    place = game.place()
    edge = _COARSE * share_of_each(len(place.position))
    return place.key, tuple(each // edge for each in place.position), game.score


def _is_safe(game: GuidedGame, safe: int) -> bool:
    """Return whether following the demonstrations from here survives for a while. This advances the game."""
    for _ in range(safe):
        if game.reference.is_at_the_end(game.tracker):
            return True
        try:
            played = game.step(game.reference.action(game.tracker), None)
        except EngineError:
            return False
        if played.lost_life or played.ended:
            return False
    return True


def _play(game: GuidedGame, begin: Situation, actions: Sequence[int]) -> Trajectory:
    """Play actions once more and note the places."""
    game.restore(begin)
    places, rewards = [game.place()], []
    for action in actions:
        rewards.append(game.step(action, None).reward)
        places.append(game.place())
    return Trajectory(as_actions(actions, game.game.action_count), rewards, places)
