"""What an environment looks like: its own picture, or else its observation as text."""

from __future__ import annotations

from functools import cache, lru_cache
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from goexplore.envs import Environment

Picture = NDArray[np.uint8]
"""Rows x columns x RGB."""

INK, PAPER = (235, 235, 235), (20, 20, 20)
_ROWS, _COLUMNS = 160, 320
_LINE, _LETTERS = 18, 34


def picture_of(env: Environment) -> Picture:
    """Return the environment's picture; where it has none, its observation as text."""
    picture = env.picture()
    return _text_picture(_text(env.observation())) if picture is None else picture


def _text(observation: Any) -> str:
    if isinstance(observation, np.ndarray):
        return np.array2string(observation, precision=3, suppress_small=True, threshold=60)
    return str(observation)


@lru_cache(maxsize=256)
def _text_picture(text: str) -> Picture:
    image = Image.new("RGB", (_COLUMNS, _ROWS), PAPER)
    draw = ImageDraw.Draw(image)
    lines = [line for part in text.splitlines() for line in wrap(part, _LETTERS) or [""]]
    for number, line in enumerate(lines[: _ROWS // _LINE - 1]):
        draw.text((10, 8 + number * _LINE), line, fill=INK, font=font(14))
    return np.asarray(image)


font = cache(ImageFont.load_default)
