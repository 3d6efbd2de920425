"""The protocol: every number of no-ops several times, the mean of the means (paper section 2.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from goexplore.engines import Engine, EngineWish, choose_engine
from goexplore.evaluation._episodes import NO_OP_COUNTS, Episode, EvaluationConfig, play_repetition
from goexplore.evaluation._players import Player

MakePlayer = Callable[[], Player]


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """All episodes, in order."""

    config: EvaluationConfig
    episodes: Sequence[Episode]

    @property
    def score(self) -> float:
        """The policy score: the mean over numbers of no-ops of the mean over their episodes."""
        by_count = [[each.score for each in self.episodes if each.no_ops == count] for count in NO_OP_COUNTS]
        return float(np.mean([np.mean(scores) for scores in by_count]))

    def reached(self, score: float) -> float:
        """Return the share of episodes that have a score."""
        return float(np.mean([each.score >= score for each in self.episodes]))

    def reached_in_first_life(self, score: float) -> float:
        """Return the share of episodes that have a score before a life is lost."""
        return float(np.mean([each.first_life_score >= score for each in self.episodes]))


def evaluate(
    make_player: MakePlayer,
    config: EvaluationConfig,
    *,
    engine: EngineWish = "auto",
    workers: int = 1,
    progress: Callable[[int], None] = lambda repetitions: None,
) -> Evaluation:
    """Let a player play the whole protocol, in worker processes if there are several.

    The episodes are the same for any number of workers. `progress` hears of repetitions that are done.
    """
    choice = choose_engine(make_player().env.name, engine)
    done: dict[int, list[Episode]] = {}
    if workers == 1:
        player = make_player()
        for repetition in range(config.repetitions):
            done[repetition] = play_repetition(player, config, choice.engine, repetition)
            progress(len(done))
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_one_thread) as pool:
            tasks = {
                pool.submit(_play, make_player, config, choice.engine, repetition): repetition
                for repetition in range(config.repetitions)
            }
            for task in as_completed(tasks):
                done[tasks[task]] = task.result()
                progress(len(done))
    return Evaluation(
        config=config, episodes=[each for repetition in sorted(done) for each in done[repetition]]
    )


def _one_thread() -> None:
    import contextlib

    with contextlib.suppress(ImportError):
        import torch

        torch.set_num_threads(1)


def _play(
    make_player: MakePlayer, config: EvaluationConfig, engine: Engine, repetition: int
) -> list[Episode]:
    return play_repetition(make_player(), config, engine, repetition)
