"""Observations as bytes: equal observations give equal bytes, in every process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from hashlib import blake2b
from typing import Any

import numpy as np

_DEPTH = 32
"""How deep an observation is looked into: one that contains itself has an end too."""

_PLAIN: tuple[type, ...] = (bool, int, float, complex, str)


def digest(value: Any) -> bytes:
    """Return a digest that differs whenever values differ, and is the same in every process.

    Arrays, numbers, texts, bytes, sequences, mappings, sets, enums and objects with attributes, nested in any
    way. A tuple is equal to a list with the same elements; a whole number is not equal to a real one.
    """
    hasher = blake2b(digest_size=16)
    _feed(hasher.update, value, _DEPTH)
    return hasher.digest()


def _feed(update: Callable[[bytes], None], value: Any, depth: int) -> None:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Enum):
        update(f"enum {type(value).__qualname__} {value.name};".encode())
    elif value is None or isinstance(value, bool | int | float | complex | str):
        plain: Any = next((kind for kind in _PLAIN if isinstance(value, kind)), lambda value: value)
        update(f"{plain(value)!r};".encode("utf-8", "surrogatepass"))
    elif isinstance(value, bytes | bytearray | memoryview):
        update(f"bytes {len(value)} ".encode())
        update(bytes(value))
    elif depth == 0:
        update(b"deep;")
    elif isinstance(value, np.ndarray):
        update(f"array {value.dtype.str} {value.shape} ".encode())
        if value.dtype.hasobject:
            for each in value.ravel().tolist():
                _feed(update, each, depth - 1)
        else:
            update(value.tobytes())
    elif isinstance(value, tuple | list):
        update(f"sequence {len(value)} ".encode())
        for each in value:
            _feed(update, each, depth - 1)
    elif isinstance(value, Mapping):
        update(f"mapping {len(value)} ".encode())
        contents = {digest(key): content for key, content in value.items()}
        for key in sorted(contents):
            update(key)
            _feed(update, contents[key], depth - 1)
    elif isinstance(value, set | frozenset):
        update(f"set {len(value)} ".encode())
        for each in sorted(map(digest, value)):
            update(each)
    elif hasattr(value, "__array__"):  # tensors of other libraries
        _feed(update, np.asarray(value), depth - 1)
    else:
        update(f"{type(value).__qualname__} ".encode())
        _feed(update, getattr(value, "__dict__", None), depth - 1)


def observation_bytes(observation: Any) -> bytes:
    """Return what a demonstration's digest is made of: an array's own bytes, else a digest."""
    if isinstance(observation, np.ndarray) and not observation.dtype.hasobject:
        return observation.tobytes()
    return digest(observation)


def describe_observation(value: Any) -> str:
    """Return what an observation is, and whether a policy can see it."""
    if isinstance(value, np.ndarray) and value.dtype == np.uint8:
        if value.ndim == 2:
            return f"image, {value.shape[0]} x {value.shape[1]} bytes"
        if value.ndim == 3 and value.shape[2] == 3:
            return f"image, {value.shape[0]} x {value.shape[1]} x RGB"
    if isinstance(value, np.ndarray | np.generic | bool | int | float | tuple | list):
        try:
            numbers = np.asarray(value)
        except ValueError:  # sequences of different lengths
            return f"{type(value).__name__}, on which no policy can be trained"
        if numbers.dtype.kind in "iubf" and numbers.ndim <= 1:
            return f"vector of {numbers.size} numbers" if numbers.size != 1 else "one number"
        if isinstance(value, np.ndarray):
            shape = " x ".join(map(str, value.shape))
            return f"array of {shape} {value.dtype}, on which no policy can be trained"
    return f"{type(value).__name__}, on which no policy can be trained"
