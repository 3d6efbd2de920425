"""goexplore map: the rooms of a run and the cells in them, as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from goexplore.cli._arguments import parse, parse_problem
from goexplore.cli._progress import thousands
from goexplore.cli._sources import open_saved_run
from goexplore.errors import ConfigError
from goexplore.files import output_errors, require_writable, written_whole
from goexplore.report import MEANING, ArchiveView, Colouring, draw_levels, draw_poster, has_map


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Draw the map of each level: a real picture of every room found, the cells over it."""

    run: tyro.conf.Positional[Path]
    """The run directory."""
    out: Path = Path("map.png")
    """File of the first level; others have their number added."""
    colour: Colouring = "found"
    """What colours the cells: times seen or chosen, probability of being chosen, score, or when found."""
    problem: str | None = None
    """The problem's import path, such as my_game:Lock, if the run is of one that no package registers."""


def run_map(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = parse(_Arguments, arguments, prog="goexplore map")
    if chosen.out.suffix.lower() != ".png":
        raise ConfigError(f"expected `out` to be a file name that ends in .png, got {chosen.out}")
    source = open_saved_run(chosen.run, parse_problem(chosen.problem))
    view = ArchiveView(source.archive, source.problem)
    if not has_map(view):
        raise ConfigError(
            f"expected a game whose rooms lie on a map, got {source.problem.env.name}: `goexplore report` "
            "shows a gallery of its cells instead"
        )
    require_writable(chosen.out)
    for level in draw_levels(view, [chosen.colour]):
        file = chosen.out if level.level == 0 else chosen.out.with_stem(f"{chosen.out.stem}-{level.level}")
        title = f"{source.name}, level {level.level}: {level.rooms} rooms; {MEANING[chosen.colour]}"
        with output_errors(file), written_whole(file) as aside:
            draw_poster(level, chosen.colour, title).save(aside)
        print(f"{file}: level {level.level}, {thousands(level.rooms)} rooms")
    return 0
