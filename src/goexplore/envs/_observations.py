"""Observations as bytes: equal observations give equal bytes, in every process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from hashlib import blake2b
from typing import Any

import numpy as np

_DEPTH = 32
"""How deep an observation is looked into: one that contains itself has an end too."""

_SMALLEST = 12
"""Rows and columns from which bytes are taken for an image."""

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


def is_image(value: Any) -> bool:
    """Return whether an observation is an image: bytes in rows and columns, grey or red, green and blue.

    A small array is a board or a view of symbols: its bytes are numbers, not shades.
    """
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8:
        return False
    has_colours = value.ndim == 3 and value.shape[2] == 3
    return (value.ndim == 2 or has_colours) and min(value.shape[:2]) >= _SMALLEST


def describe_observation(value: Any) -> str:
    """Return what an observation is, and whether a policy can see it."""
    if is_image(value):
        return f"image, {value.shape[0]} x {value.shape[1]} {'bytes' if value.ndim == 2 else 'x RGB'}"
    count, texts = _count(value)
    if count is None:
        return f"{type(value).__name__}, on which no policy can be trained"
    text = "one number" if count == 1 else f"vector of {count} numbers"
    return f"{text}, without the text{'s' * (len(texts) > 1)} {', '.join(texts)}" if texts else text


def _count(value: Any) -> tuple[int | None, list[str]]:
    """Return how many numbers an observation has, None where it is not made of numbers, and texts in it."""
    if isinstance(value, Mapping):
        texts = [str(key) for key in value if isinstance(value[key], str)]
        counts = [_count(each)[0] for each in value.values() if not isinstance(each, str)]
    elif isinstance(value, tuple | list):
        texts, counts = [], [_count(each)[0] for each in value]
    elif isinstance(value, np.ndarray | np.generic | bool | int | float):
        numbers = np.asarray(value)
        return (numbers.size if numbers.dtype.kind in "iubf" else None), []
    else:
        return None, []
    return (None if None in counts else sum(each for each in counts if each is not None)), texts
