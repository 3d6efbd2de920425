"""goexplore verify: replay trajectories and compare."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass, field
from pathlib import Path

import tyro

from goexplore import _native as native
from goexplore.archive import Archive
from goexplore.cli._cores import usable_cores
from goexplore.cli._progress import thousands
from goexplore.demos import SUFFIX, find_demonstration, sample_names
from goexplore.engines import distrust, where_judged
from goexplore.errors import ConfigError, DemonstrationError
from goexplore.files import is_file, is_folder
from goexplore.random import SplitMix64
from goexplore.runs import RunDirectory
from goexplore.verification import Verdict, verify

_SHOWN_MISMATCHES = 10


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Replay trajectories from the initial state, Atari games on ale-py, and compare them with the run.

    Compared are cell, score, length and state: the snapshot, or the memory if the native engine explored.
    """

    what: tyro.conf.Positional[tuple[str, ...]]
    """A run directory; or demonstrations: files, folders of them, names of samples."""
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
    folders = [name for name in chosen.what if is_folder(name)]
    if folders and (Path(folders[0]) / "config.json").exists():
        if len(chosen.what) > 1:
            raise ConfigError(f"expected one run at a time, got {len(chosen.what)}: verify them one by one")
        return _verify_run(Path(folders[0]), chosen)
    names = [file for name in chosen.what for file in _demonstrations(name)]
    return max(_verify_demonstration(name) for name in names)


def _demonstrations(name: str) -> list[str]:
    if is_file(name) or name in sample_names():
        return [name]
    if not is_folder(name):
        raise ConfigError(
            "expected a run directory with a config.json, a demonstration's file or a sample, got "
            f"{name!r}: check the path"
        )
    files = sorted(str(file) for file in Path(name).glob(f"*{SUFFIX}"))
    if not files:
        raise ConfigError(f"expected a run or a folder of demonstrations, got {name}, which is neither")
    return files


def _verify_demonstration(name: str) -> int:
    try:
        demonstration = find_demonstration(name)
    except DemonstrationError as error:
        print(f"{name}: {error}")
        return 1
    print(
        f"{name}: replayed {thousands(demonstration.game_frames)} game frames "
        f"{where_judged(demonstration.env.name)}: score {thousands(demonstration.score)}, "
        "all rewards and screens as it says"
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
    if verdict.mismatches and engine == "native" and _engine_differs(directory, archive, verdict):
        rom = config.env.name
        file = distrust(rom, f"{run}: {verdict.mismatches[0].reason}")
        print(f"the native engine is not used for {rom} on this machine any more: {file} says why")
    return 1 if verdict.mismatches else 0


def _engine_differs(directory: RunDirectory, archive: Archive, verdict: Verdict) -> bool:
    """Whether the native engine stands by what ale-py denies; else it is the archive that is damaged."""
    if native.atari is None or not directory.has_this_engine():
        print(
            "whether the engine or the archive is to blame cannot be told without the version of the native "
            "engine that explored: verify it where the run was made"
        )
        return False
    config = directory.config()
    entries = [mismatch.number for mismatch in verdict.mismatches]
    denied = len(verify(archive, config, entries, engine="native", judge="native").mismatches)
    if denied:
        which = "them" if denied == len(entries) else f"{thousands(denied)} of them"
        print(f"the native engine does not confirm {which} either: the archive is damaged")
    return denied < len(entries)
