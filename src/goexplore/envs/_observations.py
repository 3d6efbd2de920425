"""Observations as bytes: equal observations give equal bytes, in every process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from goexplore.errors import EnvironmentContractError


def observation_bytes(observation: Any) -> bytes:
    """Return the bytes of an observation: of an array as they are, of other values by their text."""
    if isinstance(observation, np.ndarray):
        if observation.dtype.hasobject:
            raise _no_observation(observation)
        return np.ascontiguousarray(observation).tobytes()
    if isinstance(observation, np.generic):
        observation = observation.item()
    if isinstance(observation, bytes):
        return observation
    if observation is None or isinstance(observation, bool | int | float | str):
        return repr(observation).encode()
    if isinstance(observation, Mapping):
        return observation_bytes([(key, observation[key]) for key in sorted(observation, key=str)])
    if isinstance(observation, tuple | list):
        parts = [observation_bytes(each) for each in observation]
        return b"".join(len(part).to_bytes(4, "little") + part for part in parts)
    raise _no_observation(observation)


def _no_observation(observation: Any) -> EnvironmentContractError:
    return EnvironmentContractError(
        "expected an observation made of numbers, texts, arrays, tuples and dictionaries, got "
        f"{type(observation).__name__}: return one of these from `observation`"
    )
