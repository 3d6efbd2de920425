"""goexplore verify: replay trajectories and compare."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tyro

from goexplore.cli._cores import usable_cores
from goexplore.cli._progress import thousands
from goexplore.demos import read_demonstration
from goexplore.engines import distrust
from goexplore.envs import rom_name
from goexplore.errors import ConfigError
from goexplore.random import SplitMix64
from goexplore.runs import RunDirectory
from goexplore.verification import verify

_SHOWN_MISMATCHES = 10


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Replay trajectories from the initial state on ale-py; compare cell, score, length and snapshot."""

    what: tyro.conf.Positional[tuple[Path, ...]]
    """A run directory, or demonstrations' files."""
    all: bool = False
    """Check every entry."""
    sample: int = 100
    """Check this many entries, the best one among them."""
    workers: int = field(default_factory=usable_cores)
    """Processes that replay."""


def run_verify(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = tyro.cli(_Arguments, prog="goexplore verify", args=arguments)
    for name, value in (("sample", chosen.sample), ("workers", chosen.workers)):
        if value < 1:
            raise ConfigError(f"expected --{name} to be 1 or more, got {value}: change it")
    if not chosen.what:
        raise ConfigError("expected a run directory or demonstrations to verify, got none: name one")
    if any(path.is_file() for path in chosen.what):
        return _verify_demonstrations(chosen.what)
    if len(chosen.what) > 1:
        raise ConfigError(f"expected one run at a time, got {len(chosen.what)}: verify them one by one")
    return _verify_run(chosen.what[0], chosen)


def _verify_demonstrations(files: Sequence[Path]) -> int:
    for file in files:
        demonstration = read_demonstration(file)
        print(
            f"{file}: replayed {thousands(demonstration.game_frames)} game frames on ale-py: score "
            f"{thousands(demonstration.score)}, all rewards and screens as it says"
        )
    return 0


def _verify_run(run: Path, chosen: _Arguments) -> int:
    directory = RunDirectory.open(run)
    checkpoint = directory.last_checkpoint()
    for warning in checkpoint.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    archive = checkpoint.archive
    if chosen.all or chosen.sample >= len(archive):
        entries = list(range(len(archive)))
    else:
        drawn = SplitMix64(0).uniform(len(archive)).argsort()[: chosen.sample].tolist()
        entries = sorted({archive.best, *drawn[: chosen.sample - 1]})
    live = sys.stderr.isatty()

    def progress(done: int, total: int) -> None:
        if live:
            print(f"\rverified {thousands(done)} of {thousands(total)} entries", end="", file=sys.stderr)

    config, engine = directory.config(), directory.engine()
    verdict = verify(archive, config, entries, engine=engine, workers=chosen.workers, progress=progress)
    if live:
        print(file=sys.stderr)
    directory.write_verification(
        {
            "checkpoint": checkpoint.folder.name,
            "checked": verdict.checked,
            "entries": len(archive),
            "game_frames": verdict.game_frames,
            "mismatches": [dataclasses.asdict(mismatch) for mismatch in verdict.mismatches],
        }
    )
    for mismatch in verdict.mismatches[:_SHOWN_MISMATCHES]:
        print(f"entry {mismatch.number}: {mismatch.reason}")
    print(
        f"verified {thousands(verdict.checked)} of {thousands(len(archive))} entries by replay of "
        f"{thousands(verdict.game_frames)} game frames: "
        f"{thousands(len(verdict.mismatches)) if verdict.mismatches else 'no'} mismatches"
    )
    if verdict.mismatches and engine == "native":
        rom = rom_name(config.env.game)
        file = distrust(rom, f"{run}: {verdict.mismatches[0].reason}")
        print(f"the native engine is not used for {rom} on this machine any more: {file} says why")
    return 1 if verdict.mismatches else 0
