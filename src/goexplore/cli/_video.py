"""goexplore video: look at a trajectory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tyro

from goexplore.cli._progress import thousands
from goexplore.cli._sources import open_source
from goexplore.demos import find_demonstration
from goexplore.engines import EngineWish, choose_engine
from goexplore.errors import ConfigError, DemonstrationError
from goexplore.files import is_folder, output_errors, require_writable
from goexplore.report import Moment, check_video, play_moments, write_video


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Render a demonstration, or a trajectory of a run, as MP4 or GIF."""

    source: tyro.conf.Positional[str]
    """A run, a demonstration's file, or the name of a sample such as montezuma-first-key-00."""
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


def run_video(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = tyro.cli(_Arguments, prog="goexplore video", args=arguments)
    check_video(chosen.out, chosen.scale)
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
    engine = choose_engine(env.name, chosen.engine).engine
    moments = _require_score(play_moments(env, actions, engine, every=chosen.speed), score)
    with output_errors(chosen.out):
        film = write_video(moments, chosen.out, scale=chosen.scale, overlay=chosen.overlay)
    print(
        f"{chosen.out}: {thousands(film.frames)} pictures of {thousands(len(actions))} training frames, "
        f"search score {thousands(score)}"
    )
    return 0


def _require_score(moments: Iterator[Moment], score: float) -> Iterator[Moment]:
    """Pass on a trajectory; refuse it where its end is not what was claimed."""
    for moment in moments:
        yield moment
    if moment.score != score:
        raise DemonstrationError(
            f"expected a score of {score:g}, got {moment.score:g} on replay: check it with `goexplore verify`"
        )
