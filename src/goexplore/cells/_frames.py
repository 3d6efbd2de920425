"""Frames as few bytes: what dynamic cells keep of a state, so that it can get another cell later.

A packed frame is its rows and columns (2 bytes each, little-endian), then either the byte 1 and pairs of
bytes (length of a run, value), or the byte 0 and all pixels where runs would take more. The runs are those of
the frame in which each row is combined with the one above it by exclusive or, because neighbouring rows of a
game's screen are mostly alike. `_native/cells/frames.h` writes the same bytes.
"""

import struct

import numpy as np
from numpy.typing import NDArray

MOST_PIXELS = 60_000
"""Pixels of a frame that can be packed: a tracked state has up to 65,535 bytes."""

_HEAD = struct.Struct("<HHB")
_LONGEST_RUN = 255


def pack_frame(frame: NDArray[np.uint8]) -> bytes:
    """Return a frame of one byte per pixel as bytes that `unpack_frame` reads: equal frames, equal bytes."""
    rows, columns = frame.shape
    combined = frame.copy()
    combined[1:] ^= frame[:-1]
    pixels = combined.ravel()
    starts = np.concatenate(([0], np.flatnonzero(pixels[1:] != pixels[:-1]) + 1))
    lengths = np.diff(starts, append=pixels.size)
    pieces = -(-lengths // _LONGEST_RUN)
    count = int(pieces.sum())
    if 2 * count >= frame.size:
        return _HEAD.pack(rows, columns, 0) + frame.tobytes()
    runs = np.full((count, 2), _LONGEST_RUN, np.uint8)
    runs[np.cumsum(pieces) - 1, 0] = lengths - (pieces - 1) * _LONGEST_RUN
    runs[:, 1] = np.repeat(pixels[starts], pieces)
    return _HEAD.pack(rows, columns, 1) + runs.tobytes()


def unpack_frame(packed: bytes) -> NDArray[np.uint8]:
    """Return the frame that `pack_frame` was given; raise ValueError for bytes that are none."""
    if len(packed) < _HEAD.size:
        raise ValueError(f"expected a packed frame, got {len(packed)} bytes")
    rows, columns, in_runs = _HEAD.unpack_from(packed)
    body = np.frombuffer(packed, np.uint8, offset=_HEAD.size)
    if not in_runs:
        return body.reshape(rows, columns)
    pixels = np.repeat(body[1::2], body[::2]).reshape(rows, columns)
    frame: NDArray[np.uint8] = np.bitwise_xor.accumulate(pixels, axis=0)
    return frame
