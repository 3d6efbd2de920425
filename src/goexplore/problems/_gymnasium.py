"""Any Gymnasium environment as a problem: an id, a factory or an instance is enough."""

from __future__ import annotations

import copy
import importlib
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, ClassVar, get_args

import gymnasium
import numpy as np
from gymnasium.envs.registration import load_env_creator

from goexplore.engines import Engine, EngineWish
from goexplore.envs.gymnasium import WAYS, ActionTable, Draw, GymnasiumEnv, Way, open_simulation
from goexplore.errors import (
    ConfigError,
    EnvironmentContractError,
    ProblemError,
    require_between,
    require_positive,
    require_seed,
    require_whole,
)
from goexplore.exploration import ExplorationConfig
from goexplore.problems._specs import EngineBinding, EnvironmentSpec, path_of

_VERSIONED = re.compile(r"-v\d+$")
"""How ids of Gymnasium end."""

_DEEDS: dict[Way, str] = {
    "state": "puts back its simulator's own state",
    "copies": "keeps copies of it in memory, and replays from the nearest",
    "replay": "replays the actions from a reset with the same seed",
}


@dataclass(frozen=True, kw_only=True)
class Gymnasium(EnvironmentSpec):
    """A Gymnasium environment, with what Gymnasium leaves open."""

    id: str = ""
    """The id that it is registered under; `module:id` imports the module first."""
    factory: Callable[[], Any] | None = None
    """A function without arguments that makes it, in place of the id."""
    seed: int = 0
    """The seed of every `reset`: another seed is another problem."""
    no_op: Any = None
    """The action that does nothing, as `step` takes it. None: what the environment itself calls NOOP, if it
    names its actions; it is never guessed."""
    draw: Draw = "uniform"
    """How actions of a Box are drawn: evenly between its bounds, or Gaussian around their middle."""
    draws: int = 256
    """Actions that are drawn, once for all, where there are too many to number them through."""
    sigma: float = 0.5
    """The standard deviation of Gaussian actions, as a share of half the distance between the bounds."""
    megabytes: int = 256
    """Memory that the copies in one process may take, where it returns by copies."""
    bound_way: ClassVar[Way | None] = None
    """How it returns to states, which `with_engine` sets: no setting, for it is found by playing."""

    def __post_init__(self) -> None:
        if bool(self.id) == (self.factory is not None):
            raise ConfigError(
                f"expected either `id` or `factory`, got {self.id!r} and {self.factory!r}: name one of them"
            )
        require_seed(self.seed)
        require_whole("draws", self.draws, 1)
        require_between("draws", self.draws, 1, 65_536)
        require_positive("sigma", self.sigma)
        require_whole("megabytes", self.megabytes, 1)
        object.__setattr__(self, "no_op", _as_json(self.no_op))
        if self.draw not in get_args(Draw):
            raise ConfigError(f"expected `draw` to be {' or '.join(get_args(Draw))}, got {self.draw!r}")

    def settings(self) -> dict[str, Any]:
        """Return what decides what is found; a factory is written down as its path."""
        settings = super().settings()
        del settings["megabytes"]
        settings["factory"] = None if self.factory is None else path_of(self.factory)
        return settings

    def with_settings(self, settings: dict[str, Any]) -> Gymnasium:
        """Return the same with other settings; a factory must be the one that was written down."""
        mine = self.settings()
        what = ("id", "factory")
        if any(settings.get(name) != mine[name] for name in what):
            theirs, ours = (each.get("factory") or each.get("id") for each in (settings, mine))
            raise ConfigError(
                f"expected {theirs}, as the file says, got {ours}: name the problem that the file was made "
                "with"
            )
        return super().with_settings({**settings, "factory": self.factory})

    @property
    def name(self) -> str:
        """The id without its namespace, or the factory's name."""
        if self.factory is None:
            return self.id.rpartition(":")[2]
        path = path_of(self.factory).partition("(")[0].partition("@")[0].rpartition(":")[2]
        return path.rpartition(".")[2].strip("<>") or "environment"

    @property
    def target(self) -> str:
        """The id, or the factory's import path."""
        return self.id or path_of(self.factory)

    @property
    def engine(self) -> Way:
        """How it returns to states: by replay, which needs nothing, until another way is proven."""
        return self.bound_way or "replay"

    @property
    def engine_version(self) -> str | None:
        """The version of the package that the environment comes from, as far as it is known."""
        spec = gymnasium.registry.get(self.id.rpartition(":")[2])
        entry_point = getattr(spec, "entry_point", None)
        if not isinstance(entry_point, str):
            return None
        package = entry_point.partition(":")[0].partition(".")[0]
        try:
            return f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            return None

    def with_engine(self, wish: EngineWish) -> EngineBinding:
        """Return the environment with a way to return to states: auto leaves it open, until it is proven."""
        if wish == "auto":
            return EngineBinding(self, f"{self.engine}: it {_DEEDS[self.engine]}")
        if wish not in WAYS:
            raise ConfigError(
                f"expected `engine` auto, {', '.join(WAYS[:-1])} or {WAYS[-1]} for {self.name}, which is a "
                f"Gymnasium environment, got {wish}"
            )
        return EngineBinding(self._by(wish), f"{wish}: it {_DEEDS[wish]}")

    def as_explored(self, engine: Engine) -> Gymnasium:
        """Return the environment with the way of a run, whose snapshots are its own."""
        return self._by(engine) if engine in WAYS else self

    def ways(self) -> Sequence[EngineBinding]:
        """Return all ways to return that may work, the fastest first."""
        return [self.with_engine(way) for way in ([self.bound_way] if self.bound_way else WAYS)]

    def _by(self, way: Way) -> Gymnasium:
        bound = copy.copy(self)
        object.__setattr__(bound, "bound_way", way)
        return bound

    def __call__(self) -> GymnasiumEnv:
        """Return a fresh environment, or one that shares its simulator where a process can have only one."""
        key = repr((self.target, self.seed))
        simulation = open_simulation(key, self._make)
        return GymnasiumEnv(
            simulation,
            seed=self.seed,
            way=self.engine,
            actions=partial(
                ActionTable, draw=self.draw, count=self.draws, sigma=self.sigma, no_op=self.no_op
            ),
            copies_bytes=self.megabytes * 2**20,
        )

    def usual_exploration(self) -> ExplorationConfig:
        """Return small batches of short explorations: most of these environments are slow.

        The paper's are for emulators that play a hundred times as fast, four game frames per action.
        """
        return ExplorationConfig(batch_size=20, training_frames=50, repeat_probability=0.7)

    def make_gymnasium(self) -> Any:
        """Return the environment itself."""
        return self._make()

    def _make(self) -> Any:
        if self.factory is None:
            return make_registered(self.id)
        env = self.factory()
        if not isinstance(env, gymnasium.Env):
            raise EnvironmentContractError(
                f"expected a gymnasium.Env from {self.target}, got {type(env).__name__}: return one"
            )
        return env


