"""Demonstrations: the best trajectories of Phase 1, cut, checked by replay and kept in small files."""

from goexplore.demos._cuts import Cuts
from goexplore.demos._demonstration import (
    SUFFIX,
    Demonstration,
    Provenance,
    write_demonstration,
)
from goexplore.demos._extract import Rules, Source, Take, differ, extract
from goexplore.demos._replay import (
    Recording,
    Survey,
    read_demonstration,
    record,
    survey,
    verify_demonstration,
)
from goexplore.demos._samples import find_demonstration, sample_names

__all__ = [
    "SUFFIX",
    "Cuts",
    "Demonstration",
    "Provenance",
    "Recording",
    "Rules",
    "Source",
    "Survey",
    "Take",
    "differ",
    "extract",
    "find_demonstration",
    "read_demonstration",
    "record",
    "sample_names",
    "survey",
    "verify_demonstration",
    "write_demonstration",
]
