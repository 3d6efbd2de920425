"""The protocol: every number of no-ops several times, the mean of the means (paper section 2.3)."""

from __future__ import annotations

import contextlib
import hashlib
import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from goexplore.engines import EngineWish
from goexplore.envs import Location
from goexplore.errors import EvaluationError, WorkerError
from goexplore.evaluation._episodes import NO_OP_COUNTS, PARTS, Episode, EvaluationConfig, play_episodes
from goexplore.evaluation._players import Player
from goexplore.evaluation._records import read_episodes, write_episodes
from goexplore.evaluation._statistics import Estimate, mean_with_interval, share_with_interval
from goexplore.files import output_errors
from goexplore.processes import worker_pool

MakePlayer = Callable[[], Player]
"""Makes a player in any process."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """All episodes, in order."""

    config: EvaluationConfig
    episodes: Sequence[Episode]
    has_no_ops: bool = True
    """Whether the environment has an action that does nothing, with which episodes could begin."""

    @property
    def score(self) -> float:
        """The policy score: the mean over numbers of no-ops of the mean over their episodes."""
        by_count = [[each.score for each in self.episodes if each.no_ops == count] for count in NO_OP_COUNTS]
        return float(np.mean([np.mean(scores) for scores in by_count]))

    @property
    def score_with_interval(self) -> Estimate:
        """The policy score with an interval over episodes: of this policy, not of its kind of training."""
        return mean_with_interval([each.score for each in self.episodes])

    def reached(self, score: float) -> Estimate:
        """Return the share of episodes that have a score."""
        return share_with_interval(sum(each.score >= score for each in self.episodes), len(self.episodes))

    def first_lives_reached(self, score: float) -> Estimate:
        """Return the share of first lives that have a score: of episodes, before a life is lost."""
        return share_with_interval(
            sum(each.first_life_score >= score for each in self.episodes), len(self.episodes)
        )

    @property
    def highest_level(self) -> int:
        """The highest level of all episodes, counted from 0; -1 where there are none."""
        return max(each.level for each in self.episodes)

    def reached_level(self, level: int) -> Estimate:
        """Return the share of episodes that came to a level; the first one is 0."""
        return share_with_interval(sum(each.level >= level for each in self.episodes), len(self.episodes))

    def deaths_by_room(self) -> dict[Location, int]:
        """Return how many lives ended in each room, the most first; nothing where there are no rooms."""
        counts = Counter(death.location for each in self.episodes for death in each.deaths if death.room >= 0)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def evaluate(
    make_player: MakePlayer,
    config: EvaluationConfig,
    *,
    engine: EngineWish = "auto",
    workers: int = 1,
    file: Path | None = None,
    progress: Callable[[int], None] = lambda episodes: None,
) -> Evaluation:
    """Let a player play the whole protocol, in worker processes if there are several.

    The episodes are the same for any number of workers. With a `file`, episodes that are in it already are
    not played again, and some are added as soon as they are done: an evaluation can be interrupted and
    resumed. `progress` is called with how many are done.
    """
    player = make_player()
    player.env = player.env.with_engine(engine).env
    settings = describe(player, config)
    done = {} if file is None or not file.exists() else _read(file, settings, config.repetitions)
    progress(sum(map(len, done.values())))
    parts = [(repetition, part) for repetition in range(config.repetitions) for part in range(len(PARTS))]
    missing = [each for each in parts if each not in done]
    if workers > 1 and not _can_be_sent(make_player):
        workers = 1  # a user's own code that has no name which another process could import

    def add(part: _Part, episodes: list[Episode]) -> None:
        done[part] = episodes
        if file is not None:
            with output_errors(file):
                write_episodes(file, _in_order(done), settings)
        progress(sum(map(len, done.values())))

    if workers == 1 or len(missing) < 2:
        with _one_thread():
            for repetition, part in missing:
                episodes = play_episodes(player, config, repetition, PARTS[part])
                add((repetition, part), episodes)
    else:
        play = partial(_play, make_player, config, engine)
        with _pool(min(workers, len(missing))) as pool:
            tasks = {pool.submit(play, *each): each for each in missing}
            for task in as_completed(tasks):
                add(tasks[task], task.result())
    env = player.env()
    has_no_ops = env.no_op is not None
    env.close()
    return Evaluation(config=config, episodes=_in_order(done), has_no_ops=has_no_ops)


def describe(player: Player, config: EvaluationConfig) -> dict[str, Any]:
    """Return everything that decides how the episodes go, but not how many there are."""
    settings = {**player.identity(), **asdict(config)}
    del settings["repetitions"]
    return settings


def digest(settings: dict[str, Any]) -> str:
    """Return a short name for settings: of a file of episodes."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:10]


def whole_repetitions(episodes: Sequence[Episode]) -> list[Episode]:
    """Return the episodes of the repetitions that have all numbers of no-ops: others tell nothing yet."""
    sizes = Counter(each.repetition for each in episodes)
    return [each for each in episodes if sizes[each.repetition] == len(NO_OP_COUNTS)]


_Part: TypeAlias = tuple[int, int]
"""The number of a repetition and of a part of it."""


def _read(file: Path, settings: dict[str, Any], repetitions: int) -> dict[_Part, list[Episode]]:
    episodes, before = read_episodes(file)
    if before != settings:
        raise EvaluationError(
            f"expected an evaluation with the same settings in {file}, got another: choose another file"
        )
    part_of = {count: number for number, part in enumerate(PARTS) for count in part}
    done: dict[_Part, list[Episode]] = {}
    for each in episodes:
        if each.repetition < repetitions:
            done.setdefault((each.repetition, part_of[each.no_ops]), []).append(each)
    return {part: found for part, found in done.items() if len(found) == len(PARTS[part[1]])}


def _in_order(done: dict[_Part, list[Episode]]) -> list[Episode]:
    return [each for part in sorted(done) for each in done[part]]


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Let PyTorch add numbers in one order, whatever the machine: the same episodes everywhere."""
    if find_spec("torch") is None:
        yield
        return
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    try:
        with worker_pool(workers, start_method="spawn") as pool:
            yield pool
    except BrokenProcessPool as error:
        raise WorkerError(
            "expected workers to play on, got one that is gone (out of memory, or killed): run the same "
            "command again, it goes on where it was"
        ) from error


def _play(
    make_player: MakePlayer, config: EvaluationConfig, engine: EngineWish, repetition: int, part: int
) -> list[Episode]:
    player = make_player()
    player.env = player.env.with_engine(engine).env
    with _one_thread():
        return play_episodes(player, config, repetition, PARTS[part])


def _can_be_sent(make_player: MakePlayer) -> bool:
    try:
        pickle.dumps(make_player)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True