def _as_json(action: Any) -> Any:
    """Return an action as it is written down: arrays and tuples are lists."""
    if isinstance(action, np.ndarray | np.generic):
        return action.tolist()
    if isinstance(action, tuple | list):
        return [_as_json(each) for each in action]
    if isinstance(action, Mapping):
        return {str(key): _as_json(each) for key, each in action.items()}
    return action


SUITES = {
    "AdroitHand": "gymnasium_robotics",
    "AntMaze_": "gymnasium_robotics",
    "BabyAI-": "minigrid",
    "Fetch": "gymnasium_robotics",
    "FrankaKitchen-": "gymnasium_robotics",
    "HandManipulate": "gymnasium_robotics",
    "HandReach": "gymnasium_robotics",
    "MiniGrid-": "minigrid",
    "MiniHack-": "minihack",
    "NetHack": "nle",
    "PointMaze_": "gymnasium_robotics",
}
"""The packages that register ids with these beginnings, once they are imported."""


def is_gymnasium_id(name: str) -> bool:
    """Return whether a name is an id of Gymnasium: registered, or registered by an installed suite's import.

    An id with a module in front of it (`my_game:Lock-v0`) is one only where that was imported already: a name
    in a file imports nothing but the suites of this list.
    """
    module, _, id = name.rpartition(":")
    if id in gymnasium.registry:
        return not module or module in sys.modules
    if module:
        return False
    suite = next((each for beginning, each in SUITES.items() if id.startswith(beginning)), None)
    if suite is None or not _VERSIONED.search(id) or importlib.util.find_spec(suite) is None:
        return False
    try:
        importlib.import_module(suite)
    except Exception as error:  # whatever a broken installation raises
        raise ProblemError(
            f"expected to import {suite}, which has {id}, got {type(error).__name__}: {error}: reinstall it"
        ) from error
    return id in gymnasium.registry


def missing_suite(name: str) -> str | None:
    """Return the package that would have to be installed for an id, if it is known."""
    suite = next((each for beginning, each in SUITES.items() if name.startswith(beginning)), None)
    return suite if suite is not None and importlib.util.find_spec(suite) is None else None


def make_registered(id: str) -> Any:
    """Make an environment that Gymnasium has registered, with pictures if it offers them."""
    try:
        is_gymnasium_id(id)  # imports the suite
        spec = gymnasium.spec(id.rpartition(":")[2]) if id.rpartition(":")[2] in gymnasium.registry else None
        kind: Any = spec.entry_point if spec is not None else None
        if isinstance(kind, str):
            kind = load_env_creator(kind)
        modes = getattr(kind, "metadata", {}).get("render_modes", ())
        more: dict[str, Any] = {"render_mode": "rgb_array"} if "rgb_array" in modes else {}
        return gymnasium.make(id, disable_env_checker=True, **more)
    except (gymnasium.error.Error, ImportError) as error:
        raise ProblemError(
            f"expected to make the Gymnasium environment {id}, got {' '.join(str(error).split())[:200]}: "
            "check the id, or install what it needs"
        ) from error


class Remade:
    """Makes an environment like one that a user gave, from what Gymnasium notes of how it was made."""

    def __init__(self, env: Any) -> None:
        if env.spec is None or any(each.kwargs is None for each in env.spec.additional_wrappers):
            raise ProblemError(
                "expected an environment that gymnasium.make made, or a function that makes one, got "
                f"{env!r}, which Gymnasium cannot make again: workers need environments of their own"
            )
        self._spec = env.spec
        # Two environments of one id may differ in arguments, wrappers and time limit.
        noted = blake2b(env.spec.to_json().encode(), digest_size=4).hexdigest()
        self.__module__ = "gymnasium"
        self.__qualname__ = f"make({env.spec.id})@{noted}"

    def __call__(self) -> Any:
        """Make it again."""
        return gymnasium.make(self._spec)


def from_instance(env: Any) -> Gymnasium:
    """Return the problem of an environment that a user gave as an object."""
    return Gymnasium(factory=Remade(env))
