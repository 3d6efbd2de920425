"""goexplore demos: take demonstrations out of runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from goexplore.cli._progress import tell, thousands
from goexplore.cli._sources import open_source, require_runs
from goexplore.demos import (
    SUFFIX,
    Cuts,
    Rules,
    Take,
    extract,
    read_demonstration,
    write_demonstration,
)
from goexplore.demos._minari import check_name, write_dataset
from goexplore.errors import DemonstrationError
from goexplore.files import output_errors


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Take demonstrations out of one or several runs; each is verified by replay on the reference."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run directories."""
    out: Path
    """Folder for the files."""
    take: Take = "best"
    """The best of all runs, the best of each run, or the best that differ from each other."""
    count: int = 10
    """How many at most, with --take different."""
    difference: float = 0.2
    """Share of a trajectory's training frames that must come after it parted from those taken before."""
    cell: str | None = None
    """Only the trajectory to this entry: its number, or its cell in hexadecimal (see `goexplore cells`)."""
    highest_level: bool = False
    """Only from the highest level of each run, which leaves out the treasure room bug (appendix A.4)."""
    cuts: Annotated[Cuts, tyro.conf.arg(name="")] = field(default_factory=Cuts)
    minari: str | None = None
    """Write a Minari dataset with this name too, such as montezuma/demos-v0."""


def run_demos(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = tyro.cli(_Arguments, prog="goexplore demos", args=arguments)
    require_runs(chosen.runs)
    rules = Rules(
        take=chosen.take,
        count=chosen.count,
        difference=chosen.difference,
        cell=chosen.cell,
        highest_level=chosen.highest_level,
        cuts=chosen.cuts,
    )
    _require_folder(chosen.out)
    if chosen.minari is not None:
        check_name(chosen.minari)
    demonstrations = extract([open_source(path) for path in chosen.runs], rules, tell)
    for number, demonstration in enumerate(demonstrations):
        file = chosen.out / f"{demonstration.env.name}-{number:02d}{SUFFIX}"
        with output_errors(file):
            write_demonstration(demonstration, file)
        read_demonstration(file)
        print(
            f"{file}: score {thousands(demonstration.score)} (search score) in "
            f"{thousands(len(demonstration.actions))} training frames, level {demonstration.end.level}, room "
            f"{demonstration.end.room}, from entry {demonstration.provenance.entry} of "
            f"{demonstration.provenance.run}; replayed"
        )
    if chosen.minari is not None:
        folder = write_dataset(demonstrations, chosen.minari)
        print(f"{folder}: Minari dataset {chosen.minari}, {len(demonstrations)} episodes")
    return 0


def _require_folder(folder: Path) -> None:
    """Find out before the work whether demonstrations can be written, and whether there are some already."""
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.glob(f"*{SUFFIX}")):
            raise DemonstrationError(
                f"expected a folder without demonstrations, got {folder}: choose another --out"
            )
