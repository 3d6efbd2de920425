"""Results of explorations as flat records: what the native kernel writes and the native archive takes in.

A batch's records stand one after the other, in the order of the tasks. `_native/explore/record.h` defines the
same layout in C. Numbers have the machine's byte order. A record is

- a head: size of the record, version, what stopped the engine (from 1, or 0), the task's order, training
  frames, then the sizes of what follows: bytes of actions, visits, candidates, bytes of the frame
- for each cell that was passed through: its digest (two words), its entry or UNKNOWN, the size of its key;
  the key is there if the cell has no entry, or if there is a candidate for it
- for each candidate: score, length, offset, which visit it is, the size of its snapshot, level, room
- the actions, the keys, the snapshots, the frame, and zeros up to a multiple of 8 bytes

Records hold neither ends nor events nor objectives: the kernels that write them know none.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import overload

import numpy as np
from numpy.typing import NDArray

from goexplore.archive._entries import Candidate, ExplorationResult
from goexplore.archive._score_index import UNKNOWN, ScoreLength, cell_digest
from goexplore.envs import Location
from goexplore.errors import ConfigError

RECORD_VERSION = 1

_HEAD = struct.Struct("=IHHIIIIII")
_VISIT = struct.Struct("=QQiI")
_CANDIDATE = struct.Struct("=diIIIhhI")
_UNIT = 8


class PackedResults(Sequence[ExplorationResult]):
    """The results of a batch, in the order of its tasks; objects are made of those that are asked for."""

    def __init__(
        self, records: bytes, offsets: NDArray[np.int64], *, stop_reasons: Sequence[str] = ()
    ) -> None:
        """`offsets` are where each record begins; `stop_reasons` are what can stop the engine, in words."""
        self.records, self.offsets = records, offsets
        self.stop_reasons = stop_reasons

    def __len__(self) -> int:
        return len(self.offsets)

    @overload
    def __getitem__(self, index: int) -> ExplorationResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[ExplorationResult]: ...
    def __getitem__(self, index: int | slice) -> ExplorationResult | list[ExplorationResult]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        return unpack_result(self.records, int(self.offsets[index]), self.stop_reasons)


def unpack_result(records: bytes, offset: int, stop_reasons: Sequence[str] = ()) -> ExplorationResult:
    """Return what the record at an offset says."""
    _, version, stopped, _, played, action_size, visit_count, candidate_count, frame_size = _HEAD.unpack_from(
        records, offset
    )
    if version != RECORD_VERSION:
        raise ConfigError(f"expected records of version {RECORD_VERSION}, got {version}: use one goexplore")
    at = offset + _HEAD.size
    visits = list(_VISIT.iter_unpack(records[at : at + visit_count * _VISIT.size]))
    at += visit_count * _VISIT.size
    candidates = list(_CANDIDATE.iter_unpack(records[at : at + candidate_count * _CANDIDATE.size]))
    at += candidate_count * _CANDIDATE.size
    actions = records[at : at + action_size]
    at += action_size
    keys = []
    for *_, size in visits:
        keys.append(records[at : at + size])
        at += size
    found = []
    for score, length, action, visit, size, level, room, _ in candidates:
        found.append(
            Candidate(
                number=visits[visit][2],
                cell=keys[visit],
                offset=action,
                score_length=ScoreLength(score, length),
                snapshot=records[at : at + size],
                location=Location(level, room),
            )
        )
        at += size
    return ExplorationResult(
        actions=actions,
        training_frames=played,
        seen=array("i", [entry for _, _, entry, _ in visits if entry != UNKNOWN]),
        seen_new=tuple(key for key, (_, _, entry, _) in zip(keys, visits, strict=True) if entry == UNKNOWN),
        candidates=tuple(found),
        frame=records[at : at + frame_size],
        stopped=stop_reasons[stopped - 1] if stopped else None,
    )


def pack_results(results: Iterable[ExplorationResult]) -> PackedResults:
    """Return the results of a batch as records: the definition of the layout, for tests and other kernels.

    The digests of known cells are left out, because nobody reads them.
    """
    reasons: dict[str, int] = {}
    records = [_pack(found, order, reasons) for order, found in enumerate(results, start=1)]
    ends = np.fromiter(accumulate(map(len, records), initial=0), np.int64)
    return PackedResults(b"".join(records), ends[:-1], stop_reasons=tuple(reasons))


def _pack(found: ExplorationResult, order: int, reasons: dict[str, int]) -> bytes:
    if found.ended_in is not None or found.events_seen or found.replayed or found.given_up:
        raise ConfigError("expected a result without ends, events and replays, got one that has some")
    stopped = reasons.setdefault(found.stopped, len(reasons) + 1) if found.stopped is not None else 0
    keys = {each.number: each.cell for each in found.candidates if each.number != UNKNOWN}
    visits = [(0, 0, entry, keys.get(entry, b"")) for entry in found.seen]
    visits += [(*cell_digest(cell), UNKNOWN, cell) for cell in found.seen_new]
    which = {entry if entry != UNKNOWN else key: at for at, (_, _, entry, key) in enumerate(visits)}
    candidates = b"".join(
        _CANDIDATE.pack(
            each.score_length.score,
            each.score_length.length,
            each.offset,
            which[each.number if each.number != UNKNOWN else each.cell],
            len(each.snapshot),
            *each.location,
            0,
        )
        for each in found.candidates
    )
    body = b"".join(
        [
            *(_VISIT.pack(low, high, entry, len(key)) for low, high, entry, key in visits),
            candidates,
            found.actions,
            *(key for *_, key in visits),
            *(each.snapshot for each in found.candidates),
            found.frame,
        ]
    )
    size = -(-(_HEAD.size + len(body)) // _UNIT) * _UNIT
    head = _HEAD.pack(
        size,
        RECORD_VERSION,
        stopped,
        order,
        found.training_frames,
        len(found.actions),
        len(visits),
        len(found.candidates),
        len(found.frame),
    )
    return (head + body).ljust(size, b"\0")
