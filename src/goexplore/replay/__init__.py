"""Replay: trajectories played again from the initial state, to record them and to prove them."""

from goexplore.replay._recording import Recording, Survey, TrajectoryDigest, record, shared_length, survey
from goexplore.replay._verification import Mismatch, Verdict, play, verify_archive

__all__ = [
    "Mismatch",
    "Recording",
    "Survey",
    "TrajectoryDigest",
    "Verdict",
    "play",
    "record",
    "shared_length",
    "survey",
    "verify_archive",
]
