"""Many episodes of the expert, in several processes: how robust is what demonstrations show?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from goexplore.demos import Demonstration
from goexplore.envs import Location
from goexplore.errors import WorkerError, require_at_least
from goexplore.planning._episode import ExpertPlayer
from goexplore.planning._expert import ExpertConfig
from goexplore.planning._guided_game import guide
from goexplore.planning._recording import Recording
from goexplore.problems import CellsSpec, EnvironmentSpec
from goexplore.processes import worker_pool
from goexplore.random import stream_state


@dataclass(frozen=True, kw_only=True)
class Trial:
    """An episode of the expert."""

    recording: Recording
    progress: float
    """How far it came, as a share of the way of the demonstrations."""
    location: Location
    """Where it ended."""


@dataclass(frozen=True, kw_only=True)
class Trials:
    """Episodes of the expert with the same demonstrations."""

    episodes: Sequence[Trial]

    @property
    def reached_goal(self) -> int:
        """Episodes that came as far as the demonstrations, without losing a life."""
        return sum(each.recording.ending == "goal" for each in self.episodes)

    @property
    def progress(self) -> float:
        """The mean progress."""
        return sum(each.progress for each in self.episodes) / len(self.episodes)


@dataclass(frozen=True, kw_only=True)
class ExpertSettings:
    """What it takes to make an expert in any process."""

    demonstrations: Sequence[Demonstration]
    config: ExpertConfig
    env: EnvironmentSpec
    cells: CellsSpec
    deficit: float = 0.0

    def make(self) -> ExpertPlayer:
        """Return a player."""
        make_game = guide(self.demonstrations, self.env, self.cells, deficit=self.deficit)
        return ExpertPlayer(make_game, self.config)


_players: dict[int, ExpertPlayer] = {}
"""Of a worker process: it has one."""


def _begin(settings: ExpertSettings) -> None:
    _players[0] = settings.make()


def _play(seed: int) -> Trial:
    return play_trial(_players[0], seed)


def play_trial(player: ExpertPlayer, seed: int) -> Trial:
    """Play an episode."""
    recording = player.play(seed)
    return Trial(
        recording=recording,
        progress=player.game.progress / player.reference.goal,
        location=player.game.game.location(),
    )


def play_trials(
    settings: ExpertSettings,
    count: int,
    *,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int, Trial], None] = lambda number, trial: None,
) -> Trials:
    """Let the expert play so many episodes; the same ones whatever the number of workers."""
    require_at_least("episodes", count, 1)
    require_at_least("workers", workers, 1, 4096)
    seeds = [stream_state(seed, number) for number in range(count)]
    trials = []
    for number, trial in enumerate(_played(settings, seeds, workers)):
        progress(number, trial)
        trials.append(trial)
    return Trials(episodes=trials)


def _played(settings: ExpertSettings, seeds: list[int], workers: int) -> Iterator[Trial]:
    if workers == 1:
        player = settings.make()
        for seed in seeds:
            yield play_trial(player, seed)
        return
    try:
        with worker_pool(
            min(workers, len(seeds)), start_method="fork", begin=_begin, arguments=(settings,)
        ) as pool:
            yield from pool.map(_play, seeds)
    except BrokenProcessPool as error:
        raise WorkerError(
            "expected worker processes to go on, got one that is gone (out of memory or killed): start again "
            "with fewer `workers`"
        ) from error
