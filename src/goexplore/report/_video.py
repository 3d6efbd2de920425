"""Videos of trajectories: every game frame, in the shape in which a television showed it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from goexplore.build import build_env
from goexplore.config import AtariConfig
from goexplore.engines import Engine
from goexplore.errors import ConfigError

GAME_FRAMES_PER_SECOND = 60
_STRIP = 24
"""Rows below the picture for score and frame, at scale 1."""
_INK, _PAPER = (235, 235, 235), (20, 20, 20)

Picture = NDArray[np.uint8]


class Moment(NamedTuple):
    """One game frame of a trajectory."""

    picture: Picture
    """210 rows x 160 columns x RGB."""
    score: float
    training_frame: int


def play_moments(
    config: AtariConfig, actions: bytes, engine: Engine = "ale", *, every: int = 1
) -> Iterator[Moment]:
    """Yield every n-th game frame of a trajectory, beginning with the initial state, and the last one."""
    if every < 1:
        raise ConfigError(f"expected --speed to be 1 or more, got {every}: change it")
    env = build_env(dataclasses.replace(config, frame_skip=1), engine)
    env.reset()
    score = 0.0
    yield Moment(env.picture(), score, 0)
    total = len(actions) * config.frame_skip
    for game_frame in range(1, total + 1):
        training_frame = (game_frame - 1) // config.frame_skip
        step = env.step(actions[training_frame])
        score += step.reward
        if game_frame % every == 0 or step.ended or game_frame == total:
            yield Moment(env.picture(), score, training_frame + 1)
        if step.ended:
            return


def show(moment: Moment, *, scale: int = 2, overlay: bool = False) -> Picture:
    """Return a frame of a video: 4 to 3, whole lines, below it score and training frame if wanted."""
    width = 280 * scale
    columns = np.arange(width) * moment.picture.shape[1] // width
    picture = np.repeat(moment.picture.take(columns, axis=1), scale, axis=0)
    if not overlay:
        return picture
    text = f"score {moment.score:,.0f}    training frame {moment.training_frame:,}"
    return np.concatenate([picture, _strip(text, width, scale)])


@lru_cache(maxsize=4)
def _strip(text: str, width: int, scale: int) -> Picture:
    strip = Image.new("RGB", (width, _STRIP * scale), _PAPER)
    ImageDraw.Draw(strip).text((8 * scale, 3 * scale), text, fill=_INK, font=_font(13 * scale))
    return np.asarray(strip)


_font = cache(ImageFont.load_default)


class Film(NamedTuple):
    """A video that was written."""

    frames: int
    last: Moment


def write_video(moments: Iterable[Moment], file: Path, *, scale: int, overlay: bool) -> Film:
    """Write an MP4 or a GIF, as the file's name says."""
    if scale < 1:
        raise ConfigError(f"expected --scale to be 1 or more, got {scale}: change it")
    writers = {".mp4": _write_mp4, ".gif": _write_gif}
    if file.suffix not in writers:
        raise ConfigError(f"expected a file name that ends in .mp4 or .gif, got {file}: change it")
    aside = file.with_name(f".{file.stem}.part{file.suffix}")
    last: Moment

    def frames() -> Iterator[Picture]:
        nonlocal last
        for last in moments:
            yield show(last, scale=scale, overlay=overlay)

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        count = writers[file.suffix](frames(), aside)
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)
    return Film(count, last)


def _write_mp4(frames: Iterator[Picture], file: Path) -> int:
    import av

    first = next(frames)
    count = 1
    with av.open(str(file), "w", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream("libx264", rate=GAME_FRAMES_PER_SECOND)
        stream.height, stream.width = first.shape[:2]
        stream.pix_fmt = "yuv420p"  # the only one that every browser and phone plays
        stream.options = {"crf": "24", "preset": "veryfast"}
        container.mux(stream.encode(av.VideoFrame.from_ndarray(first)))
        for frame in frames:
            count += 1
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame)))
        container.mux(stream.encode())
    return count


def _write_gif(frames: Iterator[Picture], file: Path) -> int:
    """GIF's clock ticks in hundredths of a second, and browsers slow down what is faster than two ticks."""
    every = 4
    images = [
        Image.fromarray(frame).quantize(64, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        for number, frame in enumerate(frames)
        if number % every == 0
    ]
    ticks = [
        round(Fraction(100 * every * number, GAME_FRAMES_PER_SECOND)) for number in range(len(images) + 1)
    ]
    durations = [10 * (after - before) for before, after in pairwise(ticks)]
    images[0].save(file, save_all=True, append_images=images[1:], duration=durations, loop=0)
    return len(images)
