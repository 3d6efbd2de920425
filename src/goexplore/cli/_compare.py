"""goexplore compare: a search beside its baselines, on equal terms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tyro

from goexplore.cli._cores import usable_cores
from goexplore.cli._explore import parse_count
from goexplore.cli._progress import tell, thousands
from goexplore.comparison import BY_REPLAY, OURS, by_replay, up_to, variants
from goexplore.config import SearchConfig
from goexplore.directories import is_started
from goexplore.engines import EngineWish
from goexplore.errors import ConfigError
from goexplore.files import require_writable
from goexplore.presets import preset
from goexplore.report import comparison_columns, comparison_rows, write_comparison
from goexplore.running import Limits, explore


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Explore with a preset and with its baselines: the same emulator, game frames and seeds."""

    target: tyro.conf.Positional[str]
    """A preset or a game, as for `goexplore explore`."""
    game_frames: str = "2M"
    """Of each run."""
    seeds: int = 3
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
    found: dict[str, list[list[dict[str, Any]]]] = {}
    for name, config in variants(base).items():
        for seed in range(chosen.seeds):
            metrics = _explore(replace(config, seed=seed), name, game_frames, folder, chosen)
            if metrics is None:
                tell("continue with the same command")
                return 130
            found.setdefault(name, []).append(metrics)
    found[BY_REPLAY] = [by_replay(metrics, game_frames) for metrics in found[OURS]]
    write_comparison(f"{chosen.target} beside its baselines", base, found, page)
    columns = comparison_columns(base)
    print(f"after {thousands(game_frames)} game frames, means over {chosen.seeds} runs with 95 % intervals:")
    print(f"| variant | {' | '.join(columns.values())} |")
    print(f"|---|{'---:|' * len(columns)}")
    for name, estimates in comparison_rows(found, list(columns)).items():
        cells = (each.text() for each in estimates)
        print(f"| {name} | {' | '.join(cells)} |")
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
    )
    return None if outcome.interrupted else up_to(outcome.run.read_metrics(), game_frames)
