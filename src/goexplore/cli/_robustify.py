"""goexplore robustify: Phase 2 on demonstrations."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import tyro

from goexplore.api import usable_cores
from goexplore.cli._arguments import parse, parse_count, parse_problem
from goexplore.cli._milestones import announcing
from goexplore.cli._progress import duration, log, make_reporter, thousands
from goexplore.demos import find_demonstrations
from goexplore.engines import EngineWish
from goexplore.errors import ConfigError, require_at_least
from goexplore.files import output_errors
from goexplore.report import draw_training

try:
    import torch

    from goexplore.training import (
        BackwardConfig,
        Method,
        RobustifyConfig,
        SearchConfig,
        Teaching,
        TrainingDirectory,
        TrainingLimits,
        TrainingProgress,
        run_training,
        training_preset,
    )
except ModuleNotFoundError as error:
    if error.name not in ("torch", "safetensors"):
        raise
    raise ConfigError(
        f"expected PyTorch and safetensors for training, got an installation without {error.name}: "
        "pip install 'goexplore[train]'"
    ) from error


@dataclass(frozen=True, kw_only=True)
class _Common:
    demonstrations: tyro.conf.Positional[tuple[str, ...]]
    """Files, folders of files, or names of samples such as montezuma-first-key-00. Omit with --resume."""
    run_dir: Path
    """Where to write."""
    method: Method = "search"
    """search: an expert that plans with the simulator plays the stochastic game, a network clones it, and PPO
    goes on from its states. backward: the paper's Backward Algorithm."""
    preset: str = "small"
    """Settings to begin with: small, tiny (for small environments); with --method backward also paper,
    paper-pitfall."""
    minutes: float | None = None
    """Stop after this many minutes of the whole training."""
    training_frames: Annotated[str | None, tyro.conf.arg(metavar="N[K|M|B]")] = None
    """Stop after this many training frames of the whole training, such as 5M."""
    until_success: float | None = None
    """Stop when this share of the last 200 rollouts from the real start succeeded."""
    workers: int | None = None
    """Learning processes on this machine. Default: one per core, or per GPU."""
    env_workers: int | None = None
    """Per learning process: threads for the native engine, or processes for others; 1: just itself.
    Default: one thread per core that it has, if there are 8 environments for each, and no processes."""
    engine: EngineWish = "auto"
    """The emulator of an Atari game. auto: the native one for games that it is certified for, else ale-py."""
    problem: str | None = None
    """The problem's import path, such as my_game:Lock, if it is one that no package registers."""
    resume: bool = False
    """Continue the training in --run-dir from its last checkpoint."""
    checkpoint_minutes: float = 5.0
    """Minutes between checkpoints: what a crash can cost at most."""
    keep_every: Annotated[str, tyro.conf.arg(metavar="N[K|M|B]")] = "250K"
    """Training frames after which another policy is kept, for `goexplore evaluate --choose`."""
    on_milestone: Annotated[str | None, tyro.conf.arg(metavar="COMMAND")] = None
    """Shell command to run each time another tenth of the rollouts from the real start succeeds, at a failure
    and at the end. It gets the environment variables GOEXPLORE_MILESTONE (what happened), GOEXPLORE_VALUE and
    GOEXPLORE_RUN."""


@dataclass(frozen=True, kw_only=True)
class _SearchArguments(_Common):
    config: Annotated[SearchConfig, tyro.conf.arg(name="")]


@dataclass(frozen=True, kw_only=True)
class _BackwardArguments(_Common):
    until_start: int | None = 50
    """Stop when a starting point has stayed within this many training frames of the start for --held."""
    held: Annotated[str, tyro.conf.arg(metavar="N[K|M|B]")] = "2M"
    """Training frames for --until-start, because reaching the start is not mastery yet (paper, figure 5)."""
    config: Annotated[BackwardConfig, tyro.conf.arg(name="")]


_Arguments: TypeAlias = _SearchArguments | _BackwardArguments

_ENOUGH_REAL_STARTS = 100
"""Rollouts from the real start of which the share that succeeds says something."""
_DEFAULT_FRAMES = 8_000_000
"""Training frames of a training by search that was given no limit."""


