"""An environment seen through a cell representation: what the search really walks in."""

import struct
from typing import NamedTuple

import zstandard

from goexplore.cells import CellKey, CellRepresentation
from goexplore.envs import Environment, Place
from goexplore.errors import ConfigError, SnapshotError

COMPRESSED, PLAIN = 1, 2
"""Versions of the format of snapshots."""

_PLAIN_SIZE = 512
"""Bytes up to which an environment's states are kept as they are: not worth compressing."""


class Arrival(NamedTuple):
    """Where one training frame led."""

    reward: float
    cell: CellKey | None
    """None where the episode ended: there is no destination cell (paper section 2.1.4)."""


class World:
    """Environment and cell representation, moved, saved and put back as one.

    A snapshot is a version byte, then the size of the tracked state (2 bytes, little-endian), the tracked
    state and the environment's state: as they are where the environment's states are small, else in a
    zstandard frame. The compressor's dictionary is the initial state: states of one game differ from it in
    about a hundred of thousands of bytes, so nothing has to be trained or stored.
    """

    def __init__(self, env: Environment, cells: CellRepresentation) -> None:
        """Both are used by this world alone from now on."""
        if not 1 <= env.action_count <= 256:
            raise ConfigError(
                f"expected an environment with 1 to 256 actions, got {env.action_count}: "
                "let each integer stand for a combination of fewer"
            )
        self.env, self.cells = env, cells
        env.reset()
        initial = env.snapshot()
        self._version = PLAIN if len(initial) <= _PLAIN_SIZE else COMPRESSED
        self._compressor, self._decompressor = _codec(initial)

    @property
    def action_count(self) -> int:
        """Number of actions."""
        return self.env.action_count

    @property
    def frame_skip(self) -> int:
        """Game frames per training frame."""
        return self.env.frame_skip

    def reset(self) -> CellKey:
        """Go to the initial state and return its cell."""
        self.env.reset()
        return self.cells.reset(self.env.observation())

    def step(self, action: int) -> Arrival:
        """Play one training frame."""
        reward, ended = self.env.step(action)
        return Arrival(reward, None if ended else self.cells.update(self.env.observation()))

    def place(self) -> Place:
        """Return the place as the cell representation tracks it, else as the environment tells."""
        return self.cells.place() or self.env.place()

    def snapshot(self) -> bytes:
        """Return everything needed to come back here."""
        tracked = self.cells.state()
        body = struct.pack("<H", len(tracked)) + tracked + self.env.snapshot()
        return bytes([self._version]) + (body if self._version == PLAIN else self._compressor.compress(body))

    def restore(self, snapshot: bytes) -> None:
        """Come back to where `snapshot` was taken."""
        if not snapshot or snapshot[0] != self._version:
            raise SnapshotError(
                f"expected a snapshot of format {self._version}, got "
                f"{f'format {snapshot[0]}' if snapshot else 'no bytes'}: use the version of goexplore "
                "that wrote it"
            )
        try:
            body = snapshot[1:] if self._version == PLAIN else self._decompressor.decompress(snapshot[1:])
        except zstandard.ZstdError as error:
            raise SnapshotError(
                f"expected a snapshot of this environment, got {len(snapshot)} bytes that do not decompress "
                "against its initial state: resume with the versions in the run's config.json"
            ) from error
        tracked, state = take_apart(body)
        self.cells.restore(tracked)
        self.env.restore(state)

    def close(self) -> None:
        """Free what the environment holds."""
        self.env.close()


def take_apart(body: bytes) -> tuple[bytes, bytes]:
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
    )
    return (
        zstandard.ZstdCompressor(dict_data=dictionary, compression_params=parameters),
        zstandard.ZstdDecompressor(dict_data=dictionary, format=zstandard.FORMAT_ZSTD1_MAGICLESS),
    )
