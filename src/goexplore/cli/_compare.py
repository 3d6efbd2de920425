"""goexplore compare: a search beside its baselines, on equal terms."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from goexplore.api import usable_cores, worker_count
from goexplore.checks import require_env
from goexplore.cli._arguments import parse, parse_count
from goexplore.cli._explore import file_name, options_for, take_cells, with_options
from goexplore.cli._progress import log
from goexplore.engines import EngineWish
from goexplore.errors import ConfigError, OutputError, require_at_least
from goexplore.evaluation import BY_REPLAY, OURS, by_replay, up_to, variants
from goexplore.files import require_writable
from goexplore.problems import Problem, find_problem
from goexplore.report import comparison_note, comparison_table, write_comparison
from goexplore.runs import Limits, SearchMetrics, is_started, run_search


@dataclass(frozen=True, kw_only=True)
class _Options:
    game_frames: str = "2M"
    """Game frames of each run, such as 2M."""
    seeds: int = 5
    """Runs of each variant."""
    run_dir: Path | None = None
    """Folder for the runs and the page. Default: runs/compare-TARGET. What is there already is resumed."""
    workers: int = field(default_factory=usable_cores)
    """Worker processes, or threads of the native engine; 0 explores in this process. Changes only speed."""
    engine: EngineWish = "auto"
    """The emulator of an Atari game. auto: the native one for games that it is certified for, else ale-py."""


_USAGE = """usage: goexplore compare TARGET [options]

Explore TARGET and its baselines: the same environment, game frames and seeds. TARGET is as for `goexplore
explore`, and so are the settings of its environment, cells, selection and exploration.

`goexplore compare TARGET --help` lists all options with the values of that TARGET.
"""


def run_compare(arguments: list[str]) -> int:
    """Run the verb."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, end="")
        return 0 if arguments else 2
    if arguments[0].startswith("-"):
        raise ConfigError(f"expected TARGET first, got {arguments[0]!r}: see goexplore compare --help")
    target = arguments[0]
    found_problem, rest = take_cells(find_problem(target), arguments[1:])
    kind, default = options_for(_Options, found_problem)
    chosen = parse(kind, rest, prog=f"goexplore compare {target}", default=default)
    problem = with_options(found_problem, chosen)
    game_frames = parse_count(chosen.game_frames)
    require_at_least("seeds", chosen.seeds, 1, 10_000)
    folder = chosen.run_dir or Path("runs") / f"compare-{file_name(target)}"
    bound, reason = problem.with_engine(chosen.engine)
    problem = require_env(bound).problem
    page = folder / "compare.html"
    try:
        require_writable(page)
    except OutputError as error:
        raise OutputError(str(error).replace("`out`", "`run_dir`")) from error
    log(f"engine: {reason}")
    found: dict[str, list[list[SearchMetrics]]] = {}
    for name, variant in variants(problem).items():
        for seed in range(chosen.seeds):
            metrics = _explore(variant, seed, name, game_frames, folder, chosen)
            if metrics is None:
                log("continue with the same command")
                return 130
            found.setdefault(name, []).append(up_to(metrics, game_frames))
            if name == OURS:
                found.setdefault(BY_REPLAY, []).append(by_replay(metrics, game_frames))
    write_comparison(f"{target} beside its baselines", problem, found, game_frames, page)
    print(comparison_note(game_frames, chosen.seeds))
    heads, rows = comparison_table(problem, found)
    print(f"| {' | '.join(heads)} |")
    print(f"|---|{'---:|' * (len(heads) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print(f"{page}: open it in a browser")
    return 0


def _explore(
    problem: Problem, seed: int, name: str, game_frames: int, folder: Path, chosen: _Options
) -> list[SearchMetrics] | None:
    """Return the metrics of a run, which is begun or resumed unless it is done; None if interrupted."""
    path = folder / f"{name.replace(' ', '-')}-seed{seed}"
    log(f"{name}, seed {seed}")
    outcome = run_search(
        problem,
        run_dir=path,
        limits=Limits(game_frames=game_frames),
        seed=seed,
        workers=worker_count(chosen.workers),
        engine=chosen.engine,
        resume=is_started(path),
        metrics_of_every_batch=True,  # or what is read at the budget would depend on the machine's speed
    )
    return None if outcome.interrupted else outcome.run.metrics()
