"""An environment seen through a cell representation: what the search moves in."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from enum import IntEnum
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import zstandard

from goexplore.cells._dynamic import DynamicCells
from goexplore.cells._representation import CellKey, CellRepresentation
from goexplore.cells._state_functions import EventRule, Events, Objective
from goexplore.envs import Environment, Location, Step, require_actions
from goexplore.errors import ConfigError, EnvironmentContractError, SnapshotError

PLAIN, COMPRESSED = 2, 3
"""Versions of the format of snapshots."""

_PLAIN_SIZE = 512
"""Bytes up to which an environment's states are kept as they are: not worth compressing."""


_MOST_TRACKED = 65_535
_MOST_ROOMS = 32_767


class End(IntEnum):
    """Whether and how an episode ended."""

    NONE = 0
    TERMINATED = 1
    TRUNCATED = 2
    CRASHED = 3
    """The last action killed the process of the environment."""
    HUNG = 4
    """The last action gave no answer in time."""
    RAISED = 5
    """The last action raised an exception that is an event."""

    @property
    def is_fatal(self) -> bool:
        """Whether the last action has no result: it cannot be replayed like others."""
        return self >= End.CRASHED


Ends: TypeAlias = Literal["keep", "drop"]
"""Whether the state in which an episode ends is kept as an end entry, or dropped as a death."""


class CellStep(NamedTuple):
    """Where one training frame led."""

    reward: float
    cell: CellKey | None
    """None where the episode was lost: there is no destination cell (paper section 2.1.4)."""
    end: End = End.NONE
    """How the episode ended with that training frame, if it did."""


class CellEnvironment:
    """Environment and cell representation, moved, saved and put back as one.

    A snapshot is a version byte, then the size of the tracked state (2 bytes, little-endian), the tracked
    state and the environment's state: as they are where the environment's states are small, else in a
    zstandard frame with a checksum. The compressor's dictionary is the initial state: states of one game
    differ from it in about a hundred of thousands of bytes, so nothing has to be trained or stored.
    """

    def __init__(
        self,
        env: Environment,
        cells: CellRepresentation,
        *,
        ends: Ends = "keep",
        objective: Callable[..., Any] | None = None,
        events: Mapping[str, EventRule] | None = None,
    ) -> None:
        """Both are used by this object alone from now on. `ends` says what becomes of an episode's end.

        `objective` says what counts as better in place of the score, `events` what is looked for.
        """
        require_actions(env)
        if ends not in get_args(Ends):
            raise ConfigError(f"expected `ends` to be {' or '.join(get_args(Ends))}, got {ends!r}")
        self.env, self.cells = env, cells
        self.events = Events(events or {})
        self._objective = None if objective is None else Objective(objective)
        self._keeps_ends = ends == "keep"
        self._validated = False
        env.reset()
        initial = self._state()
        self._version = PLAIN if len(initial) <= _PLAIN_SIZE else COMPRESSED
        self._compressor, self._decompressor = _codec(initial)

    @property
    def action_count(self) -> int:
        """Number of actions."""
        return int(self.env.action_count)

    @property
    def frame_skip(self) -> int:
        """Game frames per training frame."""
        return int(self.env.frame_skip)

    def reset(self) -> CellKey:
        """Go to the initial state and return its cell."""
        self.env.reset()
        cell = self._require_key(self.cells.reset(self.env.observation()))
        if cell is None:
            raise EnvironmentContractError(
                "expected a cell for the initial state, got None: only a lost episode has no cell"
            )
        return cell

    def step(self, action: int) -> CellStep:
        """Play one training frame."""
        step = self.env.step(action)
        if not self._validated:
            validate_step(step)
            self._validated = True
        reward, terminated, truncated = step
        if not math.isfinite(reward):
            raise EnvironmentContractError(
                f"expected finite rewards, got {reward} after action {action}: fix `step`"
            )
        if not (terminated or truncated):
            return CellStep(float(reward), self._require_key(self.cells.update(self.env.observation())))
        end = End.TERMINATED if terminated else End.TRUNCATED
        if not self._keeps_ends:
            return CellStep(float(reward), None, end)
        return CellStep(float(reward), self._require_key(self.cells.update(self.env.observation())), end)

    @property
    def has_objective(self) -> bool:
        """Whether something else than the score says what is better."""
        return self._objective is not None

    def objective(self) -> float | None:
        """Return how good the current state is, or None where the score says that."""
        return None if self._objective is None else self._objective(self.env)

    def location(self) -> Location:
        """Return the location as the cell representation tracks it, else as the environment has it."""
        return validate_location(self.cells.location() or self.env.location())

    def initial_digest(self) -> bytes:
        """Return a digest of the initial state and its cell: it must be the same in all processes."""
        cell = self.reset()
        return blake2b(cell + self._state(), digest_size=16).digest()

    def snapshot(self) -> bytes:
        """Return everything needed to come back here."""
        return self._pack(self.cells.state(), self._state())

    def _pack(self, tracked: bytes, state: bytes) -> bytes:
        if len(tracked) > _MOST_TRACKED:
            raise EnvironmentContractError(
                f"expected `state` of {type(self.cells).__name__} to have at most {_MOST_TRACKED:,} bytes, "
                f"got {len(tracked):,}: track less"
            )
        body = struct.pack("<H", len(tracked)) + tracked + state
        return bytes([self._version]) + (body if self._version == PLAIN else self._compressor.compress(body))

    def end_snapshot(self) -> bytes:
        """Return what is kept of a state in which the episode has ended.

        Nothing is explored from there, so it is nothing, but for cells that are revised: for them, what they
        track.
        """
        return self._pack(self.cells.state(), b"") if isinstance(self.cells, DynamicCells) else b""

    def tracked(self, snapshot: bytes) -> bytes:
        """Return the tracked state of a snapshot."""
        return unpack_snapshot(self._unpack(snapshot))[0]

    def restore(self, snapshot: bytes) -> None:
        """Come back to where `snapshot` was taken."""
        tracked, state = unpack_snapshot(self._unpack(snapshot))
        self.cells.restore(tracked)
        self.env.restore(state)

    def _unpack(self, snapshot: bytes) -> bytes:
        if not snapshot or snapshot[0] != self._version:
            raise SnapshotError(
                f"expected a snapshot of format {self._version}, got "
                f"{f'format {snapshot[0]}' if snapshot else 'no bytes'}: use the version of goexplore "
                "that wrote it"
            )
        try:
            return snapshot[1:] if self._version == PLAIN else self._decompressor.decompress(snapshot[1:])
        except (zstandard.ZstdError, MemoryError) as error:  # a damaged header may claim any size
            raise SnapshotError(
                f"expected a snapshot of this environment, got {len(snapshot)} bytes that do not decompress "
                "against its initial state: the environment begins in another state than when it was taken, "
                "see `goexplore check-env`, or its version differs from the one in the run's config.json"
            ) from error

    def close(self) -> None:
        """Free what the environment holds."""
        self.env.close()

    def _state(self) -> bytes:
        state = self.env.snapshot()
        if type(state) is not bytes:
            raise EnvironmentContractError(
                f"expected bytes from {type(self.env).__name__}.snapshot, got {type(state).__name__}: return "
                "everything that `restore` needs, as bytes"
            )
        return state

    def _require_key(self, cell: Any) -> CellKey | None:
        if cell is None or type(cell) is bytes:
            return cell
        raise EnvironmentContractError(
            f"expected bytes or None from {type(self.cells).__name__}, got {type(cell).__name__}: encode "
            "cells as bytes, or use a cell function, which may return numbers, strings and tuples"
        )


