"""The native planner's tables: a reference of memory places as it reads them (_native/plan/planner.h)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from goexplore import _native as native
from goexplore.envs import NativeAtariEnv, load_cartridge
from goexplore.planning._places import MemoryPlaces
from goexplore.planning._reference import Reference
from goexplore.play import StochasticGame

if TYPE_CHECKING:
    from goexplore._native._atari import Planner


def make_planner(game: StochasticGame, reference: Reference) -> Planner | None:
    """Return a planner for a game on the native engine whose places are known, or None."""
    env = game.env
    if not isinstance(env, NativeAtariEnv) or not MemoryPlaces.are_known(env):
        return None
    facts = env.facts
    assert facts.position_addresses is not None
    addresses = (facts.level_address, facts.room_address, *facts.position_addresses)
    level, room, x, y = (-1 if address is None else address for address in addresses)
    rows, gains, kinds, stretches = _tables(reference)
    return native.require_atari().Planner(
        cartridge=load_cartridge(env.rom),
        actions=env.action_numbers,
        no_op=env.no_op,
        frame_skip=game.frame_skip,
        repeat=int(game.repeat_action_probability * 2**32),
        addresses=(level, room, x, y),
        grounded=bytes(value for pair in facts.grounded for value in pair),
        deficit=int(reference.deficit),
        rows=rows.tobytes(),
        gains=gains.tobytes(),
        kinds=kinds.tobytes(),
        stretches=stretches.tobytes(),
    )


def _tables(reference: Reference) -> tuple[NDArray[np.int32], ...]:
    """Return a reference of memory places as the native planner reads it."""
    rows = [
        (*row.place.key, *row.place.position[:2], int(row.place.position[2] > 0), *row[1:])  # type: ignore[misc]
        for row in reference.rows
    ]
    gains: list[int] = []
    stretches = []
    for each in reference.stretches:
        stretches.append((each.rows.start, each.rows.stop - 1, each.end, len(gains), len(each.gains)))
        gains += each.gains
    kinds = [
        (level, -1 if kind.key is None else kind.key[1], kind.least, number)  # type: ignore[index]
        for level, of_level in reference.kinds.items()
        for number, kind in enumerate(of_level)
    ]
    return tuple(np.array(table, np.int32) for table in (rows, gains, kinds, stretches))
