"""`goexplore.play_expert`: the planner that teaches policies, by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from goexplore.checks import choose_way
from goexplore.demos import Demonstration, find_demonstrations
from goexplore.engines import EngineWish
from goexplore.errors import ConfigError
from goexplore.planning import ExpertConfig, ExpertSettings, Trial, Trials, play_trials
from goexplore.problems import DefaultCells, Problem, find_registered, given_problem


def expert_settings(
    demonstrations: Sequence[Demonstration],
    config: ExpertConfig | None = None,
    *,
    engine: EngineWish = "auto",
    deficit: float = 0.0,
    problem: Problem | None = None,
) -> ExpertSettings:
    """Return what makes an expert that is guided by demonstrations, on the fastest engine that there is."""
    if not demonstrations:
        raise ConfigError("expected at least one demonstration, got none: name one, or a folder of them")
    known = problem or find_registered(demonstrations[0].target)
    return ExpertSettings(
        demonstrations=demonstrations,
        config=config or ExpertConfig(),
        env=choose_way(demonstrations[0].env, engine).env,
        cells=DefaultCells() if known is None else known.cells,
        deficit=deficit,
    )


def play_expert(
    demonstrations: Sequence[Demonstration] | str | Path,
    *,
    episodes: int = 31,
    seed: int = 0,
    config: ExpertConfig | None = None,
    engine: EngineWish = "auto",
    workers: int = 1,
    deficit: float = 0.0,
    problem: Any | None = None,
    progress: Callable[[int, Trial], None] = lambda number, trial: None,
) -> Trials:
    """Let the expert play the stochastic game, guided by demonstrations, until it loses a life.

    The expert is a planner: it tries actions out on the simulator before it plays them. Its scores are not
    those of a policy.

    Args:
        demonstrations: What `run.demos()` returned, or a file, a folder of files, or a sample's name.
        episodes: How many to play, each with its own sticky actions and number of no-ops.
        seed: Seed of all draws.
        config: How it plans.
        engine: The emulator of an Atari game.
        workers: Processes that play. The episodes do not depend on their number.
        deficit: Points by which a gain may be smaller than the demonstration's and still count as the same.
        problem: Has to be given for files of a problem from an import path.
        progress: Called with the number of each episode and the episode.

    """
    given = given_problem(problem)
    if isinstance(demonstrations, str | Path):
        demonstrations = find_demonstrations(str(demonstrations), given, verify=False)
    settings = expert_settings(demonstrations, config, engine=engine, deficit=deficit, problem=given)
    return play_trials(settings, episodes, seed=seed, workers=workers, progress=progress)


def rank_by_robustness(
    demonstrations: Sequence[Demonstration],
    *,
    episodes: int,
    least: float = 0.0,
    workers: int = 1,
    problem: Problem | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> list[Demonstration]:
    """Return demonstrations in the order of how robust they are in the stochastic game.

    The expert plays each by itself: first come those with which it reaches the end most often, then those
    with which it goes furthest. Those with which it goes less than a share of the way are left out.
    """
    ranked = []
    for number, each in enumerate(demonstrations):
        settings = expert_settings([each], problem=problem)
        trials = play_trials(settings, episodes, workers=workers)
        progress(
            f"demonstration {number} (score {each.score:,.0f}, {len(each.actions):,} training frames): the "
            f"expert reaches its end in {trials.reached_goal} of {episodes} episodes, and goes "
            f"{trials.progress:.0%} of the way on average"
        )
        if trials.progress >= least:
            ranked.append((trials.reached_goal, trials.progress, -number))
    if not ranked:
        raise ConfigError(
            f"expected a demonstration of which the expert goes at least {least:.0%} of the way, got none of "
            f"{len(demonstrations)}: lower `least_robust`, or take other demonstrations with `take` different"
        )
    return [demonstrations[-number] for _, _, number in sorted(ranked, reverse=True)]
