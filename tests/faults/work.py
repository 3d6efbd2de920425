"""A search or a training in a process of its own, with checkpoints and metrics as often as can be.

`python -m tests.faults.work PROBLEM RUN GAME_FRAMES WORKERS [RAY_ADDRESS]` begins a search or goes on with
it; `... train RUN TRAINING_FRAMES` a training by search in the two mazes. "limited" before a problem's name
puts the search at its memory limit all the time. Errors are one line, as on the command line.
"""

import dataclasses
import sys
import time
from pathlib import Path

from goexplore.errors import GoExploreError
from goexplore.problems import FactorySpec, find_problem
from goexplore.runs import Limits, is_started, run_search
from tests.faults.crashing import Crashing, Slow

OFTEN = 0.002
"""Minutes between checkpoints."""
SILENCE = 4.0
"""Seconds after which a worker that does not answer is replaced."""


class Reporter:
    """Prints what happens."""

    def progress(self, progress):
        pass

    def log(self, line):
        print(line, flush=True)


def turn_back_the_clock():
    """Let the time of day go back by an hour whenever somebody looks."""
    real, looks = time.time, iter(range(10**9))
    time.time = lambda: real() - 3600.0 * next(looks)


UNUSUAL = {"crashing": Crashing, "slow": Slow}
"""Environments in which a search finds what it finds in the two mazes."""


LIMIT = 2**30


def stay_at_the_limit():
    """Let the memory look as if it were at the limit: what can leave it does, all the time."""
    from goexplore.runs import _search_session

    _search_session.ResidentMemory.__call__ = lambda self: LIMIT


def search(name, run, game_frames, workers, ray_address=None):
    limited, name = name.startswith("limited "), name.removeprefix("limited ")
    if limited:
        stay_at_the_limit()
    if name == "clock":
        turn_back_the_clock()
    two_mazes = find_problem("two-mazes")
    if name in UNUSUAL:
        # The same archive as in the two mazes: equal settings of everything else.
        problem = dataclasses.replace(two_mazes, env=FactorySpec(UNUSUAL[name]))
    else:
        problem = two_mazes if name == "clock" else find_problem(name)
    run_search(
        problem,
        run_dir=run,
        limits=Limits(game_frames=int(game_frames)),
        workers=int(workers) or None,
        resume=is_started(run),
        checkpoint_minutes=OFTEN,
        metrics_of_every_batch=True,
        timeout_seconds=SILENCE,
        executor="auto" if ray_address is None else "ray",
        ray_address=ray_address,
        reporter=Reporter(),
        memory_limit=LIMIT if limited else None,
    )


def train(run, training_frames):
    from goexplore.training import TrainingLimits, run_training, training_preset
    from tests.training.mazes import demonstrate

    tiny = training_preset("tiny")
    config = dataclasses.replace(
        tiny, environments=8, episodes=6, cloning=dataclasses.replace(tiny.cloning, steps=100)
    )
    resume = is_started(run)
    run_training(
        () if resume else [demonstrate()],
        config,
        run_dir=run,
        limits=TrainingLimits(training_frames=int(training_frames)),
        resume=resume,
        checkpoint_minutes=OFTEN,
        reporter=Reporter(),
    )


def main():
    name, run, *rest = sys.argv[1:]
    try:
        train(Path(run), *rest) if name == "train" else search(name, Path(run), *rest)
    except GoExploreError as error:
        print(f"told: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
