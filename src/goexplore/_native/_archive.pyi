from array import array
from typing import Any, TypeAlias

from numpy.typing import NDArray
from typing_extensions import Buffer

Numbers: TypeAlias = Buffer | NDArray[Any]

BUILD_VERSION: str

def measure(
    records: Buffer, offsets: Numbers, entries: int, action_bytes: int, /
) -> tuple[int, int, int, int]: ...
def total(
    records: Buffer, offsets: Numbers, action_bytes: int, at_most: int, /
) -> tuple[int, int, int, int, list[bytes]]: ...
def update(
    *,
    columns: tuple[array[Any], ...],
    strings: Buffer,
    used_strings: int,
    free_strings: dict[int, list[int]],
    actions: Buffer,
    used_actions: int,
    free_actions: dict[int, list[int]],
    chosen: Numbers,
    records: Buffer,
    offsets: Numbers,
    entries: int,
    segments: int,
    living: int,
    best: int,
    reset_seen: bool,
    game_frame: int,
    action_bytes: int,
) -> tuple[int, int, int, int, int, int, bytes, bytes, bytes]: ...
def fill_slots(slots: array[int], digests: array[int], first: int, /) -> None: ...
def digests(offsets: Numbers, cells: Buffer, /) -> bytes: ...
def put(data: Buffer, used: int, offsets: Numbers, strings: Buffer, /) -> int: ...
def gather(data: Buffer, handles: Numbers, /) -> tuple[bytes, bytes]: ...
def tree_set(nodes: Numbers, leaves: Numbers, weights: Numbers, /) -> None: ...
def tree_find(nodes: Numbers, positions: Numbers, /) -> bytes: ...
