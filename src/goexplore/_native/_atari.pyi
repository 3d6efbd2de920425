from typing import Any

VERSION: str
GAMES: tuple[str, ...]

class Cartridge:
    def __init__(self, rom: bytes, name: str) -> None: ...
    @property
    def sliced(self) -> bool: ...
    @property
    def translated(self) -> bool: ...
    def trace(self, actions: bytes, /) -> bytes: ...
    def translate(self, address: int, /) -> None: ...

class Machine:
    def __init__(self, cartridge: Cartridge) -> None: ...
    def reset(self) -> None: ...
    def play(self, actions: bytes, frame_skip: int, /) -> int: ...
    def frame(self, action: int, drawing: bool, /) -> int: ...
    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: bytes, /) -> None: ...
    @property
    def ram(self) -> bytes: ...
    @property
    def lives(self) -> int: ...
    @property
    def over(self) -> bool: ...

class Explorer:
    def __init__(
        self,
        *,
        cartridge: Cartridge,
        cells: str,
        cell_width: int,
        cell_height: int,
        levels: int,
        grey: Any,
        actions: bytes,
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
        snapshot: bytes,
        cell: bytes,
        entry: int,
        score: float,
        length: int,
        board: tuple[Any, Any, Any, Any],
        /,
    ) -> tuple[bytes, int, bytes, tuple[bytes, ...], tuple[tuple[Any, ...], ...], str | None]: ...

def play_each(
    machines: tuple[Machine, ...], actions: tuple[bytes, ...], frame_skip: int, /
) -> list[int | None]: ...
