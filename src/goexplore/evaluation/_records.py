"""Episodes in a Parquet file: one row each, with the settings in its metadata."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow

from goexplore.errors import EvaluationError
from goexplore.evaluation._episodes import NO_OP_COUNTS, Episode
from goexplore.files import (
    as_record,
    is_folder,
    json_sha256,
    parse_json,
    read_table,
    write_table,
    written_whole,
)

_SETTINGS = b"goexplore"
_VERSION = b"version"
_CHECKSUM = b"sha256"
_FORMAT = b"4"
"""Raised when older versions of goexplore could not read the file."""
_HIGHEST_SCORE = 1e100
"""Squares of scores, of which intervals are made, must be numbers too."""
_MOST_LEVELS = 2**15
"""As many as an archive can tell apart; each is a line of a report."""
_DEATH = pyarrow.struct(
    [
        ("level", pyarrow.int32()),
        ("room", pyarrow.int32()),
        ("score", pyarrow.float64()),
        ("game_frame", pyarrow.int64()),
    ]
)
_SCHEMA = pyarrow.schema(
    [
        ("seed", pyarrow.uint64()),
        ("no_ops", pyarrow.int32()),
        ("repetition", pyarrow.int32()),
        ("score", pyarrow.float64()),
        ("first_life_score", pyarrow.float64()),
        ("game_frames", pyarrow.int64()),
        ("lives_lost", pyarrow.int32()),
        ("level", pyarrow.int32()),
        ("rooms", pyarrow.int32()),
        ("truncated", pyarrow.bool_()),
        ("deaths", pyarrow.list_(_DEATH)),
    ]
)


def default_folder(source: str | Path) -> Path:
    """Return where the episodes of a source are kept unless the user says otherwise.

    For a training that is a folder of its run directory, else one of the current directory.
    """
    if not is_folder(source):
        return Path("evaluations")
    folder = Path(source) / "evaluations"
    if folder.is_symlink():
        raise EvaluationError(
            f"expected a folder, got the symbolic link {folder}, which could lead anywhere: choose `out`"
        )
    return folder


def write_episodes(file: Path, episodes: Sequence[Episode], settings: dict[str, Any]) -> None:
    """Write a file that is there whole or not at all."""
    table = pyarrow.Table.from_pylist([asdict(each) for each in episodes], schema=_SCHEMA)
    metadata = {
        _SETTINGS: json.dumps(settings).encode(),
        _VERSION: _FORMAT,
        _CHECKSUM: _checksum(table, settings),
    }
    table = table.replace_schema_metadata(metadata)
    with written_whole(file) as aside:
        write_table(table, aside)


def read_episodes(file: Path) -> tuple[list[Episode], dict[str, Any]]:
    """Return episodes and settings; raise EvaluationError for a file that is not whole."""
    try:
        table = read_table(file)
        metadata = table.schema.metadata or {}
        if metadata[_VERSION] != _FORMAT:
            raise ValueError(f"format version {metadata[_VERSION].decode()} instead of {_FORMAT.decode()}")
        settings = as_record(dict[str, Any], parse_json(metadata[_SETTINGS]))
        if metadata[_CHECKSUM] != _checksum(table, settings):
            raise ValueError("episodes or settings that do not match their checksum")
        episodes = as_record(list[Episode], table.to_pylist())
        _require_protocol(episodes)
        return episodes, settings
    except (OSError, ValueError, LookupError, TypeError, OverflowError) as error:
        raise EvaluationError(
            f"expected the episodes of an evaluation in {file}, got {error!r}: delete it and evaluate again"
        ) from error


def _checksum(table: Any, settings: dict[str, Any]) -> bytes:
    """Return the checksum of all episodes and settings: Parquet by itself does not notice a flipped bit."""
    return json_sha256([settings, table.to_pylist()]).encode()


def _require_protocol(episodes: Sequence[Episode]) -> None:
    """Refuse episodes that the protocol does not have, and those that it has only once."""
    if any(each.no_ops not in NO_OP_COUNTS or each.repetition < 0 for each in episodes):
        raise ValueError("an episode that the protocol does not have")
    if len({(each.repetition, each.no_ops) for each in episodes}) < len(episodes):
        raise ValueError("an episode twice")
    for each in episodes:
        scores = (each.score, each.first_life_score, *(death.score for death in each.deaths))
        if not all(abs(score) <= _HIGHEST_SCORE for score in scores):  # NaN is not, either
            raise ValueError(f"scores beyond {_HIGHEST_SCORE:g}, or that are no numbers")
        if not all(-1 <= level < _MOST_LEVELS for level in (each.level, *(it.level for it in each.deaths))):
            raise ValueError(f"a level that is not from -1 to {_MOST_LEVELS - 1}")
        if min(each.game_frames, each.lives_lost, each.rooms) < 0:
            raise ValueError("a negative number of game frames, lives or rooms")
