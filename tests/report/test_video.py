"""Videos: every game frame, the right shape, and what they show."""

import av
import numpy as np
import pytest
from PIL import Image

from goexplore import _native as native
from goexplore.demos import find_demonstrations
from goexplore.envs import NativeAtariEnv
from goexplore.errors import ConfigError, EngineError
from goexplore.report import Moment, play_moments, show, write_video


@pytest.fixture(scope="module")
def key():
    (demonstration,) = find_demonstrations("montezuma-first-key-00")
    return demonstration


def test_a_trajectory_is_played_game_frame_by_game_frame(key):
    moments = list(play_moments(key.env, key.actions))
    assert len(moments) == 1 + key.game_frames
    assert [moment.training_frame for moment in moments[:6]] == [0, 1, 1, 1, 1, 2]
    assert (moments[-1].score, moments[-2].score) == (100, 0)
    env = key.env()
    env.reset()
    for position, action in enumerate(key.actions, start=1):
        env.step(action)
        assert np.array_equal(moments[4 * position].picture, env.picture())


def test_faster_shows_fewer_frames_and_always_the_last(key):
    moments = list(play_moments(key.env, key.actions[:5], every=8))
    assert [moment.training_frame for moment in moments] == [0, 2, 4, 5]


@pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled")
@pytest.mark.parametrize("name", ["montezuma-first-key-00", "pitfall-three-rooms-right"])
def test_both_engines_show_the_same(name):
    (demonstration,) = find_demonstrations(name)
    envs = [demonstration.env.with_engine(engine).env for engine in ("ale", "native")]
    pairs = zip(*(play_moments(env, demonstration.actions) for env in envs), strict=True)
    next(pairs)  # the emulator has drawn nothing yet
    for one, other in pairs:
        assert one[1:] == other[1:]
        assert np.array_equal(one.picture, other.picture)


def test_a_picture_is_four_to_three_with_whole_lines():
    picture = np.random.default_rng(0).integers(256, size=(210, 160, 3), dtype=np.uint8)
    shown = show(Moment(picture, 0.0, 0, pixel_aspect=1.75), scale=2)
    assert shown.shape == (420, 560, 3)
    assert shown.shape[1] / shown.shape[0] == pytest.approx(4 / 3)
    assert np.array_equal(shown[::2], shown[1::2])
    assert np.array_equal(shown[::2, [0, 559]], picture[:, [0, 159]])


def test_score_and_frame_are_written_below_the_picture():
    picture = np.zeros((210, 160, 3), np.uint8)
    one, other = (show(Moment(picture, score, 7, pixel_aspect=1.75), overlay=True) for score in (0.0, 100.0))
    assert one.shape == (468, 560, 3)
    assert np.array_equal(one[:420], other[:420])
    assert not np.array_equal(one[420:], other[420:])


def test_an_mp4_plays_every_frame_at_sixty_per_second(key, tmp_path):
    film = write_video(play_moments(key.env, key.actions), tmp_path / "a" / "key.mp4", scale=2, overlay=True)
    assert film.frames == 1 + key.game_frames
    assert film.last.score == 100
    with av.open(str(tmp_path / "a" / "key.mp4")) as container:
        stream = container.streams.video[0]
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
        assert stream.average_rate == 60
        assert stream.codec_context.pix_fmt == "yuv420p"
        assert (stream.width, stream.height) == (560, 468)
    assert len(frames) == film.frames
    expected = show(film.last, overlay=True).astype(int)
    assert np.abs(frames[-1].astype(int) - expected).mean() < 8  # it is compressed
    assert [file.name for file in (tmp_path / "a").iterdir()] == ["key.mp4"]


def test_a_gif_has_the_right_speed(key, tmp_path):
    film = write_video(play_moments(key.env, key.actions), tmp_path / "key.GIF", scale=1, overlay=False)
    with Image.open(tmp_path / "key.GIF") as image:
        assert image.size == (280, 210)
        milliseconds = 0
        for number in range(image.n_frames):
            image.seek(number)
            milliseconds += image.info["duration"]
    assert film.frames == 73
    assert milliseconds / 1000 == pytest.approx(73 * 4 / 60, abs=0.02)


@pytest.mark.parametrize(("name", "scale"), [("key.avi", 1), ("key", 1), ("key.mp4", 0), ("key.mp4", 500)])
def test_what_cannot_be_written_is_told(key, name, scale, tmp_path):
    with pytest.raises(ConfigError, match="expected"):
        write_video(play_moments(key.env, key.actions), tmp_path / name, scale=scale, overlay=False)
    assert not list(tmp_path.iterdir())


def test_a_video_that_fails_leaves_nothing(key, tmp_path):
    def broken():
        yield from play_moments(key.env, key.actions[:3])
        raise RuntimeError("the emulator is on fire")

    with pytest.raises(RuntimeError, match="on fire"):
        write_video(broken(), tmp_path / "key.mp4", scale=1, overlay=False)
    assert not list(tmp_path.iterdir())


def test_a_gif_ends_with_the_last_frame(key, tmp_path):
    moments = list(play_moments(key.env, key.actions))[:7]
    film = write_video(moments, tmp_path / "key.gif", scale=1, overlay=True)
    assert film.frames == 3


class Stopping(NativeAtariEnv):
    """Cannot go on after ten game frames."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.left = 10

    def step(self, action):
        self.left -= 1
        if self.left < 0:
            raise EngineError("a frame that does not end in time")
        return super().step(action)


@pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled")
def test_where_the_native_engine_stops_ale_py_goes_on(key, monkeypatch):
    monkeypatch.setattr("goexplore.games._atari.NativeAtariEnv", Stopping)
    ours, theirs = (
        list(play_moments(key.env.with_engine(engine).env, key.actions[:5])) for engine in ("native", "ale")
    )
    assert len(ours) == len(theirs) == 21
    assert all((one.picture == other.picture).all() for one, other in zip(ours, theirs, strict=True))
