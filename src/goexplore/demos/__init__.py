"""Demonstrations: the best trajectories of Phase 1, cut, checked by replay and kept in small files."""

from goexplore.demos._cuts import Cuts
from goexplore.demos._demonstration import (
    SUFFIX,
    Demonstration,
    Provenance,
    write_demonstration,
)
from goexplore.demos._extract import Rules, Take, extract
from goexplore.demos._replay import (
    Recording,
    Survey,
    read_demonstration,
    record,
    survey,
    verify_demonstration,
)
from goexplore.demos._samples import find_demonstration, sample_names
from goexplore.demos._source import Source, keep_different

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
    "extract",
    "find_demonstration",
    "keep_different",
    "read_demonstration",
    "record",
    "sample_names",
    "survey",
    "verify_demonstration",
    "write_demonstration",
]
