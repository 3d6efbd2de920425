"""Replay: trajectories played again from the initial state, to record them and to prove them."""

from goexplore.replay._recording import (
    Recording,
    Survey,
    TrajectoryDigest,
    record,
    shared_length,
    survey,
    total_score,
)
from goexplore.replay._verification import Mismatch, Verdict, check_replay, verify_archive

__all__ = [
    "Mismatch",
    "Recording",
    "Survey",
    "TrajectoryDigest",
    "Verdict",
    "check_replay",
    "record",
    "shared_length",
    "survey",
    "total_score",
    "verify_archive",
]
