"""goexplore compare: a search beside its baselines, on equal terms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tyro

from goexplore.cli._cores import usable_cores
from goexplore.cli._explore import parse_count
from goexplore.cli._progress import tell
from goexplore.comparison import BY_REPLAY, OURS, by_replay, up_to, variants
from goexplore.config import SearchConfig
from goexplore.directories import is_started
from goexplore.engines import EngineWish, choose_engine
from goexplore.errors import ConfigError
from goexplore.files import require_writable
from goexplore.presets import preset
from goexplore.report import comparison_note, comparison_table, write_comparison
from goexplore.running import Limits, explore


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Explore with a preset and with its baselines: the same emulator, game frames and seeds."""

    target: tyro.conf.Positional[str]
    """A preset or a game, as for `goexplore explore`."""
    game_frames: str = "2M"
    """Of each run."""
    seeds: int = 5
    """Runs of each variant."""
    run_dir: Path | None = None
    """Folder for the runs and the page. Default: runs/compare-TARGET. What is there already is resumed."""
    workers: int = field(default_factory=usable_cores)
    """Worker processes, or threads of the native engine. Changes nothing but speed."""
    engine: EngineWish = "auto"
    """The emulator. auto: the native one for games that it is certified for, else ale-py."""


def run_compare(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = tyro.cli(_Arguments, prog="goexplore compare", args=arguments)
    base, game_frames = preset(chosen.target), parse_count(chosen.game_frames)
    if chosen.seeds < 1:
        raise ConfigError(f"expected --seeds to be 1 or more, got {chosen.seeds}: change it")
    folder = chosen.run_dir or Path("runs") / f"compare-{chosen.target.replace('/', '-')}"
    page = folder / "compare.html"
    require_writable(page)
    tell(f"engine: {choose_engine(base.env.name, chosen.engine).reason}")
    found: dict[str, list[list[dict[str, Any]]]] = {}
    for name, config in variants(base).items():
        for seed in range(chosen.seeds):
            metrics = _explore(replace(config, seed=seed), name, game_frames, folder, chosen)
            if metrics is None:
                tell("continue with the same command")
                return 130
            found.setdefault(name, []).append(up_to(metrics, game_frames))
            if name == OURS:
                found.setdefault(BY_REPLAY, []).append(by_replay(metrics, game_frames))
    write_comparison(f"{chosen.target} beside its baselines", base, found, game_frames, page)
    print(comparison_note(game_frames, chosen.seeds))
    heads, rows = comparison_table(base, found)
    print(f"| {' | '.join(heads)} |")
    print(f"|---|{'---:|' * (len(heads) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print(f"{page}: open it in a browser")
    return 0


def _explore(
    config: SearchConfig, name: str, game_frames: int, folder: Path, chosen: _Arguments
) -> list[dict[str, Any]] | None:
    """Return the metrics of a run, which is begun or resumed unless it is done; None if interrupted."""
    path = folder / f"{name.replace(' ', '-')}-seed{config.seed}"
    tell(f"{name}, seed {config.seed}")
    outcome = explore(
        config,
        run_dir=path,
        limits=Limits(game_frames=game_frames),
        workers=chosen.workers,
        engine=chosen.engine,
        resume=is_started(path),
        metrics_of_every_batch=True,  # or what is read at the budget would depend on the machine's speed
    )
    return None if outcome.interrupted else outcome.run.read_metrics()
