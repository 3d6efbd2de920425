"""goexplore cells-preview: what a choice of cells makes of random play."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from goexplore.cli._arguments import parse, parse_count
from goexplore.engines import EngineWish
from goexplore.errors import require_positive
from goexplore.files import require_writable
from goexplore.report import preview_cells


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Play at random for some seconds; show how many cells a choice makes, and which states share one."""

    target: tyro.conf.Positional[str]
    """A registered problem, an id, or an import path, as for `goexplore explore`."""
    cells: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """A choice to compare with the problem's own cells: "grid(x, y, size=16)", rendering, downscaled,
    my_game:cell, or a sum of these. May be given several times."""
    seconds: float = 10.0
    """How long to play."""
    training_frames: Annotated[str | None, tyro.conf.arg(metavar="N[K|M|B]")] = None
    """How much to play, in place of --seconds: the page is always the same."""
    seed: int = 0
    """Seed of the random actions."""
    out: Path = Path("preview.html")
    """The page to write."""
    engine: EngineWish = "auto"
    """The emulator of an Atari game."""


def run_cells_preview(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = parse(_Arguments, arguments, prog="goexplore cells-preview")
    require_positive("seconds", chosen.seconds)
    require_writable(chosen.out)
    frames = chosen.training_frames
    preview = preview_cells(
        chosen.target,
        *chosen.cells,
        seconds=chosen.seconds,
        training_frames=None if frames is None else parse_count(frames, "training_frames"),
        seed=chosen.seed,
        engine=chosen.engine,
        out=chosen.out,
    )
    print(preview.text())
    print(f"{chosen.out}: {chosen.out.stat().st_size / 1e6:.1f} MB; open it in a browser")
    return 0
