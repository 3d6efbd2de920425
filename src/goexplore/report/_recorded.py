"""Recorded episodes of the stochastic game as moments of a video."""

from __future__ import annotations

from collections.abc import Iterator

from goexplore.planning import Recording
from goexplore.problems import EnvironmentSpec
from goexplore.report._picture import picture_of
from goexplore.report._video import Moment


def recorded_moments(spec: EnvironmentSpec, recording: Recording, *, every: int = 1) -> Iterator[Moment]:
    """Yield every n-th step of a recorded episode, beginning with the initial state, and the last one."""
    whole = spec()
    env = whole.frame_by_frame()
    steps = whole.frame_skip // env.frame_skip
    env.reset()
    if env.no_op is not None:
        env.play([env.no_op] * (recording.no_ops // env.frame_skip))
    score = 0.0
    yield Moment(picture_of(env), score, 0, env.pixel_aspect)
    for number, action in enumerate(recording.played, 1):
        score += float(env.step(action).reward)
        if number % every == 0 or number == len(recording.played):
            yield Moment(picture_of(env), score, (number - 1) // steps + 1, env.pixel_aspect)
