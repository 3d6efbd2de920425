"""Videos in parts that a browser puts together: the first is there at once, whatever follows."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from goexplore.archive import Actions
from goexplore.envs import Environment
from goexplore.errors import ConfigError, EngineError
from goexplore.problems import EnvironmentSpec
from goexplore.report import Moment, show

PICTURES_PER_PART = 300
CODECS = "avc1.42c028"
"""What the parts are, in the words of browsers: H.264, constrained baseline profile, level 4.0."""
_SLOWEST, _FASTEST = 10, 60
"""Pictures per second: of environments whose steps have one picture, and of games with several."""


@dataclass(frozen=True, kw_only=True)
class Film:
    """What a page has to know of a video before it is rendered."""

    pictures: int
    """In all, the initial state included."""
    pictures_per_step: int
    """Pictures of one training frame."""

    @property
    def pictures_per_second(self) -> int:
        """How fast it plays."""
        return _SLOWEST if self.pictures_per_step == 1 else _FASTEST


class TrajectoryPlayer:
    """Plays one trajectory at a time, and goes on where the last part ended."""

    def __init__(self) -> None:
        self._playing: tuple[EnvironmentSpec, Actions] | None = None
        self._engine: EnvironmentSpec | None = None

    def part(self, spec: EnvironmentSpec, actions: Actions, number: int) -> bytes:
        """Return a part of the video of a trajectory."""
        if self._playing != (spec, actions):
            self.close()
            self._playing, self._engine = (spec, actions), spec
            self._begin()
        try:
            return self._part(number)
        except EngineError:  # where the native engine cannot go on, ale-py does, which plays the same
            assert self._engine is not None
            if self._engine == spec.reference():
                raise
            self._engine = spec.reference()
            self._begin()
            return self._part(number)

    def close(self) -> None:
        """Let go of the environment."""
        if self._playing is not None:
            self._env.close()
            self._playing = None

    def _begin(self) -> None:
        assert self._engine is not None
        whole = self._engine()
        self._env = whole.frame_by_frame()
        self._steps = whole.frame_skip // self._env.frame_skip
        self._env.reset()
        self._played, self._ended = 0, False

    def _part(self, number: int) -> bytes:
        assert self._playing is not None
        frames = len(self._playing[1]) * self._steps
        first = number * PICTURES_PER_PART
        if not 0 <= first <= frames:
            raise ConfigError(f"expected a part of {frames + 1} pictures, got part {number}")
        if self._played > max(0, first - 1):
            self._env.reset()
            self._played, self._ended = 0, False
        if first - 1 > self._played:  # nobody looks at what is before
            skipped = [self._action(frame) for frame in range(self._played, first - 1)]
            self._ended = self._env.play(skipped).ended
            self._played = first - 1
        return encode(self._pictures(first, min(first + PICTURES_PER_PART, frames + 1)), self._rate)

    @property
    def _rate(self) -> int:
        return _SLOWEST if self._steps == 1 else _FASTEST

    def _action(self, frame: int) -> int:
        assert self._playing is not None
        return int(self._playing[1][frame // self._steps])

    def _pictures(self, first: int, end: int) -> Iterator[Moment]:
        if first == 0:
            yield _moment(self._env)
        while self._played < end - 1:
            if not self._ended:
                self._ended = self._env.step(self._action(self._played)).ended
            self._played += 1
            yield _moment(self._env)


def _moment(env: Environment) -> Moment:
    from goexplore.report import picture_of

    return Moment(picture_of(env), 0.0, 0, env.pixel_aspect)


def encode(moments: Iterable[Moment], rate: int) -> bytes:
    """Return a fragmented MP4, which stands for itself and begins at time 0."""
    import av

    moments = iter(moments)
    first = next(moments, None)
    if first is None:
        raise ConfigError("expected a part of the video, got one after its end")
    written = io.BytesIO()
    settings = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
    with av.open(written, "w", format="mp4", options=settings) as container:
        stream = container.add_stream("libx264", rate=rate)
        stream.pix_fmt = "yuv420p"
        stream.height, stream.width = show(first, scale=1).shape[:2]
        stream.options = {
            "preset": "veryfast",
            "crf": "23",
            "profile": "baseline",
            "level": "4.0",
            "g": str(PICTURES_PER_PART),
        }
        for moment in chain([first], moments):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(show(moment, scale=1))))
        container.mux(stream.encode())
    return written.getvalue()


def take_part(moments: Iterator[Moment], rate: int) -> bytes:
    """Return the next part of a video that is played once, from its beginning."""
    return encode(islice(moments, PICTURES_PER_PART), rate)