def run_robustify(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = _parse(arguments)
    problem = parse_problem(chosen.problem)
    demonstrations = [
        each
        for name in chosen.demonstrations
        for each in find_demonstrations(name, problem, verify=False)  # training replays them itself
    ]
    first = os.environ.get("RANK", "0") == "0"
    with (
        _learners(chosen, arguments),
        make_reporter(f"robustify → {chosen.run_dir}", _show) as shown,
        announcing(shown, chosen.on_milestone if first else None, chosen.run_dir, _heights) as reporter,
    ):
        outcome = run_training(
            demonstrations,
            chosen.config,
            run_dir=chosen.run_dir,
            limits=_limits(chosen),
            reporter=reporter,
            engine=chosen.engine,
            env_workers=chosen.env_workers,
            resume=chosen.resume,
            checkpoint_minutes=chosen.checkpoint_minutes,
            keep_every=parse_count(chosen.keep_every, "keep_every"),
            problem=problem,
        )
    if not first:
        return 0
    status, run = outcome.status, chosen.run_dir
    with output_errors(run / "training.png"):
        draw_training(outcome.run.metrics(), run / "training.png")
    print(
        f"{outcome.reason}: {thousands(status.training_frames)} training frames "
        f"({thousands(status.game_frames)} game frames) in {duration(status.seconds)}"
    )
    print(f"policy: {outcome.run.last_policy()} (try it: {_command('evaluate', run, chosen)})")
    print(f"picture: {run / 'training.png'}")
    if outcome.interrupted:
        log(f"continue with: {_command('robustify', '--resume', '--run-dir', run, chosen)}")
        return 130
    return 0


def _heights(progress: TrainingProgress) -> dict[str, float]:
    """Return what a training has risen to: in percent."""
    success, known = progress.real_start_success, len(progress.status.real_starts)
    if success is None or success < 0.1 or known < _ENOUGH_REAL_STARTS:
        return {}
    return {"success": 10.0 * int(10 * success)}


def _parse(arguments: list[str]) -> _Arguments:
    base = _base(arguments)
    given: dict[str, Any] = {"demonstrations": (), "run_dir": tyro.MISSING, "method": base.method}
    default: _Arguments = (
        _SearchArguments(**given, config=base)
        if isinstance(base, SearchConfig)
        else _BackwardArguments(**given, config=base)
    )
    return parse(
        type(default),
        arguments,
        prog="goexplore robustify",
        description="Train a policy that plays the stochastic game from pixels or vectors. Options are those "
        "of the method: add --method backward to see those of the other. Under torchrun, every process takes "
        "part.",
        default=default,
    )


def _limits(chosen: _Arguments) -> TrainingLimits:
    frames = chosen.training_frames
    given: dict[str, Any] = {
        "training_frames": None if frames is None else parse_count(frames, "training_frames"),
        "minutes": chosen.minutes,
        "until_success": chosen.until_success,
    }
    if isinstance(chosen, _BackwardArguments):
        return TrainingLimits(**given, until_start=chosen.until_start, held=parse_count(chosen.held, "held"))
    if all(value is None for value in given.values()):
        given["training_frames"] = _DEFAULT_FRAMES
    return TrainingLimits(**given)


def _command(*words: str | Path | _Arguments) -> str:
    """Return a command that can be copied into a shell; arguments stand for the problem that they name."""
    text = ["goexplore"]
    for word in words:
        if isinstance(word, _Arguments):
            text += [] if word.problem is None else ["--problem", word.problem]
        else:
            text.append(str(word))
    return shlex.join(text)


def _base(arguments: list[str]) -> RobustifyConfig:
    """Return the settings that the other options change: of a preset, or of the training to be resumed."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset")
    parser.add_argument("--method", default=None)
    parser.add_argument("--run-dir", "--run_dir", type=Path)
    parser.add_argument("--resume", action="store_true")
    known, _ = parser.parse_known_args(arguments)
    if known.resume and known.run_dir is not None and known.preset is None and known.method is None:
        return TrainingDirectory.open(known.run_dir).config()
    return training_preset(known.preset or "small", known.method or "search")


@contextlib.contextmanager
def _learners(chosen: _Arguments, arguments: list[str]) -> Iterator[None]:
    """Start the other learning processes of this machine, unless torchrun has started them all."""
    if "WORLD_SIZE" in os.environ:
        _share_cores(int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
        yield
        return
    count = _default_workers(chosen.config.environments) if chosen.workers is None else chosen.workers
    require_at_least("workers", count, 1, 4096)
    chosen.config.environments_of_each(count)
    _share_cores(count)
    if count == 1:
        yield
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    shared |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    command = [sys.executable, "-m", "goexplore", "robustify", *arguments]
    os.environ |= {**shared, "RANK": "0", "LOCAL_RANK": "0"}
    others = [
        subprocess.Popen(
            command,
            env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C reaches the first process only, which tells the others
        )
        for rank in range(1, count)
    ]
    try:
        yield
        for other in others:
            with contextlib.suppress(subprocess.TimeoutExpired):
                other.wait(30)
    finally:
        for other in others:
            other.kill()
            other.wait()
        for name in (*shared, "RANK", "LOCAL_RANK"):
            del os.environ[name]


def _share_cores(processes: int) -> None:
    torch.set_num_threads(max(1, usable_cores() // processes))


def _default_workers(environments: int) -> int:
    most = torch.cuda.device_count() if torch.cuda.is_available() else usable_cores()
    return max(count for count in range(1, max(most, 1) + 1) if environments % count == 0)


def _show(progress: TrainingProgress) -> dict[str, str]:
    status = progress.status
    points, rates = progress.starting_points, progress.success_rates
    shown = {
        "training frames": thousands(status.training_frames),
        "training frames/s": thousands(round(progress.training_frames_per_second)),
    }
    if progress.teaching is not None:
        shown = _show_teaching(progress.teaching) | shown
    else:
        shown |= {
            "starting points": " ".join(map(str, points)),
            "success %": " ".join("-" if rate is None else f"{100 * rate:.0f}" for rate in rates),
        }
    if progress.real_start_success is not None:
        shown["from the real start"] = f"{progress.real_start_success:.1%}"
    if progress.losses is not None:
        shown |= {
            "entropy": f"{progress.losses.entropy:.2f}",
            "value loss": f"{progress.losses.value:.3f}",
            "environments' share": f"{progress.environment_share:.0%}",
        }
    shown["time"] = duration(status.seconds)
    if progress.seconds_left is not None:
        shown["time left"] = duration(progress.seconds_left)
    return shown


def _show_teaching(teaching: Teaching) -> dict[str, str]:
    shown = {
        "now": teaching.activity,
        "expert": f"{teaching.reached_goal} of {teaching.episodes} episodes to the goal, "
        f"{thousands(teaching.simulated)} training frames tried out",
    }
    if teaching.corrections:
        shown["corrections"] = thousands(teaching.corrections)
    if teaching.agreement is not None:
        shown["clone"] = f"{thousands(teaching.cloned)} steps, agrees in {teaching.agreement:.0%}"
    if teaching.success_along_the_way:
        shown["along the way %"] = " ".join(f"{100 * rate:.0f}" for rate in teaching.success_along_the_way)
    return shown
