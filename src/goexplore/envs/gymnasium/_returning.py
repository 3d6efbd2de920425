"""Three ways to return to a state of a Gymnasium environment (paper section 2.1.3).

- `state`: its simulator gives and takes its state as bytes. A snapshot is that state.
- `copies`: it can be copied. Each process keeps copies in memory; a snapshot is the actions since `reset`,
  and a state of which there is no copy is reached by replay from the nearest one on its way.
- `replay`: nothing but a seeded `reset` and the same actions again. A snapshot is the actions, too.

So nothing but a simulator's bytes and actions is ever stored; archives of `copies` and `replay` are equal.
"""

from __future__ import annotations

import copy
import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import zstandard

from goexplore.envs.gymnasium._states import ByteState
from goexplore.errors import ReturnError

Way: TypeAlias = Literal["state", "copies", "replay"]
WAYS: tuple[Way, ...] = ("state", "copies", "replay")
"""From the fastest to the one that needs nothing."""

COPIES_BYTES = 256 * 2**20
"""Memory that the copies of one process may take."""

_LARGE = 2**16
"""Bytes from which copies are compressed."""

_OBJECT_BYTES = 2**18
"""What a copy is taken to need where it is an object, whose size nobody knows."""


class Moment(NamedTuple):
    """An environment as it is, with what it returned last."""

    env: Any
    observation: Any
    info: Any


class Copier(NamedTuple):
    """How moments are put aside in memory, and taken out again."""

    name: str
    keep: Callable[[Moment], Any]
    take: Callable[[Any, Any], Moment]
    """Given what was kept and the environment as it is now, which may be used for it."""


def find_copier(moment: Moment, state: ByteState | None) -> Copier:
    """Return the fastest way to copy a moment that does not fail; whether copies are right is seen later."""
    for copier in (*([_by_state(state)] if state is not None else []), _PICKLES, _DEEP_COPIES):
        try:
            copier.take(copier.keep(moment), moment.env)
        except Exception:  # whatever the parts of somebody's environment raise
            continue
        return copier
    raise ReturnError(
        f"expected an environment that can be copied, got {type(moment.env.unwrapped).__name__}: set "
        "`engine` to replay"
    )


def _by_state(state: ByteState) -> Copier:
    """Copy by the simulator's state: for those of which equal states do not have equal bytes."""

    def take(kept: bytes, env: Any) -> Moment:
        saved, observation, info = pickle.loads(kept)
        state.load(saved)
        return Moment(env, observation, info)

    return Copier(
        f"by {state.name}",
        lambda moment: pickle.dumps((state.save(), moment.observation, moment.info), pickle.HIGHEST_PROTOCOL),
        take,
    )


# Pickles in memory take little room, share nothing, and are several times as fast as deep copies. They never
# reach the disk.
_PICKLES = Copier(
    "by pickling",
    lambda moment: pickle.dumps(tuple(moment), pickle.HIGHEST_PROTOCOL),
    lambda kept, env: Moment(*pickle.loads(kept)),
)
_DEEP_COPIES = Copier(
    "by copy.deepcopy",
    lambda moment: copy.deepcopy(tuple(moment)),
    lambda kept, env: Moment(*copy.deepcopy(kept)),
)


class CopyCache:
    """Moments by the actions that led to them; the least recently used one goes first."""

    def __init__(self, copier: Copier, *, limit_bytes: int = COPIES_BYTES) -> None:
        self.copier, self._limit = copier, limit_bytes
        self._kept: OrderedDict[bytes, tuple[Any, int]] = OrderedDict()
        self._lengths: Counter[int] = Counter()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, actions: bytes, moment: Moment) -> None:
        """Keep a copy of a moment."""
        if actions in self._kept:
            self._kept.move_to_end(actions)
            return
        kept = self.copier.keep(moment)
        if isinstance(kept, bytes) and len(kept) >= _LARGE:
            kept = _Squeezed(zstandard.ZstdCompressor(1).compress(kept))  # mostly the same bytes
        size = len(actions) + (len(kept) if isinstance(kept, bytes) else _OBJECT_BYTES)
        self._kept[actions] = kept, size
        self._lengths[len(actions)] += 1
        self._bytes += size
        while self._bytes > self._limit and len(self._kept) > 1:
            actions, (_, size) = self._kept.popitem(last=False)
            self._lengths[len(actions)] -= 1
            if not self._lengths[len(actions)]:
                del self._lengths[len(actions)]
            self._bytes -= size

    def nearest(self, actions: bytes, env: Any) -> tuple[int, Moment] | None:
        """Return the last moment on the way that there is a copy of, and the size of the actions up to it."""
        if actions in self._kept:
            return len(actions), self._take(actions, env)
        for length in sorted((each for each in self._lengths if each < len(actions)), reverse=True):
            if actions[:length] in self._kept:
                return length, self._take(actions[:length], env)
        return None

    def _take(self, actions: bytes, env: Any) -> Moment:
        self._kept.move_to_end(actions)
        kept, _ = self._kept[actions]
        if isinstance(kept, _Squeezed):
            kept = zstandard.ZstdDecompressor().decompress(kept)
        return self.copier.take(kept, env)


class _Squeezed(bytes):
    """A copy that was large, compressed."""
