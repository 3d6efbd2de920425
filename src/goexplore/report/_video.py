"""Videos of trajectories: every game frame, in the shape in which a screen showed it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from goexplore.archive import Actions
from goexplore.envs import Environment
from goexplore.errors import ConfigError, EngineError, require_at_least, require_between
from goexplore.evaluation import EpisodeInPlay, EvaluationConfig, Player
from goexplore.files import written_whole
from goexplore.problems import EnvironmentSpec
from goexplore.report._picture import INK, PAPER, Picture, font, picture_of
from goexplore.runs import score_text

GAME_FRAMES_PER_SECOND = 60
_LEAST_ROWS = 160
"""Of a video, at scale 1: smaller pictures are enlarged."""
_STRIP = 24
"""Rows below the picture for score and frame, at scale 1."""
_LARGEST_SCALE = 16
_GIF_EVERY = 4


class Moment(NamedTuple):
    """One game frame of a trajectory."""

    picture: Picture
    score: float
    training_frame: int
    pixel_aspect: float = 1.0
    """How wide a pixel is, as a multiple of its height."""
    caption: str = ""
    """A second line below the picture, beside score and training frame."""


def _moment(env: Environment, score: float, training_frame: int) -> Moment:
    return Moment(picture_of(env), score, training_frame, env.pixel_aspect)


def play_moments(spec: EnvironmentSpec, actions: Actions, *, every: int = 1) -> Iterator[Moment]:
    """Yield every n-th game frame of a trajectory, beginning with the initial state, and the last one.

    Where the native engine cannot go on, ale-py does, which plays the same until there.
    """
    require_at_least("speed", every, 1)
    return _with_reference_to_fall_back_on(lambda by: _play_moments(by, actions, every), spec)


def _play_moments(spec: EnvironmentSpec, actions: Actions, every: int) -> Iterator[Moment]:
    whole = spec()
    env = whole.frame_by_frame()
    steps = whole.frame_skip // env.frame_skip
    env.reset()
    score = 0.0
    yield _moment(env, score, 0)
    total = len(actions) * steps
    for number in range(1, total + 1):
        training_frame = (number - 1) // steps
        step = env.step(actions[training_frame])
        score += float(step.reward)
        if number % every == 0 or step.ended or number == total:
            yield _moment(env, score, training_frame + 1)
        if step.ended:
            return


def play_episode(
    player: Player, config: EvaluationConfig, *, no_ops: int, repetition: int, every: int = 1
) -> Iterator[Moment]:
    """Yield every n-th game frame of an episode of the stochastic game, and the last one.

    Where the native engine cannot go on, ale-py does, which plays the same until there.
    """
    require_at_least("speed", every, 1)
    return _with_reference_to_fall_back_on(
        lambda by: _play_episode(player, by, config, no_ops, repetition, every), player.env
    )


def _with_reference_to_fall_back_on(
    play: Callable[[EnvironmentSpec], Iterator[Moment]], spec: EnvironmentSpec
) -> Iterator[Moment]:
    shown = 0
    try:
        for moment in play(spec):
            yield moment
            shown += 1
    except EngineError:
        yield from islice(play(spec.reference()), shown, None)


def _play_episode(
    player: Player, spec: EnvironmentSpec, config: EvaluationConfig, no_ops: int, repetition: int, every: int
) -> Iterator[Moment]:
    episode = EpisodeInPlay(player, config, no_ops=no_ops, repetition=repetition, env=spec)
    return film_episode(player, episode, every=every)


def film_episode(
    player: Player, episode: EpisodeInPlay, *, every: int = 1, since: int = 0, until: int | None = None
) -> Iterator[Moment]:
    """Play an episode that has just begun, and yield every n-th game frame and the last one.

    Nothing is shown before game frame `since`; the episode is left alone when it has come to `until`.
    """
    player.begin(1)
    env = episode.game.env
    frames: list[tuple[Picture, float]] = []
    score, count = 0.0, 0

    def watch(reward: float) -> None:
        nonlocal score, count
        score, count = score + float(reward), count + 1
        if count % every == 0:
            frames.append((picture_of(env), score))

    if since <= episode.game_frames:
        yield _moment(env, 0.0, 0)
    goes_on = True
    while goes_on:
        if episode.game_frames >= since and episode.game.watch is None:
            episode.game.watch, score = watch, episode.score
        (action,) = player.act(np.zeros(1, np.int64), [episode.observation()], [episode.random])
        goes_on = episode.step(action) and (until is None or episode.game_frames < until)
        if not goes_on and count % every:
            frames.append((picture_of(env), score))
        for picture, then in frames:
            yield Moment(picture, then, episode.training_frames, env.pixel_aspect)
        frames.clear()


def show(moment: Moment, *, scale: int = 2, overlay: bool = False) -> Picture:
    """Return a frame of a video: whole lines, below it score, training frame and caption if wanted."""
    rows, columns = moment.picture.shape[:2]
    lines = scale * max(1, ceil(_LEAST_ROWS / rows))
    width = _even(round(columns * moment.pixel_aspect * lines))
    picture = np.repeat(moment.picture.take(np.arange(width) * columns // width, axis=1), lines, axis=0)
    if len(picture) % 2:  # video codecs want even numbers
        picture = np.concatenate([picture, picture[-1:]])
    if not overlay:
        return picture
    text = f"score {score_text(moment.score)}    training frame {moment.training_frame:,}"
    lines_below = [text, moment.caption] if moment.caption else [text]
    return np.concatenate([picture, *(_strip(line, width, scale) for line in lines_below)])


def _even(size: int) -> int:
    return max(2, size - size % 2)


@lru_cache(maxsize=4)
def _strip(text: str, width: int, scale: int) -> Picture:
    strip = Image.new("RGB", (width, _STRIP * scale), PAPER)
    ImageDraw.Draw(strip).text((8 * scale, 3 * scale), text, fill=INK, font=font(13 * scale))
    return np.asarray(strip)


class Film(NamedTuple):
    """A video that was written."""

    frames: int
    last: Moment


def check_video(file: Path, scale: int, name: str = "out") -> None:
    """Raise ConfigError for what cannot become a video."""
    require_between("scale", scale, 1, _LARGEST_SCALE)
    if file.suffix.lower() not in _WRITERS:
        raise ConfigError(f"expected `{name}` to be a file name that ends in .mp4 or .gif, got {file}")


def write_video(
    moments: Iterable[Moment],
    file: Path,
    *,
    scale: int = 2,
    overlay: bool = True,
    progress: Callable[[Moment], None] = lambda moment: None,
) -> Film:
    """Write an MP4 or a GIF, as the file's name says; `progress` is called with every frame."""
    check_video(file, scale)
    last: Moment

    def frames() -> Iterator[Picture]:
        nonlocal last
        for last in moments:
            progress(last)
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
