"""goexplore certify: the native engine against ale-py, in lock step."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Annotated

import tyro

from goexplore.api import usable_cores
from goexplore.cli._arguments import parse, parse_count
from goexplore.cli._progress import thousands
from goexplore.engines import (
    Certificate,
    certify,
    distrust,
    distrust_file,
    is_distrusted,
    require_compiled,
)
from goexplore.envs import action_numbers, rom_name, why_interpreted
from goexplore.errors import ConfigError, require_at_least, require_seed
from goexplore.games import AtariGame, certificate, facts
from goexplore.runs import SearchDirectory

_SECONDS_BETWEEN_LINES = 30.0


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """Play a game on the native engine and on ale-py, and compare them frame by frame."""

    game: tyro.conf.Positional[str]
    """Gymnasium id or ROM name."""
    runs: tuple[Path, ...] = ()
    """Run directories of this game, whose trajectories are played. Without any, play is random."""
    game_frames: Annotated[str, tyro.conf.arg(metavar="N[K|M|B]")] = "1M"
    """Game frames to compare."""
    seed: int = 0
    """Seed of the random play."""
    workers: int = field(default_factory=usable_cores)
    """Processes."""


def run_certify(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = parse(_Arguments, arguments, prog="goexplore certify")
    rom = rom_name(chosen.game)
    game_frames = parse_count(chosen.game_frames)
    require_at_least("game_frames", game_frames, 1)
    require_at_least("workers", chosen.workers, 1, 4096)
    require_seed(chosen.seed)
    require_compiled()
    archives, actions = [], set[bytes]()
    for path in chosen.runs:
        directory = SearchDirectory.open(path)
        env = directory.problem().env
        if not isinstance(env, AtariGame) or env.name != rom or env.frame_skip != 4:
            raise ConfigError(f"expected a run of {rom} with frame skip 4, got {path}: omit it")
        archives.append(directory.last_checkpoint().archive)
        actions.add(action_numbers(rom, full=env.full_action_set))
    if len(actions) > 1:
        raise ConfigError("expected runs with one set of actions, got several: certify them one by one")
    live, last = sys.stderr.isatty(), monotonic()

    def progress(done: int) -> None:
        nonlocal last
        if live:
            print(f"\rcompared {thousands(done)} game frames", end="", file=sys.stderr)
        elif monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = monotonic()
            print(f"compared {thousands(done)} game frames", file=sys.stderr, flush=True)

    result = certify(
        rom,
        facts(rom),
        archives,
        actions.pop() if actions else action_numbers(rom, full=True),
        game_frames=game_frames,
        workers=chosen.workers,
        seed=chosen.seed,
        progress=progress,
    )
    if live:
        print(file=sys.stderr)
    rooms = f", {len(result.locations)} rooms of all levels" if result.locations else ""
    print(
        f"{rom} ({result.md5}), engine {result.version}, "
        f"{'translated' if result.translated else 'interpreted'}: "
        f"{thousands(result.game_frames)} game frames compared, "
        f"{thousands(result.trajectory_game_frames)} of them on {thousands(result.trajectories)} "
        f"trajectories{rooms}: memory, lives and reward at each, the screen at every fourth"
    )
    for difference in result.differences:
        print(f"difference: {difference}")
    if result.differences:
        file = distrust(rom, f"certify: {result.differences[0]}")
        print(f"the native engine is not used for {rom} on this machine any more: {file} says why")
        return 1
    if is_distrusted(rom):
        print(f"the native engine was seen to differ before and is still not used: see {distrust_file(rom)}")
    before = certificate(rom)
    if before is not None and (before.md5, before.version) == (result.md5, result.version):
        print(f"no difference; certified before with {thousands(before.game_frames)} game frames")
    elif not result.translated:
        reason = why_interpreted(rom)
        print(f"no difference, but no certificate: the ROM was interpreted, translate it too: {reason}")
    else:
        proof = Certificate(result.md5, result.version, result.game_frames)
        print(f"no difference; for goexplore/games/{rom}: CERTIFICATE = {proof}")
    return 0
