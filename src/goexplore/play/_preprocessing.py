"""What a policy observes: the last few images, downscaled by averaging over areas, or vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells import DownscaledCells
from goexplore.envs import Environment, is_image
from goexplore.errors import ConfigError, require_at_least

Observation = NDArray[Any]
"""Bytes of images, channels x rows x columns; or a vector of 32-bit numbers."""


@dataclass(frozen=True, kw_only=True)
class PreprocessingConfig:
    """What a policy observes."""

    width: int = 84
    """Pixels per row, at most: narrower images keep their size."""
    height: int = 84
    """Rows of pixels, at most."""
    stack: int = 2
    """Observations that are seen at once, the newest last."""
    colour: bool = False
    """Red, green and blue instead of grey."""

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            require_at_least(name, getattr(self, name), 1, 10_000)
        require_at_least("stack", self.stack, 1, 100)


class Preprocessor:
    """Turns an environment's observations into a policy's."""

    def __init__(self, env: Environment, config: PreprocessingConfig) -> None:
        """The environment must be at its initial state: its observation shows what kind it has."""
        self._env, self._stack = env, config.stack
        seen = env.observation()
        self.is_image = is_image(seen)
        """Whether observations are images; else they are vectors."""
        self._colour = self.is_image and config.colour
        self._frame: tuple[int, ...]
        if self.is_image:
            rows, columns = seen.shape[:2]
            height, width = min(config.height, rows), min(config.width, columns)
            self._frame = (3 if self._colour else 1, height, width)
            self._shrink = DownscaledCells(
                width=width, height=height, levels=255, palette=None if self._colour else env.palette
            )
        else:
            self._frame = (len(as_vector(seen)),)
        self.shape = (self._stack * self._frame[0], *self._frame[1:])
        """Of an observation: all channels of all images, rows, columns; or the length of the vector."""
        self.dtype = np.dtype(np.uint8 if self.is_image else np.float32)
        self.observation: Observation = np.zeros(self.shape, self.dtype)

    def reset(self) -> None:
        """Forget everything and observe: the whole stack is the present observation."""
        self.observation.reshape(self._stack, -1)[:] = self.frame().reshape(-1)

    def observe(self) -> None:
        """Observe the present; the oldest observation, with all its channels, is forgotten."""
        channels = self._frame[0]
        self.observation[:-channels] = self.observation[channels:]
        self.observation[-channels:] = self.frame()

    def frame(self) -> Observation:
        """Return the present observation alone."""
        if not self.is_image:
            return as_vector(self._env.observation())
        if not self._colour:
            return np.frombuffer(self._shrink.update(self._env.observation()), np.uint8).reshape(self._frame)
        picture = self._env.picture()
        if picture is None:
            raise ConfigError("expected an environment with pictures, got one without: omit `colour`")
        planes = [self._shrink.update(np.ascontiguousarray(picture[:, :, each])) for each in range(3)]
        return np.frombuffer(b"".join(planes), np.uint8).reshape(self._frame)


def as_vector(observation: Any, kind: type[np.floating[Any]] = np.float32) -> NDArray[Any]:
    """Return an observation as a vector: numbers, tuples and dictionaries of them, arrays of any shape.

    Texts in a dictionary are left out.
    """
    if isinstance(observation, Mapping):
        parts = [observation[key] for key in sorted(observation)]
        observation = [each for each in parts if not isinstance(each, str)]
    if isinstance(observation, tuple | list):
        vectors = [as_vector(each, kind) for each in observation]
        return np.concatenate(vectors) if vectors else np.zeros(0, kind)
    try:
        vector: NDArray[Any] = np.asarray(observation, kind).reshape(-1)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            "expected an observation that a policy can see, an image or numbers, got "
            f"{type(observation).__name__}: return one from the environment's `observation`"
        ) from error
    return vector
