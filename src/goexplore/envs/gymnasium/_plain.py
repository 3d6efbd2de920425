"""Plain values as bytes and back: numbers, texts, arrays, sequences and mappings of these. Never code."""

from __future__ import annotations

from typing import Any

import msgpack
import numpy as np

_ARRAY, _SCALAR, _TUPLE, _WHOLE = 1, 2, 3, 4
_LARGEST = 2**63


class NotPlainError(Exception):
    """A value that has no plain form."""


def encode(value: Any) -> bytes:
    """Return a plain value as bytes: equal values with mappings in equal order give equal bytes."""
    packed: bytes = msgpack.packb(_packable(value), strict_types=True)
    return packed


def decode(data: bytes) -> Any:
    """Return the value that `encode` was given."""
    return msgpack.unpackb(data, ext_hook=_unpack, strict_map_key=False, use_list=True)


def _packable(value: Any) -> Any:
    if value is None or type(value) in (bool, float, str, bytes):
        return value
    if type(value) is int:
        if -_LARGEST <= value < _LARGEST:
            return value
        size = value.bit_length() // 8 + 1
        return msgpack.ExtType(_WHOLE, value.to_bytes(size, "little", signed=True))
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject and value.dtype.names is None:
        kind = _ARRAY if isinstance(value, np.ndarray) else _SCALAR
        return msgpack.ExtType(kind, msgpack.packb([value.dtype.str, list(value.shape), value.tobytes()]))
    if type(value) is list:
        return [_packable(each) for each in value]
    if type(value) is tuple:
        return msgpack.ExtType(_TUPLE, msgpack.packb([_packable(each) for each in value], strict_types=True))
    if type(value) is dict and all(type(key) in (str, int, bytes) for key in value):
        return {key: _packable(each) for key, each in value.items()}
    raise NotPlainError(type(value).__name__)


def _unpack(code: int, data: bytes) -> Any:
    if code == _WHOLE:
        return int.from_bytes(data, "little", signed=True)
    if code == _TUPLE:
        return tuple(decode(data))
    if code in (_ARRAY, _SCALAR):
        kind, shape, content = msgpack.unpackb(data)
        dtype = np.dtype(kind)
        if dtype.hasobject:
            raise ValueError("an array of objects")
        array = np.frombuffer(content, dtype).reshape(shape).copy()
        return array if code == _ARRAY else array[()]
    raise ValueError(f"an extension of kind {code}")
