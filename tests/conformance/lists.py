"""Everything that claims to keep a contract. A new implementation is one more entry in one of these lists."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from goexplore import _native as native
from goexplore.cells import CellRepresentation, encode
from goexplore.exploration import ExplorationConfig, ProcessExecutor, SerialExecutor, ThreadExecutor
from goexplore.games.two_mazes import TwoMazes, TwoMazesConfig
from goexplore.problems import DownscaledConfig, Grid, Problem, Rendering, find_problem
from tests.fields import Corridor, Field, Lock, itself

HAS_NATIVE = native.atari is not None and not native.is_outdated()
needs_native = pytest.mark.skipif(not HAS_NATIVE, reason="the native engine was not compiled")


def on(name, engine):
    """Return an Atari game's problem on an engine."""
    if engine == "native" and not HAS_NATIVE:
        return None
    return find_problem(name).with_engine(engine)[0]


def atari(*names):
    """Return each game on each engine."""
    return {
        f"{name} on {engine}": (on(name, engine), [needs_native] if engine == "native" else [])
        for name in names
        for engine in ("ale", "native")
    }


def parameters(problems):
    """Return problems by name as a test's parameters."""
    found = {name: each if isinstance(each, tuple) else (each, []) for name, each in problems.items()}
    return [pytest.param(problem, id=name, marks=marks) for name, (problem, marks) in found.items()]


class ColouredMazes(TwoMazes):
    """Observations are red, green and blue."""

    def observation(self):
        return np.repeat(super().observation()[:, :, None], 3, axis=2)


class ToldField(Field):
    """What was taken is said beside the observation."""

    def info(self):
        return {"taken": self.taken}


class Visited(CellRepresentation):
    """The position, and the columns visited so far: what an observation does not show is tracked."""

    def __init__(self):
        self._columns = 0

    def reset(self, observation):
        self._columns = 0
        return self.update(observation)

    def update(self, observation):
        self._columns |= 1 << observation[0]
        return encode((*observation, self._columns))

    def state(self):
        return self._columns.to_bytes(2, "little")

    def restore(self, state):
        self._columns = int.from_bytes(state, "little")


# Environments

ENVIRONMENTS = parameters(
    {
        "two-mazes": find_problem("two-mazes"),
        "two-mazes, 4 game frames per step": Problem(env=TwoMazesConfig(frame_skip=4)),
        "field": Problem(env=Field),
        "corridor": Problem(env=Corridor),
        "lock": Problem(env=Lock),
        **atari("montezuma", "pitfall", "ALE/Freeway-v5"),
    }
)

# Cell representations

CELLS = parameters(
    {
        "downscaled grey": find_problem("two-mazes"),
        "downscaled colours": Problem(env=ColouredMazes, cells=DownscaledConfig(width=10, height=5)),
        "dynamic grey": replace(find_problem("two-mazes"), cells="dynamic"),
        "dynamic colours": Problem(env=ColouredMazes, cells="dynamic"),
        "function": Problem(env=Field, cells=itself),
        "class": Problem(env=Field, cells=Visited),
        "function of info": Problem(env=ToldField, cells=lambda seen, info: (*seen, info["taken"])),
        "grid": Problem(env=ToldField, cells=Grid("observation", size=4)),
        "rendering": Problem(env=TwoMazes, cells=Rendering(width=20, height=15, levels=255)),
        "combination": Problem(env=ToldField, cells=Grid("observation", dims=(0,)) + Visited + Grid("taken")),
        "default for images": Problem(env=TwoMazes),
        "default for numbers": Problem(env=Lock),
        **{f"dynamic palette, {name}": each for name, each in atari("ALE/Freeway-v5").items()},
        **{f"montezuma, {name}": each for name, each in atari("montezuma").items()},
        **{f"pitfall, {name}": each for name, each in atari("pitfall").items()},
    }
)

# Executors: each is made from a factory of kernels

EXECUTORS = {
    "serial": SerialExecutor,
    "one process": partial(ProcessExecutor, workers=1),
    "forked processes": partial(ProcessExecutor, workers=2, start_method="fork"),
    "spawned processes": partial(ProcessExecutor, workers=2, start_method="spawn"),
    "threads": partial(ThreadExecutor, workers=2),
}

# Kernels: each is the factory of kernels of a problem, which that kernel must explore as the reference does


def short(problem):
    """Return a problem with short explorations."""
    return problem and replace(
        problem, exploration=ExplorationConfig(training_frames=30, repeat_probability=0.5, ends="drop")
    )


def python_kernel(problem):
    return partial(Problem.make_python_kernel, problem)


def native_kernel(problem):
    return problem.env.make_kernel(problem.cells, problem.exploration)


KERNELS = [
    # problem, its kernel, and the problem on which Python's kernel is the reference
    pytest.param(Problem(env=Field), python_kernel, Problem(env=Field), id="python, field"),
    pytest.param(Problem(env=Lock), python_kernel, Problem(env=Lock), id="python, lock"),
    *(
        pytest.param(
            short(on(name, engine)),
            make,
            short(on(name, "ale")),
            id=f"{make.__name__.removesuffix('_kernel')}, {name} on {engine}",
            marks=[needs_native] if engine == "native" else [],
        )
        for name in ("montezuma", "pitfall")
        for engine, make in (("ale", python_kernel), ("native", python_kernel), ("native", native_kernel))
    ),
]

# Engines: all play these games alike

ENGINES = ("ale", pytest.param("native", marks=needs_native))
GAMES = (
    "MontezumaRevenge",
    "Pitfall",
    "Freeway",
    "Gravitar",
    "Venture",
    "PrivateEye",
    "Bowling",
    "Centipede",
)
