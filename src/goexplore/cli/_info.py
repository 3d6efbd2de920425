"""goexplore info: what a run is and what it has found."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from goexplore.cli._arguments import parse
from goexplore.cli._progress import duration, memory_text, thousands
from goexplore.cli._text import printable
from goexplore.errors import RunDirectoryError
from goexplore.files import as_record
from goexplore.runs import Directory, SearchDirectory, TrainingMetrics, is_training


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Summarise a run."""

    run: tyro.conf.Positional[Path]
    """The run directory."""


@dataclass(frozen=True, kw_only=True)
class _Network:
    kind: Literal["feed-forward", "recurrent"]


@dataclass(frozen=True, kw_only=True)
class _TrainingSettings:
    seed: int
    network: _Network


@dataclass(frozen=True, kw_only=True)
class _Training:
    """What config.json of a training says, as far as it is told here."""

    training: _TrainingSettings
    demonstrations: list[str]
    command: list[str]
    versions: dict[str, str]


def run_info(arguments: list[str]) -> int:
    """Run the verb."""
    run = parse(_Arguments, arguments, prog="goexplore info").run
    if is_training(run):
        return _training_info(run)
    directory = SearchDirectory.open(run)
    written = directory.info()
    checkpoint = directory.read_checkpoint()
    print(f"run          {run}")
    print(f"problem      {printable(written['search']['problem']['name'])}, seed {directory.seed()}")
    if (start := directory.start()) is not None:
        print(f"started from {printable(start)}")
    print(f"engine       {printable(directory.engine())}")
    _print_origin(written)
    if checkpoint is None:
        print("checkpoint   none yet")
        return 0
    for warning in checkpoint.warnings:
        print(f"warning      {printable(warning)}")
    status, archive = checkpoint.status, checkpoint.archive
    print(f"checkpoint   {checkpoint.folder.name}, after {thousands(status.batches)} batches")
    print(f"game frames  {thousands(status.game_frames)} in {duration(status.seconds)}")
    if status.game_frames_replayed:
        print(f"             {thousands(status.game_frames_replayed)} more were replayed to return to cells")
    else:
        print(f"             {thousands(status.game_frames_with_replay)} if cells were returned to by replay")
    print(f"cells        {thousands(archive.cells)} on {thousands(len(archive.segments))} segments")
    for revision in checkpoint.revisions:
        print(
            f"revision     {revision.width} x {revision.height} x {revision.levels} at "
            f"{thousands(revision.game_frames)} game frames: {thousands(revision.cells_before)} cells became "
            f"{thousands(revision.cells_after)}"
        )
    if status.rooms:
        per_level: dict[int, int] = {}
        for location in archive.locations:
            per_level[location.level] = per_level.get(location.level, 0) + 1
        levels = ", ".join(f"level {level}: {rooms}" for level, rooms in sorted(per_level.items()))
        print(f"rooms        {thousands(status.rooms)} ({levels})")
    if status.ends:
        print(f"ends         {thousands(status.ends)} cells in which an episode ended")
    for event, entries in sorted(archive.events.items()):
        shortest = min(entries, key=lambda entry: (archive[entry].length, entry))
        ways = f"{thousands(len(entries))} {'way' if len(entries) == 1 else 'ways'}"
        print(
            f"event        {printable(event)}: {ways}, the shortest after "
            f"{thousands(archive[shortest].length)} training frames, entry {shortest}"
        )
    for line in directory.metrics()[-1:]:
        print(f"memory       {memory_text(line.memory_bytes, line.spilled_bytes)}")
    if status.given_up:
        print(
            f"given up     {thousands(status.given_up)} explorations that crashed every worker that ran them"
        )
    best = archive[archive.best]
    print(
        f"best         score {thousands(best.score)} (search score, deterministic game) after "
        f"{thousands(best.length)} training frames, entry {best.number}"
    )
    print(f"tables       {checkpoint.folder}/archive.parquet, segments.parquet")
    return 0


def _print_origin(written: dict[str, Any]) -> None:
    versions = ", ".join(f"{name} {number}" for name, number in written["versions"].items())
    print(f"command      {printable(shlex.join(written['command']))}")
    print(f"versions     {printable(versions)}")


def _training_info(run: Path) -> int:
    """Summarise a training; PyTorch is not needed for that."""
    directory = Directory(run)
    written, metrics = directory.info(), directory.read_metrics(TrainingMetrics)
    try:
        training = as_record(_Training, written)
    except ValueError as error:
        raise RunDirectoryError(
            f"expected a training's settings in {run / 'config.json'}, got {error}: put the file back"
        ) from error
    print(f"run          {run}")
    print(f"training     seed {training.training.seed}, {training.training.network.kind} policy")
    print(f"learns from  {len(training.demonstrations)} demonstrations in {run / 'demos'}")
    _print_origin(written)
    if not metrics:
        print("metrics      none yet")
        return 0
    last = metrics[-1]
    print(
        f"frames       {thousands(last.training_frames)} training frames, "
        f"{thousands(last.game_frames)} game frames in {duration(last.wall_seconds)}"
    )
    print(f"starts at    {' '.join(map(str, last.starting_points))} (training frame of each one)")
    if last.real_start_success is not None:
        print(f"success      {last.real_start_success:.1%} of the last rollouts from the real start")
    print(f"policies     {run / 'policies'}, {run / 'checkpoints'}")
    return 0
