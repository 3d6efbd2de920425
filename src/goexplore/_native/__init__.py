"""The compiled parts. Each has a reference in Python that gives the same bytes and runs in its place."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Protocol

from goexplore._native.version import build_version
from goexplore.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Buffer

    from goexplore._native._archive import Numbers


class ArchiveModule(Protocol):
    """What _archive.pyi declares."""

    def measure(
        self, records: Buffer, offsets: Numbers, entries: int, action_bytes: int, /
    ) -> tuple[int, int, int, int]:
        """Check the records of a batch; return how many entries, segments and bytes they add at most."""
        ...

    def total(
        self, records: Buffer, offsets: Numbers, action_bytes: int, at_most: int, /
    ) -> tuple[int, int, int, int, list[bytes]]:
        """Return what is counted of a batch, and the frames for revisions."""
        ...

    def update(
        self,
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
    ) -> tuple[int, int, int, int, int, int, bytes, bytes, bytes]:
        """Take records into an archive's columns."""
        ...

    def fill_slots(self, slots: array[int], digests: array[int], first: int, /) -> None:
        """Put the entries with these digests, from a first one on, into the slots of a score index."""
        ...

    def digests(self, offsets: Numbers, cells: Buffer, /) -> bytes:
        """Return the digests of cells, two words each."""
        ...

    def put(self, data: Buffer, used: int, offsets: Numbers, strings: Buffer, /) -> int:
        """Write strings to the end of a store; return where that is now."""
        ...

    def gather(self, data: Buffer, handles: Numbers, /) -> tuple[bytes, bytes]:
        """Return where each string behind a handle begins, and the strings."""
        ...

    def tree_set(self, nodes: Numbers, leaves: Numbers, weights: Numbers, /) -> None:
        """Set the weights of leaves, in rising order, and all sums above them."""
        ...

    def tree_find(self, nodes: Numbers, positions: Numbers, /) -> bytes:
        """Return the leaves at these positions."""
        ...


class AtariModule(Protocol):
    """The optional compiled module `_atari`, for type checkers; _atari.pyi declares the same."""

    VERSION: str
    GAMES: tuple[str, ...]
    STOP_REASONS: tuple[str, ...]
    Cartridge: type[_atari.Cartridge]
    Machine: type[_atari.Machine]
    Explorer: type[_atari.Explorer]
    Pool: type[_atari.Pool]
    Planner: type[_atari.Planner]

    def play_each(
        self, machines: tuple[_atari.Machine, ...], actions: tuple[bytes, ...], frame_skip: int, /
    ) -> list[int | None]:
        """Let each machine play its training frames; return rewards, None where one could not go on."""
        ...


class CellsModule(Protocol):
    """What _cells.pyi declares."""

    Downscaler: type[_cells.Downscaler]

    def find_character(
        self, screen: NDArray[np.uint8], top: int, colour: int, /
    ) -> tuple[int, int, bool] | None:
        """Return x, y and whether no two pixels of a colour touch, or None where there is none."""
        ...


archive: ArchiveModule | None = None
"""The archive's and the selection's work between batches; None where there is none that can be used."""

atari: AtariModule | None = None
"""The Atari engine; None where there is none that can be used."""

cells: CellsModule | None = None
"""Cells from screens; None where there are none that can be used."""

missing_because = "it was not compiled when goexplore was installed"
"""Why there are no compiled parts, where there are none."""

_builds: set[str | None] = set()

try:
    from goexplore._native import _archive, _atari, _cells
except ImportError as error:
    if not isinstance(error, ModuleNotFoundError) and "cannot import name" not in str(error):
        missing_because = f"it cannot be loaded: {error}"
else:
    archive, atari, cells = _archive, _atari, _cells
    _builds = {getattr(module, "BUILD_VERSION", None) for module in (_archive, _atari, _cells)}


def is_outdated() -> bool:
    """Return whether any source of the compiled parts has changed since they were compiled."""
    return bool(_builds - {build_version()})


if is_outdated():  # they may do anything but what the references do
    archive = atari = cells = None
    missing_because = "its sources changed since it was compiled"


def require_atari(instead: str = "set `engine` to ale") -> AtariModule:
    """Return the Atari engine; raise ConfigError where there is none, and say what can be done instead."""
    if atari is None:
        raise ConfigError(
            f"expected the native engine, got an installation without one ({missing_because}): install a C "
            f"compiler and Python's headers and reinstall goexplore, or {instead}"
        )
    return atari
