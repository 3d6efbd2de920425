"""goexplore play-expert: let the planner that teaches policies play."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from goexplore.api import expert_settings, usable_cores
from goexplore.cli._arguments import parse, parse_problem
from goexplore.cli._progress import log, thousands
from goexplore.demos import find_demonstrations
from goexplore.engines import EngineWish
from goexplore.envs import NOWHERE
from goexplore.errors import require_at_least, require_seed
from goexplore.evaluation import share_with_interval
from goexplore.files import output_errors, require_writable
from goexplore.planning import ExpertConfig, Trial, Trials, play_trials
from goexplore.report import check_video, recorded_moments, write_video


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Let the expert play the stochastic game, guided by demonstrations, until it loses a life.

    The expert is a planner with a simulator: it tries actions out before it plays them. What it scores shows
    how robust a demonstration's route is; it is not the score of a policy.
    """

    demonstrations: tyro.conf.Positional[tuple[str, ...]]
    """Files, folders of files, or names of samples such as montezuma-first-key-00. All guide it together."""
    episodes: int = 31
    """How many to play."""
    config: Annotated[ExpertConfig, tyro.conf.arg(name="")] = field(default_factory=ExpertConfig)
    deficit: float = 0.0
    """Points by which a gain may be smaller than the demonstration's and still count as the same, for rewards
    that shrink with time."""
    seed: int = 0
    """Seed of all draws."""
    workers: int = field(default_factory=usable_cores)
    """Number of processes that play. Changes only speed."""
    engine: EngineWish = "auto"
    """The emulator of an Atari game. auto: the native one for games that it is certified for, else ale-py."""
    video: Path | None = None
    """Write the best episode as a video, .mp4 or .gif."""
    problem: str | None = None
    """The problem's import path, such as my_game:Lock, if it is one that no package registers."""


def run_play_expert(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = parse(_Arguments, arguments, prog="goexplore play-expert")
    require_seed(chosen.seed)
    require_at_least("deficit", chosen.deficit, 0)
    require_at_least("episodes", chosen.episodes, 1, 1_000_000)
    if chosen.video is not None:
        check_video(chosen.video, scale=2, name="video")
        require_writable(chosen.video)
    problem = parse_problem(chosen.problem)
    demonstrations = [
        each for name in chosen.demonstrations for each in find_demonstrations(name, problem, verify=False)
    ]
    settings = expert_settings(
        demonstrations, chosen.config, engine=chosen.engine, deficit=chosen.deficit, problem=problem
    )

    def show(number: int, trial: Trial) -> None:
        recording = trial.recording
        where = "" if trial.location == NOWHERE else f" in room {trial.location.room}"
        log(
            f"episode {number + 1} of {chosen.episodes}: {recording.ending}{where}, score "
            f"{thousands(recording.score)}, {trial.progress:.0%} of the way in "
            f"{thousands(recording.training_frames)} training frames"
        )

    trials = play_trials(settings, chosen.episodes, seed=chosen.seed, workers=chosen.workers, progress=show)
    _summarise(trials)
    if chosen.video is not None:
        best = max(trials.episodes, key=lambda trial: (trial.progress, -trial.recording.training_frames))
        with output_errors(chosen.video):
            film = write_video(recorded_moments(settings.env, best.recording), chosen.video)
        print(f"{chosen.video}: {thousands(film.frames)} pictures, score {thousands(film.last.score)}")
    return 0


def _summarise(trials: Trials) -> None:
    episodes = trials.episodes
    share = share_with_interval(trials.reached_goal, len(episodes))
    print(
        f"the expert, a planner with a simulator, came to the demonstrations' end without losing a life in "
        f"{trials.reached_goal} of {len(episodes)} episodes: {share.value:.0%} ({share.low:.0%} to "
        f"{share.high:.0%}); on average {trials.progress:.0%} of the way"
    )
    tried = sum(each.recording.simulated for each in episodes)
    played = sum(each.recording.training_frames for each in episodes)
    print(
        f"mean score {thousands(sum(each.recording.score for each in episodes) / len(episodes))}; "
        f"{thousands(played)} training frames played, {thousands(tried)} tried out"
    )
    lost = Counter(
        each.location.room
        for each in episodes
        if each.recording.ending == "death" and each.location != NOWHERE
    )
    if lost:
        print("lives lost in " + ", ".join(f"room {room}: {count}" for room, count in lost.most_common()))
