"""goexplore video: look at a trajectory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from goexplore.cli._progress import thousands
from goexplore.demos import Source, find_demonstration
from goexplore.engines import EngineWish, choose_engine
from goexplore.envs import rom_name
from goexplore.errors import ConfigError, DemonstrationError
from goexplore.report import play_moments, write_video
from goexplore.runs import clear_errors


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Render a demonstration, or a trajectory of a run, as MP4 or GIF."""

    source: tyro.conf.Positional[str]
    """A demonstration's file, the name of a sample (`goexplore demos --help` lists them), or a run."""
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
    if Path(chosen.source).is_dir():
        source = Source.open(Path(chosen.source))
        archive = source.archive
        entry = archive[archive.best if chosen.cell is None else source.find(chosen.cell)]
        env, score = source.config.env, entry.standing.score
        actions = archive.trajectory(entry.number)
    else:
        if chosen.cell is not None:
            raise ConfigError("expected a run for --cell, got a demonstration: omit one of them")
        demonstration = find_demonstration(chosen.source)
        env, actions, score = demonstration.env, demonstration.actions, demonstration.score
    engine = choose_engine(rom_name(env.game), chosen.engine).engine
    moments = play_moments(env, actions, engine, every=chosen.speed)
    with clear_errors(chosen.out):
        film = write_video(moments, chosen.out, scale=chosen.scale, overlay=chosen.overlay)
    if film.last.score != score:
        raise DemonstrationError(
            f"expected a score of {score:g}, got {film.last.score:g} on replay: check it with "
            "`goexplore verify`"
        )
    print(
        f"{chosen.out}: {thousands(film.frames)} pictures of {thousands(len(actions))} training frames, "
        f"search score {thousands(score)}"
    )
    return 0
