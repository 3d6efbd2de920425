"""Demonstrations: the best trajectories of Phase 1, cut, verified by replay and kept in small files."""

from goexplore.demos._demonstration import (
    SUFFIX,
    Demonstration,
    Provenance,
    parse_demonstration,
    write_demonstration,
)
from goexplore.demos._difference import keep_different
from goexplore.demos._extract import Rules, Take, extract, record_demonstration, truncate
from goexplore.demos._samples import demonstration_files, find_demonstrations, sample_file, sample_names
from goexplore.demos._truncation import Truncation
from goexplore.demos._verification import read_demonstration, verify_demonstration

__all__ = [
    "SUFFIX",
    "Demonstration",
    "Provenance",
    "Rules",
    "Take",
    "Truncation",
    "demonstration_files",
    "extract",
    "find_demonstrations",
    "keep_different",
    "parse_demonstration",
    "read_demonstration",
    "record_demonstration",
    "sample_file",
    "sample_names",
    "truncate",
    "verify_demonstration",
    "write_demonstration",
]
