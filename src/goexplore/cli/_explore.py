"""goexplore explore: Phase 1 on one problem."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from dataclasses import dataclass, field, make_dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from goexplore.api import explore
from goexplore.cli._arguments import parse, parse_count
from goexplore.cli._milestones import announcing, search_heights
from goexplore.cli._progress import event_lines, make_reporter, show_search, thousands
from goexplore.demos import SUFFIX
from goexplore.engines import EngineWish
from goexplore.errors import ConfigError, ProblemError, require_at_least
from goexplore.exploration import ExecutorWish, StartMethod
from goexplore.problems import (
    Problem,
    cells_from_text,
    family,
    find_problem,
    import_path,
    problem_names,
)

_LONGEST_SIZE = 40
"""Characters of a size in bytes."""


@dataclass(frozen=True, kw_only=True)
class _Options:
    game_frames: Annotated[str | None, tyro.conf.arg(metavar="N[K|M|B]")] = None
    """Stop after this many game frames of the whole run, such as 60M."""
    minutes: float | None = None
    """Stop after this many minutes of this session."""
    until_level: int | None = None
    """Stop when this level is reached; the first one is level 0."""
    until_score: float | None = None
    """Stop when a trajectory has this score."""
    workers: int | None = None
    """Number of worker processes, or of threads of the native engine. Default: one per core; 0 explores in
    this process, for debugging. With --executor ray, the number for each node. It changes only the speed,
    unless --exploration.batch-size is auto."""
    executor: ExecutorWish = "auto"
    """Where to explore. auto: on this machine; ray: on the nodes of a Ray cluster (docs/cluster.md). Changes
    nothing but speed."""
    ray_address: Annotated[str | None, tyro.conf.arg(metavar="HOST:PORT")] = None
    """The Ray cluster, or auto for one that runs on this machine. Default: the environment variable
    RAY_ADDRESS, or else a cluster of this machine alone, which ends with the search."""
    start_method: StartMethod | None = None
    """How worker processes are started. Default: fork on Linux, else spawn."""
    timeout_seconds: float = 300.0
    """Seconds that one exploration in a worker process may take before the worker is replaced. With
    --executor ray, also how long the search waits if no node is left."""
    objective: Annotated[str | None, tyro.conf.arg(metavar="MODULE:NAME")] = None
    """What counts as better in place of the score: the import path of a function of (observation, info) that
    returns a number."""
    events: Annotated[str | None, tyro.conf.arg(metavar="MODULE:NAME")] = None
    """What to look for: the import path of a mapping from names to functions of (observation, info)."""
    engine: EngineWish = "auto"
    """The emulator of an Atari game. auto: the native one for games that it is certified for, else ale-py."""
    start_from: Annotated[str | None, tyro.conf.arg(name="from", metavar="DEMO")] = None
    """Begin at the end of this demonstration (a file, or a sample's name) instead of in the initial state."""
    seed: int = 0
    """Seed of all draws."""
    run_dir: Path | None = None
    """Where to write. Default: runs/TARGET-seedS, or runs/TARGET-from-DEMO-seedS."""
    resume: bool = False
    """Continue the run in --run-dir from its last checkpoint."""
    checkpoint_minutes: float = 5.0
    """Minutes between checkpoints: what a crash can cost at most."""
    memory_limit: Annotated[str | None, tyro.conf.arg(metavar="BYTES[K|M|G]")] = None
    """Resident memory of all processes, such as 2G (1G is 2^30 bytes). When it nears, a part of the archive
    moves to a file in --run-dir. Changes nothing but speed."""
    on_milestone: Annotated[str | None, tyro.conf.arg(metavar="COMMAND")] = None
    """Shell command to run at a new level, a new best score, a failure and the end. It gets the environment
    variables GOEXPLORE_MILESTONE (what happened), GOEXPLORE_VALUE and GOEXPLORE_RUN."""


def settings_of(problem: Problem) -> dict[str, Any]:
    """Return the parts of a problem that have settings for the command line; users' own code has none."""
    parts: dict[str, Any] = {
        "env": problem.env,
        "cells": problem.cells,
        "selection": problem.selection,
        "exploration": problem.exploration,
    }
    return {
        name: part
        for name, part in parts.items()
        if dataclasses.fields(part) and all(each.kw_only for each in dataclasses.fields(part))
    }


def options_for(base: type[Any], problem: Problem) -> Any:
    """Return a class of options with the settings of a problem, and its defaults."""
    parts = settings_of(problem)
    kind = make_dataclass(
        "_Arguments",
        [(name, type(part), field(kw_only=True)) for name, part in parts.items()],
        bases=(base,),
        frozen=True,
        kw_only=True,
    )
    return kind, kind(**parts)


def with_options(problem: Problem, chosen: Any) -> Problem:
    """Return a problem with the settings that the user chose."""
    parts = {name: getattr(chosen, name) for name in settings_of(problem)}
    return dataclasses.replace(problem, **parts)


_USAGE = """usage: goexplore explore TARGET [options]

TARGET is one of
  a registered problem, such as montezuma-2021 (goexplore explore --list shows all)
  an Atari game, such as ALE/PrivateEye-v5, with dynamic cells
  an import path, such as my_game:Lock: an environment's class, a function that makes one, or a
  goexplore.Problem, in a module on Python's path or in the current folder

`--cells dynamic` or `--cells downscaled` takes these cells for any TARGET with images, in place of its own.
`goexplore explore TARGET --help` lists all options with the values of that TARGET.
"""


def take_cells(problem: Problem, arguments: list[str]) -> tuple[Problem, list[str]]:
    """Return a problem with the cells that `--cells NAME` asks for, and the other arguments.

    It comes before all settings of cells, such as `--cells.width`, because it decides which there are.
    """
    rest, name = list(arguments), None
    for at, argument in enumerate(arguments):
        if argument == "--cells":
            name, rest[at : at + 2] = "".join(arguments[at + 1 : at + 2]), []
        elif argument.startswith("--cells="):
            name, rest[at : at + 1] = argument.partition("=")[2], []
        if name is not None:
            cells = cells_from_text(name)
            return problem if problem.cells.kind == cells.kind else replace(problem, cells=cells), rest
    return problem, rest


def run_explore(arguments: list[str]) -> int:
    """Run the verb."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, end="")
        return 0 if arguments else 2
    if arguments == ["--list"]:
        return _list()
    if arguments[0].startswith("-"):
        raise ConfigError(f"expected TARGET first, got {arguments[0]!r}: see goexplore explore --help")
    target = arguments[0]
    problem, rest = take_cells(find_problem(target), arguments[1:])
    kind, default = options_for(_Options, problem)
    chosen = parse(
        kind,
        rest,
        prog=f"goexplore explore {target}",
        description=f"Explore {problem.env.name} until a limit or Ctrl-C, with the settings of {target!r} "
        f"and {problem.cells.kind} cells (--cells dynamic or --cells downscaled takes others).",
        default=default,
    )
    require_at_least("timeout_seconds", chosen.timeout_seconds, 0, 10_000_000)
    if len(chosen.memory_limit or "") > _LONGEST_SIZE:
        raise ConfigError("expected `memory_limit` to be a size such as 2G, 500M or 1.5G, got a longer text")
    objective = None if chosen.objective is None else import_path(chosen.objective)
    events = None if chosen.events is None else import_path(chosen.events)
    run_dir = chosen.run_dir or _default_run_dir(target, chosen.start_from, chosen.seed)
    with (
        make_reporter(f"{target}, seed {chosen.seed} → {run_dir}", show_search) as shown,
        announcing(shown, chosen.on_milestone, run_dir, search_heights) as reporter,
    ):
        run = explore(
            with_options(problem, chosen),
            objective=objective,
            events=events,
            run_dir=run_dir,
            game_frames=None if chosen.game_frames is None else parse_count(chosen.game_frames),
            minutes=chosen.minutes,
            until_level=chosen.until_level,
            until_score=chosen.until_score,
            seed=chosen.seed,
            workers=chosen.workers,
            executor=chosen.executor,
            ray_address=chosen.ray_address,
            engine=chosen.engine,
            resume=chosen.resume,
            checkpoint_minutes=chosen.checkpoint_minutes,
            reporter=reporter,
            start_method=chosen.start_method,
            timeout_seconds=chosen.timeout_seconds,
            memory_limit=chosen.memory_limit,
            start_from=chosen.start_from,
        )
    status = run.status
    rooms = f", {status.rooms} rooms, level {status.level}" if status.rooms else ""
    ends = f", {thousands(status.ends)} ends of episodes" if status.ends else ""
    print(
        f"{'stopped' if run.interrupted else 'done'}: {thousands(status.game_frames)} game frames, "
        f"{thousands(status.cells)} cells{ends}{rooms}, best score {thousands(status.best_score)} "
        f"(search score, deterministic game)"
    )
    named = ["--problem", target] if ":" in target else []
    for name in ("objective", "events"):
        if getattr(chosen, name) is not None:
            named += [f"--{name}", getattr(chosen, name)]
    look = shlex.join(["goexplore", "info", str(run_dir)])
    check = shlex.join(["goexplore", "verify", str(run_dir), *named])
    for line in event_lines(status.events):
        print(line)
    print(f"run: {run_dir} (look: {look}; check: {check})")
    if run.interrupted:
        again = arguments if "--resume" in arguments else [*arguments, "--resume"]
        print(f"continue with: goexplore explore {shlex.join(again)}", file=sys.stderr)
        return 130
    return 0


def _default_run_dir(target: str, start_from: str | None, seed: int) -> Path:
    start = "" if start_from is None else f"-from-{Path(start_from).name.removesuffix(SUFFIX)}"
    return Path("runs") / f"{file_name(target)}{start}-seed{seed}"


def file_name(target: str) -> str:
    """Return a target as part of a file's name."""
    return target.replace("/", "-").replace(":", "-")


def _list() -> int:
    """Show all registered problems."""
    for name in problem_names():
        try:
            found = family(name)
            if found is not None:
                print(f"{found.prefix + '...':22} {found.description}")
                continue
            problem = find_problem(name)
        except ProblemError as error:  # of one package: the others are there
            print(f"{name:22} cannot be used: {error}")
            continue
        print(f"{name:22} {problem.env.name}, {problem.cells.kind} cells")
    return 0
