"""goexplore evaluate: the paper's protocol for a policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import tyro

from goexplore.cli._cores import usable_cores
from goexplore.cli._policies import find_policy
from goexplore.cli._progress import tell, thousands
from goexplore.config import AtariConfig
from goexplore.demos import find_demonstration
from goexplore.engines import EngineWish
from goexplore.evaluation import EvaluationConfig, OpenLoopPlayer, PolicyPlayer, RandomPlayer, evaluate
from goexplore.evaluation._protocol import MakePlayer


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Play the unmodified game from the real start: sticky actions, each number of no-ops from 0 to 30."""

    source: tyro.conf.Positional[str]
    """A training's run directory, a policy's file, a demonstration (open loop), or random:GAME."""
    config: Annotated[EvaluationConfig, tyro.conf.arg(name="")] = field(default_factory=EvaluationConfig)
    sharpness: float = 1.0
    """Of a policy: logits are multiplied by this. Above 1, likely actions get likelier."""
    workers: int = field(default_factory=usable_cores)
    """Processes that play."""
    engine: EngineWish = "auto"
    """The emulator. auto: the native one for games that it is certified for, else ale-py."""


def run_evaluate(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = tyro.cli(_Arguments, prog="goexplore evaluate", args=arguments)
    make, what = _player(chosen)
    config = chosen.config
    evaluation = evaluate(
        make,
        config,
        engine=chosen.engine,
        workers=max(1, min(chosen.workers, config.repetitions)),
        progress=lambda done: tell(f"repetition {done} of {config.repetitions}"),
    )
    episodes = evaluation.episodes
    print(f"{what}: {len(episodes)} episodes with sticky actions {config.stickiness:g} and 0 to 30 no-ops")
    print(f"policy score {thousands(round(evaluation.score, 1))} (mean of the means of 31 numbers of no-ops)")
    if config.until_score is not None:
        print(
            f"{evaluation.reached(config.until_score):.1%} of episodes and "
            f"{evaluation.reached_in_first_life(config.until_score):.1%} of first lives reach "
            f"{config.until_score:g} points; episodes end there"
        )
    capped = sum(each.capped for each in episodes)
    if capped:
        print(f"{capped} episodes were cut after {thousands(config.max_game_frames or 0)} game frames")
    return 0


def _player(chosen: _Arguments) -> tuple[MakePlayer, str]:
    source = chosen.source
    if source.startswith("random:"):
        return partial(RandomPlayer, AtariConfig(game=source.removeprefix("random:"))), "random actions"
    policy = find_policy(source)
    if policy is not None:
        return partial(PolicyPlayer, policy, sharpness=chosen.sharpness), str(policy)
    return partial(OpenLoopPlayer, find_demonstration(source)), f"{source}, open loop"
