"""goexplore demos: take demonstrations out of runs, or cut demonstrations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tyro

from goexplore.api import demonstration_file, rank_by_robustness, take_demonstrations, usable_cores
from goexplore.cli._arguments import parse, parse_problem
from goexplore.cli._progress import log, thousands
from goexplore.cli._sources import open_saved_run
from goexplore.demos import SUFFIX, Demonstration, Rules, find_demonstrations, sample_names
from goexplore.demos._minari import check_name, write_dataset
from goexplore.envs import NOWHERE
from goexplore.errors import ConfigError, require_at_least, require_between
from goexplore.files import is_file, is_folder, whole_files
from goexplore.runs import SavedRun, is_started


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Take demonstrations out of runs, or cut demonstrations; each is verified by replay on the reference."""

    sources: tyro.conf.Positional[tuple[str, ...]]
    """Run directories; or demonstrations, to cut them or to order them by --rank-robust: files, folders of
    them, or samples."""
    out: Path
    """Folder for the files."""
    rules: tyro.conf.OmitArgPrefixes[Rules] = field(default_factory=Rules)
    rank_robust: int | None = None
    """Let the expert play this many episodes of the stochastic game with each demonstration, and write the
    most robust ones first: see `goexplore play-expert`."""
    least_robust: float = 0.0
    """With --rank-robust: leave out demonstrations of which the expert goes, on average, less than this share
    of the way; 0.5 is half of it."""
    workers: int = field(default_factory=usable_cores)
    """With --rank-robust: number of processes that play. Changes only speed."""
    minari: str | None = None
    """Write a Minari dataset with this name too, such as montezuma/demos-v0."""
    problem: str | None = None
    """The problem's import path, such as my_game:Lock, if the runs are of one that no package registers."""


def _are_demonstrations(name: str) -> bool:
    """Return whether a name stands for demonstrations, not for a run."""
    if is_folder(name):
        return not is_started(Path(name)) and bool(whole_files(Path(name), f"*{SUFFIX}"))
    return is_file(name) or name in sample_names()


def run_demos(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = parse(_Arguments, arguments, prog="goexplore demos")
    if not chosen.sources:
        raise ConfigError("expected at least one run directory or demonstration, got none: name one")
    if chosen.minari is not None:
        check_name(chosen.minari)
    problem = parse_problem(chosen.problem)
    demonstrations_named = [name for name in chosen.sources if _are_demonstrations(name)]
    if demonstrations_named and len(demonstrations_named) < len(chosen.sources):
        (other, *_) = (name for name in chosen.sources if name not in demonstrations_named)
        raise ConfigError(
            f"expected only runs or only demonstrations, got {demonstrations_named[0]}, a demonstration, and "
            f"{other}, which is none: take them one after the other"
        )
    sources: list[SavedRun] | list[Demonstration] = (
        [each for name in chosen.sources for each in find_demonstrations(name, problem)]
        if demonstrations_named
        else [open_saved_run(Path(name), problem) for name in chosen.sources]
    )
    rank = None
    if chosen.rank_robust is not None:
        require_at_least("rank_robust", chosen.rank_robust, 1)
        require_between("least_robust", chosen.least_robust, 0, 1)

        def rank(found: Sequence[Demonstration]) -> list[Demonstration]:
            assert chosen.rank_robust is not None
            return rank_by_robustness(
                found,
                episodes=chosen.rank_robust,
                least=chosen.least_robust,
                workers=chosen.workers,
                problem=problem,
                progress=log,
            )

    demonstrations = take_demonstrations(sources, chosen.rules, out=chosen.out, progress=log, order=rank)
    for number, each in enumerate(demonstrations):
        where = (
            "" if each.location == NOWHERE else f", level {each.location.level}, room {each.location.room}"
        )
        end = f", {each.end.name.lower()}" if each.end else ""
        source = each.provenance
        if source.event:
            end += f", to event {source.event}"
        if source.fatal_action is not None:
            end += f", up to the action {source.fatal_action} that ends the game without a result"
        print(
            f"{demonstration_file(chosen.out, each, number)}: score {thousands(each.score)} (search score) "
            f"in {thousands(len(each.actions))} training frames{where}{end}, from entry "
            f"{each.provenance.entry} of {each.provenance.run}; replayed"
        )
    if chosen.minari is not None:
        folder = write_dataset(demonstrations, chosen.minari)
        print(f"{folder}: Minari dataset {chosen.minari}, {len(demonstrations)} episodes")
    return 0
