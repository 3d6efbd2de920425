"""goexplore video: look at a trajectory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from goexplore.cli._policies import find_policy
from goexplore.cli._progress import tell, thousands
from goexplore.cli._sources import open_source
from goexplore.config import EnvConfig
from goexplore.demos import find_demonstration
from goexplore.engines import Engine, EngineWish, choose_engine
from goexplore.errors import ConfigError, DemonstrationError
from goexplore.evaluation import EvaluationConfig, PolicyPlayer
from goexplore.files import is_folder, output_errors, require_writable
from goexplore.report import Film, Moment, check_video, play_episode, play_moments, write_video


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Render a demonstration, a trajectory of a run, or a policy that plays, as MP4 or GIF."""

    source: tyro.conf.Positional[str]
    """A run, a policy or demonstration's file, or a sample's name such as montezuma-first-key-00."""
    out: Path = Path("video.mp4")
    """File to write: .mp4, 60 game frames per second, or .gif."""
    cell: str | None = None
    """Of a run: the number of an entry, or its cell in hexadecimal. Without it: the best."""
    overlay: bool = True
    """Show score and training frame below the picture."""
    scale: int = 2
    """Video lines per line of the game."""
    speed: int = 1
    """Show every n-th game frame."""
    engine: EngineWish = "auto"
    """The emulator that plays."""
    no_ops: int = 0
    """Of a policy: game frames of doing nothing at the start."""
    repetition: int = 0
    """Of a policy: which of the episodes of `goexplore evaluate` with that many no-ops."""
    sharpness: float = 1.0
    """Of a policy: logits are multiplied by this."""
    config: Annotated[EvaluationConfig, tyro.conf.arg(name="")] = field(default_factory=EvaluationConfig)


def run_video(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = tyro.cli(_Arguments, prog="goexplore video", args=arguments)
    check_video(chosen.out, chosen.scale)
    policy = find_policy(chosen.source)
    if policy is not None:
        if chosen.cell is not None:
            raise ConfigError("expected a search for --cell, got a policy: omit one of them")
        return _film_policy(policy, chosen)
    if is_folder(chosen.source):
        source = open_source(Path(chosen.source))
        archive, ranked = source.archive, source.ranked()
        if chosen.cell is None and not ranked:
            raise DemonstrationError(
                f"expected a run that has found something, got {source.path}: explore longer"
            )
        entry = archive[ranked[0] if chosen.cell is None else source.find(chosen.cell)]
        env, score = source.config.env, entry.standing.score
        actions = archive.trajectory(entry.number)
    else:
        if chosen.cell is not None:
            raise ConfigError("expected a run for --cell, got a demonstration: omit one of them")
        demonstration = find_demonstration(chosen.source)
        env, actions, score = demonstration.env, demonstration.actions, demonstration.score
    require_writable(chosen.out)
    engine = _choose_engine(env, chosen)
    moments = _require_score(play_moments(env, actions, engine, every=chosen.speed), score)
    film = _write(moments, chosen)
    print(
        f"{chosen.out}: {thousands(film.frames)} pictures of {thousands(len(actions))} training frames, "
        f"search score {thousands(score)}"
    )
    return 0


def _choose_engine(env: EnvConfig, chosen: _Arguments) -> Engine:
    choice = choose_engine(env.name, chosen.engine)
    tell(f"engine: {choice.reason}")
    return choice.engine


def _film_policy(file: Path, chosen: _Arguments) -> int:
    if chosen.no_ops < 0 or chosen.repetition < 0:
        raise ConfigError(
            f"expected --no-ops and --repetition to be 0 or more, got {chosen.no_ops} and "
            f"{chosen.repetition}: change them"
        )
    player = PolicyPlayer(file, sharpness=chosen.sharpness)
    require_writable(chosen.out)
    moments = play_episode(
        player,
        chosen.config,
        _choose_engine(player.env, chosen),
        no_ops=chosen.no_ops,
        repetition=chosen.repetition,
        every=chosen.speed,
    )
    film = _write(moments, chosen)
    print(
        f"{chosen.out}: {thousands(film.frames)} pictures of {thousands(film.last.training_frame)} training "
        f"frames, score {thousands(film.last.score)} of one episode of the stochastic game"
    )
    return 0


def _write(moments: Iterator[Moment], chosen: _Arguments) -> Film:
    with output_errors(chosen.out):
        return write_video(moments, chosen.out, scale=chosen.scale, overlay=chosen.overlay)


def _require_score(moments: Iterator[Moment], score: float) -> Iterator[Moment]:
    """Pass on a trajectory; refuse it where its end is not what was claimed."""
    for moment in moments:
        yield moment
    if moment.score != score:
        raise DemonstrationError(
            f"expected a score of {score:g}, got {moment.score:g} on replay: check it with `goexplore verify`"
        )
