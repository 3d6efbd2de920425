"""goexplore explore: Phase 1 on one game."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import tyro

from goexplore.cli._cores import usable_cores
from goexplore.cli._progress import make_reporter, show_search, thousands
from goexplore.config import (
    CellsConfig,
    EnvConfig,
    ExplorationConfig,
    SearchConfig,
    SelectionConfig,
)
from goexplore.engines import EngineWish
from goexplore.errors import ConfigError
from goexplore.presets import PRESETS, preset
from goexplore.running import Limits, explore


def parse_count(text: str) -> int:
    """Return the whole number that 250000, 250_000, 250K, 60M or 1.2B means."""
    match = re.fullmatch(r"([+-]?\d[\d_]*(?:\.\d+)?)([KMB]?)", text.strip(), re.IGNORECASE)
    scale = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9}
    value = Decimal(match[1].replace("_", "")) * scale[match[2].upper()] if match else None
    if value is None or value != int(value):
        raise ConfigError(f"expected a whole number such as 250000, 60M or 1.2B, got {text!r}: change it")
    return int(value)


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    game_frames: Annotated[str | None, tyro.conf.arg(metavar="N[K|M|B]")] = None
    """Stop after this many game frames of the whole run, such as 60M."""
    minutes: float | None = None
    """Stop after this many minutes of this session."""
    until_level: int | None = None
    """Stop when this level is reached; the first one is level 0."""
    until_score: float | None = None
    """Stop when a trajectory has this score."""
    workers: int = field(default_factory=usable_cores)
    """Worker processes (threads of the native engine). Default: one per core. Changes nothing but speed."""
    engine: EngineWish = "auto"
    """The emulator. auto: the native one for games that it is certified for, else ale-py."""
    serial: bool = False
    """Explore in this process, without workers: for debugging."""
    seed: int = 0
    """Seed of all draws."""
    run_dir: Path | None = None
    """Where to write. Default: runs/TARGET-seedS."""
    resume: bool = False
    """Continue the run in --run-dir from its last checkpoint."""
    checkpoint_minutes: float = 5.0
    """Minutes between checkpoints: what a crash can cost at most."""

    env: tyro.conf.AvoidSubcommands[EnvConfig]
    cells: tyro.conf.AvoidSubcommands[CellsConfig]
    selection: SelectionConfig
    exploration: ExplorationConfig


_USAGE = f"""usage: goexplore explore TARGET [options]

TARGET is a preset or any Atari game with downscaled cells:
  {", ".join(PRESETS)}
  ALE/<Game>-v5, such as ALE/PrivateEye-v5

`goexplore explore TARGET --help` lists all options with the values of that TARGET.
"""


def run_explore(arguments: list[str]) -> int:
    """Run the verb."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, end="")
        return 0 if arguments else 2
    if arguments[0].startswith("-"):
        raise ConfigError(f"expected TARGET first, got {arguments[0]!r}: see goexplore explore --help")
    target = arguments[0]
    base = preset(target)
    chosen = tyro.cli(
        _Arguments,
        prog=f"goexplore explore {target}",
        description=f"Explore {base.env.game} until a limit or Ctrl-C, with the settings of {target!r}.",
        args=arguments[1:],
        default=_Arguments(
            env=base.env, cells=base.cells, selection=base.selection, exploration=base.exploration
        ),
    )
    config = SearchConfig(
        env=chosen.env,
        cells=chosen.cells,
        selection=chosen.selection,
        exploration=chosen.exploration,
        seed=chosen.seed,
    )
    run_dir = chosen.run_dir or Path("runs") / f"{target.replace('/', '-')}-seed{chosen.seed}"
    limits = Limits(
        game_frames=None if chosen.game_frames is None else parse_count(chosen.game_frames),
        minutes=chosen.minutes,
        level=chosen.until_level,
        score=chosen.until_score,
    )
    with make_reporter(f"{target}, seed {chosen.seed} → {run_dir}", show_search) as reporter:
        outcome = explore(
            config,
            run_dir=run_dir,
            limits=limits,
            reporter=reporter,
            workers=None if chosen.serial else chosen.workers,
            engine=chosen.engine,
            resume=chosen.resume,
            checkpoint_minutes=chosen.checkpoint_minutes,
        )
    status = outcome.search.status
    places = f", {status.rooms} rooms, level {status.level}" if status.rooms else ""
    print(
        f"{'stopped' if outcome.interrupted else 'done'}: {thousands(status.game_frames)} game frames, "
        f"{thousands(status.cells)} cells{places}, best score {thousands(status.best_score)} "
        f"(search score, deterministic game)"
    )
    print(f"run: {run_dir} (look: goexplore info {run_dir}; check: goexplore verify {run_dir})")
    if outcome.interrupted:
        print(f"continue with: goexplore explore {' '.join([*arguments, '--resume'])}", file=sys.stderr)
        return 130
    return 0
