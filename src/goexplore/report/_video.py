"""Videos of trajectories: every game frame, in the shape in which a television showed it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache, lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from goexplore.build import build_env
from goexplore.config import EnvConfig
from goexplore.engines import Engine
from goexplore.errors import ConfigError, EngineError
from goexplore.evaluation import EpisodeInPlay, EvaluationConfig, Player
from goexplore.files import written_whole

GAME_FRAMES_PER_SECOND = 60
_STRIP = 24
"""Rows below the picture for score and frame, at scale 1."""
_LARGEST_SCALE = 16
_GIF_EVERY = 4
_INK, _PAPER = (235, 235, 235), (20, 20, 20)

Picture = NDArray[np.uint8]


class Moment(NamedTuple):
    """One game frame of a trajectory."""

    picture: Picture
    """210 rows x 160 columns x RGB."""
    score: float
    training_frame: int


def play_moments(
    config: EnvConfig, actions: bytes, engine: Engine = "ale", *, every: int = 1
) -> Iterator[Moment]:
    """Yield every n-th game frame of a trajectory, beginning with the initial state, and the last one.

    Where the native engine cannot go on, ale-py does, which plays the same until there.
    """
    if every < 1:
        raise ConfigError(f"expected --speed to be 1 or more, got {every}: change it")
    return _with_ale_to_fall_back_on(lambda by: _play_moments(config, actions, by, every), engine)


def _play_moments(config: EnvConfig, actions: bytes, engine: Engine, every: int) -> Iterator[Moment]:
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


def play_episode(
    player: Player, config: EvaluationConfig, engine: Engine, *, no_ops: int, repetition: int, every: int = 1
) -> Iterator[Moment]:
    """Yield every n-th game frame of an episode of the stochastic game, and the last one.

    Where the native engine cannot go on, ale-py does, which plays the same until there.
    """
    if every < 1:
        raise ConfigError(f"expected --speed to be 1 or more, got {every}: change it")
    return _with_ale_to_fall_back_on(
        lambda by: _play_episode(player, config, by, no_ops, repetition, every), engine
    )


def _with_ale_to_fall_back_on(play: Callable[[Engine], Iterator[Moment]], engine: Engine) -> Iterator[Moment]:
    shown = 0
    try:
        for moment in play(engine):
            yield moment
            shown += 1
    except EngineError:
        yield from islice(play("ale"), shown, None)


def _play_episode(
    player: Player, config: EvaluationConfig, engine: Engine, no_ops: int, repetition: int, every: int
) -> Iterator[Moment]:
    episode = EpisodeInPlay(player, config, engine, no_ops, repetition)
    player.begin(1)
    frames: list[tuple[Picture, float]] = []
    score, count = 0.0, 0

    def watch(reward: float) -> None:
        nonlocal score, count
        score, count = score + reward, count + 1
        if count % every == 0:
            frames.append((_picture(episode), score))

    episode.game.watch = watch
    yield Moment(_picture(episode), 0.0, 0)
    goes_on = True
    while goes_on:
        (action,) = player.act(np.zeros(1, np.int64), [episode.observation()], [episode.random])
        goes_on = episode.step(action)
        if not goes_on and count % every:
            frames.append((_picture(episode), score))
        yield from (Moment(picture, then, episode.training_frames) for picture, then in frames)
        frames.clear()


def _picture(episode: EpisodeInPlay) -> Picture:
    picture = episode.game.env.picture()
    if picture is None:
        raise ConfigError("expected a game with pictures, got one without: there is nothing to see")
    return picture


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


def check_video(file: Path, scale: int) -> None:
    """Raise ConfigError for what cannot become a video."""
    if not 1 <= scale <= _LARGEST_SCALE:
        raise ConfigError(f"expected --scale between 1 and {_LARGEST_SCALE}, got {scale}: change it")
    if file.suffix.lower() not in _WRITERS:
        raise ConfigError(f"expected a file name that ends in .mp4 or .gif, got {file}: change it")


def write_video(moments: Iterable[Moment], file: Path, *, scale: int, overlay: bool) -> Film:
    """Write an MP4 or a GIF, as the file's name says."""
    check_video(file, scale)
    last: Moment

    def frames() -> Iterator[Picture]:
        nonlocal last
        for last in moments:
            yield show(last, scale=scale, overlay=overlay)

    with written_whole(file) as aside:
        count = _WRITERS[file.suffix.lower()](frames(), aside)
    return Film(count, last)


def _write_mp4(frames: Iterator[Picture], file: Path) -> int:
    import av

    count = 0
    with av.open(str(file), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream("libx264", rate=GAME_FRAMES_PER_SECOND)
        stream.pix_fmt = "yuv420p"  # the only one that every browser and phone plays
        stream.options = {"crf": "24", "preset": "veryfast"}
        for frame in frames:
            if count == 0:
                stream.height, stream.width = frame.shape[:2]
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame)))
            count += 1
        container.mux(stream.encode())
    return count


def _write_gif(frames: Iterator[Picture], file: Path) -> int:
    """Every fourth frame and the last: GIF's clock ticks in hundredths of a second. It is kept in memory."""
    images, left_out = [], None
    for number, frame in enumerate(frames):
        left_out = frame if number % _GIF_EVERY else None
        if left_out is None:
            images.append(_quantize(frame))
    if left_out is not None:  # often the one that matters
        images.append(_quantize(left_out))
    tick = Fraction(100 * _GIF_EVERY, GAME_FRAMES_PER_SECOND)
    ticks = [round(tick * number) for number in range(len(images) + 1)]
    durations = [10 * (after - before) for before, after in pairwise(ticks)]
    first, *others = images
    first.save(file, format="gif", save_all=True, append_images=others, duration=durations, loop=0)
    return len(images)


def _quantize(frame: Picture) -> Image.Image:
    return Image.fromarray(frame).quantize(64, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)


_WRITERS = {".mp4": _write_mp4, ".gif": _write_gif}
