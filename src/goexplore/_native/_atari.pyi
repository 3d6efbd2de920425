from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

BUILD_VERSION: str
VERSION: str
GAMES: tuple[str, ...]
STOP_REASONS: tuple[str, ...]

# Entry's number or -1, cell, offset, score, length, snapshot, level, room.
_Candidate: TypeAlias = tuple[int, bytes, int, float, int, bytes, int, int]

class Cartridge:
    def __init__(self, rom: Buffer, name: str) -> None: ...
    @property
    def sliced(self) -> bool: ...
    @property
    def translated(self) -> bool: ...
    def trace(self, actions: Buffer, /) -> bytes: ...
    def translate(self, address: int, /) -> None: ...

class Machine:
    def __init__(self, cartridge: Cartridge) -> None: ...
    def reset(self) -> None: ...
    def play(self, actions: bytes, frame_skip: int, /) -> int: ...
    def frame(self, action: int, drawing: bool, /) -> int: ...
    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: Buffer, /) -> None: ...
    @property
    def ram(self) -> bytes: ...
    @property
    def lives(self) -> int: ...
    @property
    def over(self) -> bool: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Explorer:
    def __init__(
        self,
        *,
        cartridge: Cartridge,
        cells: str,
        cell_width: int,
        cell_height: int,
        levels: int,
        grey: NDArray[np.int16],
        actions: Buffer,
        frame_skip: int,
        training_frames: int,
        repeat: int,
        ends_at_life_loss: bool,
        score_limit: int,
        room_address: int,
        level_address: int,
    ) -> None: ...
    def run(
        self,
        order: int,
        stream: int,
        snapshot: Buffer,
        cell: Buffer,
        entry: int,
        score: float,
        length: int,
        score_index: tuple[Buffer, Buffer, Buffer, Buffer],
        sampled: int,
        /,
    ) -> tuple[bytes, int, bytes, tuple[bytes, ...], tuple[_Candidate, ...], str | None, bytes]: ...

class Pool:
    def __init__(self, explorers: tuple[Explorer, ...]) -> None: ...
    @property
    def played(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    def begin(
        self,
        entries: Buffer | NDArray[np.int32],
        stream: int,
        columns: tuple[Buffer, Buffer, Buffer],
        score_index: tuple[Buffer, Buffer, Buffer, Buffer],
        room_numbers: bytes | None,
        /,
    ) -> None: ...
    def wait(self, seconds: float, /) -> bool: ...
    def finish(self) -> tuple[bytes, bytes]: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...

class Planner:
    def __init__(
        self,
        *,
        cartridge: Cartridge,
        actions: Buffer,
        no_op: int,
        frame_skip: int,
        repeat: int,
        addresses: tuple[int, int, int, int],
        grounded: Buffer,
        deficit: int,
        rows: Buffer,
        gains: Buffer,
        kinds: Buffer,
        stretches: Buffer,
    ) -> None: ...
    @property
    def played(self) -> int: ...
    def judge(
        self,
        snapshot: Buffer,
        last_action: int,
        tracker: tuple[int, int, float, bytes, int, int],
        plans: tuple[tuple[int, int, bytes], ...],
        streams: Buffer,
        horizon: int,
        ceiling: int,
        /,
    ) -> list[tuple[int, float]]: ...
    def follow(
        self, snapshot: Buffer, tracker: tuple[int, int, float, bytes, int, int], /
    ) -> tuple[int, int, int, bytes, int, int]: ...

def play_each(
    machines: tuple[Machine, ...], actions: tuple[bytes, ...], frame_skip: int, /
) -> list[int | None]: ...
