"""goexplore video: look at a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Annotated

import tyro

from goexplore.api import find_policy, make_player, play, require_score, usable_cores
from goexplore.archive import Actions
from goexplore.cli._arguments import parse, parse_problem
from goexplore.cli._progress import log, thousands
from goexplore.cli._sources import open_saved_run
from goexplore.demos import find_demonstrations
from goexplore.engines import EngineWish
from goexplore.errors import ConfigError, DemonstrationError, require_at_least
from goexplore.evaluation import EvaluationConfig, PolicyPlayer, default_folder
from goexplore.files import is_folder, output_errors, require_writable
from goexplore.problems import EnvironmentSpec, Problem
from goexplore.report import (
    Film,
    Moment,
    check_video,
    play_episode,
    play_failures,
    play_moments,
    write_video,
)

_SECONDS_BETWEEN_LINES = 5.0


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Render a demonstration, a trajectory of a run, or a policy at play, as MP4 or GIF."""

    source: tyro.conf.Positional[str]
    """A run, a policy or demonstration's file, or a sample's name such as montezuma-first-key-00."""
    out: Path = Path("video.mp4")
    """File to write: .mp4, 60 game frames per second, or .gif."""
    cell: str | None = None
    """For a run: an entry's number, or its cell as in `goexplore cells`. Default: the best trajectory."""
    overlay: bool = True
    """Show score and training frame below the picture."""
    scale: int = 2
    """Video lines per line of the game."""
    speed: int = 1
    """Show every n-th game frame."""
    engine: EngineWish = "auto"
    """The emulator of an Atari game."""
    no_ops: int = 0
    """For a policy: number of no-ops (game frames) at the start."""
    repetition: int = 0
    """For a policy: which of the episodes that `goexplore evaluate` plays with this many no-ops."""
    failures: int = 0
    """For a policy: show how lives end in this many rooms, those in which most do. Plays what `goexplore
    evaluate` plays with the same settings, or takes the episodes that it has kept."""
    workers: int = field(default_factory=usable_cores)
    """For `failures`: number of processes that play."""
    temperature: float = 1.0
    """For a policy: divide its logits by this."""
    problem: str | None = None
    """The problem's import path, such as my_game:Lock, if it is one that no package registers."""
    config: Annotated[EvaluationConfig, tyro.conf.arg(name="")] = field(default_factory=EvaluationConfig)


def run_video(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = parse(_Arguments, arguments, prog="goexplore video")
    check_video(chosen.out, chosen.scale)
    problem = parse_problem(chosen.problem)
    policy = find_policy(chosen.source)
    if policy is not None:
        if chosen.cell is not None:
            raise ConfigError("expected a search for `cell`, got a policy: omit one of them")
        if chosen.failures:
            return _film_failures(problem, chosen)
        return _film_policy(policy, problem, chosen)
    if chosen.failures:
        raise ConfigError(f"expected a policy for `failures`, got {chosen.source}: omit one of them")
    env, actions, score = _trajectory(chosen, problem)
    require_writable(chosen.out)
    moments = play_moments(_bind(env, chosen), actions, every=chosen.speed)
    film = _write(
        moments, chosen, lambda moment: f"{thousands(moment.training_frame)} of {thousands(len(actions))}"
    )
    require_score(score, film.last.score)
    print(
        f"{chosen.out}: {thousands(film.frames)} pictures of {thousands(len(actions))} training frames, "
        f"search score {thousands(score)}"
    )
    return 0


def _trajectory(chosen: _Arguments, problem: Problem | None) -> tuple[EnvironmentSpec, Actions, float]:
    """Return what is played, its actions and its score: of a run's entry, or of a demonstration."""
    if is_folder(chosen.source):
        run = open_saved_run(Path(chosen.source), problem)
        ranked = run.ranked()
        if chosen.cell is None and not ranked:
            raise DemonstrationError(
                f"expected a run that has found something, got {run.path}: explore longer"
            )
        entry = ranked[0] if chosen.cell is None else run.find(chosen.cell)
        return run.problem.env, run.archive.playable(entry), run.archive[entry].score
    if chosen.cell is not None:
        raise ConfigError("expected a run for `cell`, got a demonstration: omit one of them")
    (demonstration,) = find_demonstrations(chosen.source, problem)
    return demonstration.env, demonstration.actions, demonstration.score


def _bind(env: EnvironmentSpec, chosen: _Arguments) -> EnvironmentSpec:
    binding = env.with_engine(chosen.engine)
    log(f"engine: {binding.reason}")
    return binding.env


def _film_policy(file: Path, problem: Problem | None, chosen: _Arguments) -> int:
    require_at_least("no_ops", chosen.no_ops, 0, 10_000)
    require_at_least("repetition", chosen.repetition, 0)
    player = PolicyPlayer(file, temperature=chosen.temperature, problem=problem)
    player.env = _bind(player.env, chosen)
    require_writable(chosen.out)
    moments = play_episode(
        player, chosen.config, no_ops=chosen.no_ops, repetition=chosen.repetition, every=chosen.speed
    )
    film = _write(moments, chosen, lambda moment: thousands(moment.training_frame))
    print(
        f"{chosen.out}: {thousands(film.frames)} pictures of {thousands(film.last.training_frame)} training "
        f"frames, score {thousands(film.last.score)} of one episode of the stochastic game"
    )
    return 0


def _film_failures(problem: Problem | None, chosen: _Arguments) -> int:
    require_at_least("failures", chosen.failures, 1)
    if chosen.no_ops or chosen.repetition:
        raise ConfigError("expected no `no_ops` and `repetition` with `failures`, which chooses: omit them")
    require_writable(chosen.out)
    config, folder = chosen.config, default_folder(chosen.source)
    make, _ = make_player(chosen.source, temperature=chosen.temperature, problem=problem, folder=folder)
    evaluation = play(
        make,
        config,
        folder,
        engine=chosen.engine,
        workers=chosen.workers,
        progress=lambda done: log(f"{done} of {config.episode_count} episodes"),
    )
    player = make()
    player.env = _bind(player.env, chosen)
    shown: list[str] = []
    moments = play_failures(player, evaluation, chosen.failures, every=chosen.speed, progress=shown.append)
    film = _write(moments, chosen, lambda moment: thousands(moment.training_frame))
    print(
        f"{chosen.out}: {thousands(film.frames)} pictures, how a life ended in each of the rooms in which "
        f"most do, of {len(evaluation.episodes)} episodes of the stochastic game"
    )
    for line in shown:
        print(f"  {line}")
    return 0


def _write(moments: Iterator[Moment], chosen: _Arguments, done: Callable[[Moment], str]) -> Film:
    last = monotonic()

    def progress(moment: Moment) -> None:
        nonlocal last
        if monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = monotonic()
            log(f"rendered {done(moment)} training frames")

    with output_errors(chosen.out):
        return write_video(moments, chosen.out, scale=chosen.scale, overlay=chosen.overlay, progress=progress)
