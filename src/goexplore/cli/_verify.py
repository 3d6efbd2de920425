"""goexplore verify: replay trajectories and compare."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass, field
from pathlib import Path

import tyro

from goexplore.api import Run, read_run, usable_cores
from goexplore.cli._arguments import parse, parse_problem
from goexplore.cli._progress import log, thousands
from goexplore.cli._text import printable
from goexplore.demos import demonstration_files, read_demonstration
from goexplore.errors import ConfigError, DemonstrationError, require_at_least
from goexplore.files import is_folder
from goexplore.problems import Problem, import_path
from goexplore.replay import Verdict, verify_archive

_SHOWN_MISMATCHES = 10


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Replay trajectories from the initial state, Atari games on ale-py, and compare them with the run.

    It compares cell, score, length and state: the snapshot, or the memory if the native engine explored.
    """

    what: tyro.conf.Positional[tuple[str, ...]]
    """A run directory; or demonstrations: files, folders of them, names of samples."""
    all: bool = False
    """Check every entry."""
    sample: int = 100
    """Check this many entries, the best one among them."""
    workers: int = field(default_factory=usable_cores)
    """Processes that replay."""
    problem: str | None = None
    """The problem's import path, such as my_game:Lock, if it is one that no package registers."""
    objective: str | None = None
    """The import path of the run's objective, if the problem itself has none."""
    events: str | None = None
    """The import path of the run's events, if the problem itself has none."""


def run_verify(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = parse(_Arguments, arguments, prog="goexplore verify")
    require_at_least("sample", chosen.sample, 1)
    require_at_least("workers", chosen.workers, 1, 4096)
    if not chosen.what:
        raise ConfigError("expected a run directory or demonstrations to verify, got none: name one")
    problem = parse_problem(chosen.problem)
    folders = [name for name in chosen.what if is_folder(name)]
    if folders and (Path(folders[0]) / "config.json").exists():
        if len(chosen.what) > 1:
            raise ConfigError(f"expected one run at a time, got {len(chosen.what)}: verify them one by one")
        run = read_run(folders[0], problem)
        named = {
            name: import_path(path)
            for name in ("objective", "events")
            if (path := getattr(chosen, name)) is not None
        }
        return _verify_run(dataclasses.replace(run, problem=run.problem.with_functions(**named)), chosen)
    files = [file for name in chosen.what for file in demonstration_files(name)]
    return max(_verify_demonstration(file, problem) for file in files)


def _verify_demonstration(file: Path, problem: Problem | None) -> int:
    try:
        demonstration = read_demonstration(file, problem)
    except DemonstrationError as error:
        print(f"{printable(file.name)}: {printable(error)}")
        return 1
    print(
        f"{printable(file.name)}: replayed {thousands(demonstration.game_frames)} game frames on "
        f"{demonstration.env.reference().engine}: score {thousands(demonstration.score)}, "
        "all rewards and observations as it says"
    )
    return 0


def _verify_run(run: Run, chosen: _Arguments) -> int:
    for warning in run.warnings:
        log(f"warning: {warning}")
    live = sys.stderr.isatty()

    def progress(done: int, total: int) -> None:
        if live:
            print(f"\rverified {thousands(done)} of {thousands(total)} entries", end="", file=sys.stderr)

    verdict = run.verify(None if chosen.all else chosen.sample, workers=chosen.workers, progress=progress)
    if live:
        print(file=sys.stderr)
    for mismatch in verdict.mismatches[:_SHOWN_MISMATCHES]:
        print(f"entry {mismatch.number}: {printable(mismatch.reason)}")
    print(
        f"verified {thousands(verdict.checked)} of {thousands(len(run.archive))} entries by replay of "
        f"{thousands(verdict.game_frames)} game frames: "
        f"{thousands(len(verdict.mismatches)) if verdict.mismatches else 'no'} mismatches"
    )
    if verdict.crashes:
        print(f"{thousands(verdict.crashes)} of them crash with their last action, played in a process apart")
    if verdict.unplayed:
        print(f"{thousands(verdict.unplayed)} of them hang with their last action, which was not played")
    if verdict.mismatches and _engine_differs(run, verdict):
        told = run.problem.env.distrust(f"{run.path}: {verdict.mismatches[0].reason}")
        if told is not None:
            print(told)
    return 1 if verdict.mismatches else 0


def _engine_differs(run: Run, verdict: Verdict) -> bool:
    """Whether the engine that explored stands by what the reference denies; else the archive is damaged."""
    env = run.problem.env
    if env.engine == env.reference().engine:
        return False
    if not run.directory.has_engine_version(env.engine_version):
        print(
            "whether the engine or the archive is to blame cannot be told without the version of the native "
            "engine that explored: verify it where the run was made"
        )
        return False
    entries = [mismatch.number for mismatch in verdict.mismatches]
    denied = len(verify_archive(run.archive, run.problem, entries, on_reference=False).mismatches)
    if denied:
        which = "them" if denied == len(entries) else f"{thousands(denied)} of them"
        print(f"the {env.engine} engine does not confirm {which} either: the archive is damaged")
    return denied < len(entries)