def validate_location(location: Any) -> Location:
    """Return a location with Python's own numbers; refuse what is none, or does not fit into the archive."""
    if type(location) is Location and type(location[0]) is int and type(location[1]) is int:
        if -1 <= location[0] <= _MOST_ROOMS and -1 <= location[1] <= _MOST_ROOMS:
            return location
    elif isinstance(location, Location) and all(isinstance(each, int | np.integer) for each in location):
        return validate_location(Location(int(location.level), int(location.room)))
    raise EnvironmentContractError(
        "expected goexplore.Location(level, room) from `location`, whole numbers from -1 to "
        f"{_MOST_ROOMS:,}, got {location!r}: return one, or goexplore.NOWHERE"
    )


def validate_step(step: Any) -> None:
    """Refuse what is no `Step`, or has reward and end in each other's place."""
    what = repr(step)[:60]
    if not isinstance(step, Step):
        raise EnvironmentContractError(
            f"expected goexplore.Step(reward, terminated, truncated) from `step`, got {what}: return one"
        )
    reward, terminated, truncated = step
    if isinstance(reward, bool | np.bool_) or not isinstance(reward, int | float | np.integer | np.floating):
        raise EnvironmentContractError(
            f"expected a number as the reward of a step, got {reward!r} in {what}: return Step(reward, "
            "terminated, truncated) in this order"
        )
    for end in (terminated, truncated):
        if not isinstance(end, bool | np.bool_):
            raise EnvironmentContractError(
                f"expected True or False for terminated and truncated, got {end!r} in {what}: return "
                "Step(reward, terminated, truncated) in this order"
            )


def unpack_snapshot(body: bytes) -> tuple[bytes, bytes]:
    """Return the tracked state and the environment's in what follows a plain snapshot's version byte."""
    (size,) = struct.unpack_from("<H", body.ljust(2, b"\0"))
    return body[2 : 2 + size], body[2 + size :]


def _codec(initial: bytes) -> tuple[zstandard.ZstdCompressor, zstandard.ZstdDecompressor]:
    dictionary = zstandard.ZstdCompressionDict(initial, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    parameters = zstandard.ZstdCompressionParameters.from_level(
        1,
        source_size=len(initial),
        dict_size=len(initial),
        format=zstandard.FORMAT_ZSTD1_MAGICLESS,
        write_content_size=True,  # else every decompression reserves room for the largest possible content
        write_dict_id=False,
        write_checksum=True,  # against another initial state, other bytes would come out without an error
    )
    return (
        zstandard.ZstdCompressor(dict_data=dictionary, compression_params=parameters),
        zstandard.ZstdDecompressor(dict_data=dictionary, format=zstandard.FORMAT_ZSTD1_MAGICLESS),
    )
