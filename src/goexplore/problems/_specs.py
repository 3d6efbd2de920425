"""The two halves of a problem, each as something that can be made in any process and written down.

Settings that come with goexplore are frozen dataclasses: they become options of the command line and values
in config.json. A user's own class or function is wrapped, and written down as the path it has in its module.
"""

from __future__ import annotations

import copy
import dataclasses
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from goexplore.cells import (
    PAPER_DOWNSCALING,
    CellRepresentation,
    CombinedCells,
    DownscaledCells,
    Downscaling,
    DynamicCells,
    FunctionCells,
)
from goexplore.engines import Engine, EngineWish
from goexplore.envs import Environment
from goexplore.errors import (
    ConfigError,
    EnvironmentContractError,
    ProblemError,
    require_at_least,
    require_between,
    require_whole,
)
from goexplore.exploration import ExplorationConfig, KernelFactory, RevisionPlan

Spec = TypeVar("Spec", bound="_Spec")


class _Spec:
    """Something that can be written down as JSON values."""

    def settings(self) -> dict[str, Any]:
        """Return what decides what is made, as JSON values."""
        return {
            each.name: getattr(self, each.name)
            for each in dataclasses.fields(self)  # type: ignore[arg-type]
        }

    def with_settings(self: Spec, settings: dict[str, Any]) -> Spec:
        """Return the same with other settings, as `settings` returned them."""
        try:
            return dataclasses.replace(self, **settings)  # type: ignore[type-var]
        except TypeError as error:
            if "path" in settings:
                raise ProblemError(
                    f"expected {settings['path']}, which the file was made with, got a problem without it: "
                    "name the goexplore.Problem that has it, as `problem`"
                ) from error
            raise ConfigError(
                f"expected the settings of {type(self).__name__}, got something else ({error}): use the "
                "version of goexplore that wrote them"
            ) from error


@dataclass(frozen=True)
class EngineBinding:
    """An environment with the engine that will play it, and why that one."""

    env: EnvironmentSpec
    reason: str


class EnvironmentSpec(_Spec, ABC):
    """Makes environments. An environment with a choice of engines overrides what is said of engines here."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What is played: equal for all ways to play it. Files are named by it."""

    @property
    @abstractmethod
    def target(self) -> str:
        """What finds this environment again, as `goexplore explore` takes it."""

    @abstractmethod
    def __call__(self) -> Environment:
        """Return a fresh environment."""

    def played(self) -> dict[str, Any]:
        """Return what is played, as JSON values: equal where a trajectory can be the same."""
        return {**self.settings(), "game": self.name, "episode_end": None}  # whatever ends an episode

    @property
    def engine(self) -> Engine:
        """The engine that plays: whose snapshots they are."""
        return "python"

    @property
    def engine_version(self) -> str | None:
        """The version of that engine, where snapshots depend on it."""
        return None

    def with_engine(self, wish: EngineWish) -> EngineBinding:
        """Return the environment on an engine."""
        if wish not in ("auto", "python"):
            raise ConfigError(
                f"expected `engine` auto for {self.name}, which is played by its own Python code, got "
                f"{wish}: only Atari games have a choice"
            )
        return EngineBinding(self, f"Python: {self.name} plays itself")

    def ways(self) -> Sequence[EngineBinding]:
        """Return the ways to play it, the best first: the first that keeps the contract is used."""
        return [self.with_engine("auto")]

    def as_explored(self, engine: Engine) -> EnvironmentSpec:
        """Return the environment on the engine of a run, even if that one cannot be chosen any more."""
        return self

    def reference(self) -> EnvironmentSpec:
        """Return the environment on the engine that is right by definition: what verification replays on."""
        return self

    def distrust(self, reason: str) -> str | None:
        """Stop the use of an engine that differs from the reference; return what to tell people."""
        return None

    def make_kernel(self, cells: CellsSpec, exploration: ExplorationConfig) -> KernelFactory | None:
        """Return what makes a faster kernel than Python's with the same result, if there is one."""
        return None

    def make_gymnasium(self) -> Any | None:
        """Return the same environment as Gymnasium knows it, for datasets, or None where it does not."""
        return None

    def usual_exploration(self) -> ExplorationConfig:
        """Return how to explore it where nobody says otherwise."""
        return ExplorationConfig()

    def warnings(self) -> list[str]:
        """Return what the user should know before a long search."""
        return []


class CellsSpec(_Spec, ABC):
    """Makes cell representations. `one + other` makes cells that differ wherever one of the two differs."""

    kind: str
    """A short name for reports."""

    @abstractmethod
    def __call__(self, env: Environment) -> CellRepresentation:
        """Return a fresh cell representation for the observations of an environment."""

    def native_settings(self) -> dict[str, Any] | None:
        """Return these cells in the native kernel's terms, or None where it does not know them."""
        return None

    def text(self) -> str:
        """Return these cells as people write them, such as `downscaled(width=11, height=8, levels=8)`."""
        given = ", ".join(f"{name}={value}" for name, value in self.settings().items() if name != "kind")
        return f"{self.kind}({given})" if given else self.kind

    def __add__(self, other: CellsSpec | Callable[..., Any]) -> Combination:
        """Return the combination of these cells and others, or those of a function."""
        return Combination((self, as_cells(other)))

    def __radd__(self, other: Callable[..., Any]) -> Combination:
        """Return the combination of a function's cells and these."""
        return Combination((as_cells(other), self))

    def revised(self, downscaling: Downscaling) -> CellsSpec:
        """Return these cells with the parameters that a search found: only dynamic cells have such."""
        return self

    def revision_plan(self) -> RevisionPlan | None:
        """Return when and how a search revises these cells, if they are dynamic."""
        return None


@dataclass(frozen=True, kw_only=True)
class DownscaledConfig(CellsSpec):
    """Cells without domain knowledge: the downscaled frame (section 2.1.1, table 1)."""

    kind = "downscaled"
    width: int = 11
    """Values per row."""
    height: int = 8
    """Rows."""
    levels: int = 8
    """The highest intensity: values run from 0 to this."""

    def __post_init__(self) -> None:
        require_at_least("width", self.width, 1, 10_000)
        require_at_least("height", self.height, 1, 10_000)
        require_between("levels", self.levels, 1, 255)

    def __call__(self, env: Environment) -> DownscaledCells:
        """Return downscaled cells, with the environment's palette."""
        return DownscaledCells(width=self.width, height=self.height, levels=self.levels, palette=env.palette)

    def native_settings(self) -> dict[str, Any]:
        """Return the native kernel's terms."""
        return {
            "cells": self.kind,
            "cell_width": self.width,
            "cell_height": self.height,
            "levels": self.levels,
        }


@dataclass(frozen=True, kw_only=True)
class DynamicConfig(CellsSpec):
    """Cells without domain knowledge: downscaled frames, their resolution found on the way (follow-up)."""

    kind = "dynamic"
    bound: ClassVar[Downscaling] = PAPER_DOWNSCALING
    """The parameters of now, which `revised` sets: no setting, for the search finds them."""
    target_share: float = 0.125
    """How many cells the different frames of a sample should fall into, as a share of their number."""
    sample_frames: int = 10_000
    """Frames of the search by which parameters are compared: the newest different ones, of which each
    exploration gives one (the follow-up's number)."""
    draws: int = 300
    """Parameters that a revision tries."""
    first_revision: int = 500_000
    """Game frames at which cells are revised for the first time, from the paper's 11 x 8 x 8; then at twice
    as many, four times as many, and so on."""

    def __post_init__(self) -> None:
        require_between("target_share", self.target_share, 0.001, 1)
        require_whole("sample_frames", self.sample_frames, 1, 1_000_000)
        require_whole("draws", self.draws, 0, 1_000_000)
        require_whole("first_revision", self.first_revision, 1)

    def __call__(self, env: Environment) -> DynamicCells:
        """Return dynamic cells, with the environment's palette."""
        return DynamicCells(downscaling=self.bound, palette=env.palette)

    def native_settings(self) -> dict[str, Any]:
        """Return the native kernel's terms."""
        width, height, levels = self.bound
        return {"cells": self.kind, "cell_width": width, "cell_height": height, "levels": levels}

    def revised(self, downscaling: Downscaling) -> DynamicConfig:
        """Return the same cells with other parameters."""
        return _bind(self, downscaling)

    def revision_plan(self) -> RevisionPlan:
        """Return when and how a search revises these cells."""
        return RevisionPlan(
            first=self.first_revision,
            frames=self.sample_frames,
            target_share=self.target_share,
            draws=self.draws,
        )


Bound = TypeVar("Bound", bound="DynamicConfig | DefaultCells")


def _bind(spec: Bound, downscaling: Downscaling) -> Bound:
    bound = copy.copy(spec)
    object.__setattr__(bound, "bound", Downscaling(*downscaling))
    return bound


NAMED_CELLS: dict[str, DownscaledConfig | DynamicConfig] = {
    each.kind: each for each in (DownscaledConfig(), DynamicConfig())
}
"""Cells that any problem with images can have, by the names that `explore` and the command line take."""


def path_of(thing: Any) -> str:
    """Return the import path of a class, a function or an instance, such as `my_game:Lock`."""
    if isinstance(getattr(thing, "func", None), Callable):  # type: ignore[arg-type]
        given = [*map(repr, thing.args), *(f"{name}={value!r}" for name, value in thing.keywords.items())]
        return f"{path_of(thing.func)}({', '.join(given)})"  # functools.partial
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    module = getattr(named, "__module__", None) or "?"
    path = f"{_importable(module)}:{named.__qualname__}"
    code = getattr(named, "__code__", None)
    # A function without a name of its own is known by what it does: another one would mix two kinds of cells.
    return f"{path}@{_code_digest(code, named)}" if code is not None and "<" in path else path


def _importable(module: str) -> str:
    """Return the name that another program imports a module by: a script's own name, not `__main__`."""
    if module != "__main__":
        return module
    main = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    return str(spec.name) if spec is not None else Path(file).stem if file else module


def _code_digest(code: Any, function: Any) -> str:
    """Return a short digest of a function's code, its constants, and its plain values from outside."""
    outside = [cell.cell_contents for cell in function.__closure__ or ()] + [*(function.__defaults__ or ())]
    parts = [_constant(code), *(_constant(each) for each in outside)]
    return blake2b(repr(parts).encode(), digest_size=4).hexdigest()


def _constant(value: Any) -> Any:
    """Return what stands for a value in a digest: the same in every process."""
    if hasattr(value, "co_code"):
        return value.co_code, value.co_names, [_constant(each) for each in value.co_consts]
    if isinstance(value, set | frozenset):
        return "set", sorted(map(repr, map(_constant, value)))
    if isinstance(value, tuple | list):
        return [_constant(each) for each in value]
    if isinstance(value, dict):
        return "dict", [(_constant(key), _constant(each)) for key, each in value.items()]
    return value if isinstance(value, bool | int | float | str | bytes) else type(value).__qualname__


class _Wrapped(_Spec):
    """Written down as an import path, which nothing is ever imported by."""

    path: str

    def settings(self) -> dict[str, Any]:
        """Return where the object was defined."""
        return {"path": self.path}

    def with_settings(self: Spec, settings: dict[str, Any]) -> Spec:
        """Return the same, if it is the same."""
        mine = self.settings()
        if settings != mine:
            raise ConfigError(
                f"expected {settings.get('path', settings)}, as the file says, got {mine['path']}: name the "
                "problem that the file was made with"
            )
        return self


@dataclass(frozen=True)
class FactorySpec(_Wrapped, EnvironmentSpec):
    """A user's class or function that makes environments."""

    factory: Callable[[], Environment]
    path: str = ""

    def __post_init__(self) -> None:
        if not callable(self.factory):
            raise ConfigError(
                f"expected an environment's class or a function that makes one, got {self.factory!r}: "
                "workers need environments of their own"
            )
        if not self.path:
            object.__setattr__(self, "path", path_of(self.factory))

    @property
    def name(self) -> str:
        """The name of the class or function."""
        path = (
            self.path.partition("(")[0].partition("@")[0].rpartition(":")[2]
        )  # without arguments and digest
        return path.rpartition(".")[2].strip("<>") or "environment"

    @property
    def target(self) -> str:
        """Its import path."""
        return self.path

    def __call__(self) -> Environment:
        """Call the factory."""
        env = self.factory()
        if not isinstance(env, Environment):
            raise EnvironmentContractError(
                f"expected a goexplore.Environment from {self.path}, got {type(env).__name__}: derive from it"
            )
        return env


@dataclass(frozen=True)
class FunctionCellsSpec(_Wrapped, CellsSpec):
    """A user's cell function, or class of cell representations."""

    function: Callable[..., Any]
    path: str = ""
    kind = "function"

    def __post_init__(self) -> None:
        if isinstance(self.function, CellRepresentation):
            raise ConfigError(
                f"expected a class of cell representations, got an object of {type(self.function).__name__}: "
                "every worker needs its own, so give the class, or functools.partial(class, ...)"
            )
        if not callable(self.function):
            raise ConfigError(
                "expected a function of the observation, a class of cell representations, or cells such as "
                f'goexplore.Grid("x", "y", size=16), got {self.function!r}'
            )
        if not self.path:
            object.__setattr__(self, "path", path_of(self.function))

    def text(self) -> str:
        """Return the import path."""
        return self.path

    def __call__(self, env: Environment) -> CellRepresentation:
        """Return cells from the function, or of the class."""
        made = getattr(self.function, "func", self.function)  # what a functools.partial is of
        if not (isinstance(made, type) and issubclass(made, CellRepresentation)):
            return FunctionCells(self.function, env)
        more = {"palette": env.palette} if issubclass(made, DownscaledCells) and env.palette else {}
        cells: CellRepresentation = self.function(**more)
        return cells


def as_cells(thing: CellsSpec | Callable[..., Any]) -> CellsSpec:
    """Return what a user gives as cells as settings: a function or class is wrapped."""
    return thing if isinstance(thing, CellsSpec) else FunctionCellsSpec(thing)


@dataclass(frozen=True)
class Combination(CellsSpec):
    """Cells that differ wherever one of their parts differs: `Rendering() + Grid("direction")`."""

    parts: tuple[CellsSpec, ...]
    kind = "combination"

    def __post_init__(self) -> None:
        flat = [each.parts if isinstance(each, Combination) else (each,) for each in self.parts]
        object.__setattr__(self, "parts", tuple(part for parts in flat for part in parts))
        if any(part.revision_plan() is not None for part in self.parts):
            raise ConfigError(
                "expected cells that stay as they are in a sum, got dynamic ones, which a search revises: "
                "use `downscaled` or `rendering` in their place"
            )

    def text(self) -> str:
        """Return the parts with plus signs between them."""
        return " + ".join(part.text() for part in self.parts)

    def __call__(self, env: Environment) -> CombinedCells:
        """Return one representation of all parts."""
        return CombinedCells([part(env) for part in self.parts])

    def settings(self) -> dict[str, Any]:
        """Return the settings of all parts."""
        return {"kind": self.kind, "parts": [part.settings() for part in self.parts]}

    def with_settings(self, settings: dict[str, Any]) -> Combination:
        """Return the same with other settings of its parts."""
        return Combination(
            tuple(part.with_settings(each) for part, each in zip(self.parts, settings["parts"], strict=True))
        )


@dataclass(frozen=True)
class StateFunctionSpec(_Wrapped):
    """A user's function of (observation, info): the objective, or what says that an event happens.

    That of a file whose user has not named the function has its path alone, and cannot be called.
    """

    function: Callable[..., Any] | None
    path: str = ""

    def __post_init__(self) -> None:
        if self.function is not None and not self.path:
            object.__setattr__(self, "path", path_of(self.function))


@dataclass(frozen=True)
class EventSpec(StateFunctionSpec):
    """An event: its name, and the function, or the class of exceptions, that says when it happens."""

    name: str = ""


_SMALL_ARRAY = 512
"""Whole numbers up to which an array is its own cell: a board, not an image."""


@dataclass(frozen=True)
class DefaultCells(CellsSpec):
    """Cells for a problem that names none: dynamic for images, else the observation itself."""

    kind = "default"
    bound: ClassVar[Downscaling] = PAPER_DOWNSCALING
    """The parameters of now, for images: see `DynamicConfig`."""

    def __call__(self, env: Environment) -> CellRepresentation:
        """Look at the first observation and decide."""
        env.reset()
        seen = env.observation()
        small = isinstance(seen, np.ndarray) and seen.size <= _SMALL_ARRAY and seen.dtype.kind in "iub"
        if isinstance(seen, np.ndarray) and seen.ndim >= 2 and not small:
            return DynamicConfig().revised(self.bound)(env)
        if _has_floats(seen):
            raise ConfigError(
                "expected a cell function for observations that are real numbers, got none: "
                'explore with `cell`, such as goexplore.Grid("observation", size=0.5), or a function that '
                "rounds them to whole numbers"
            )
        return FunctionCells(_itself)

    def revised(self, downscaling: Downscaling) -> DefaultCells:
        """Return the same cells with other parameters, for images."""
        return _bind(self, downscaling)

    def revision_plan(self) -> RevisionPlan:
        """Return when and how a search revises them, for images."""
        return DynamicConfig().revision_plan()


def _itself(observation: Any) -> Any:
    return observation


def _has_floats(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "iub"
    if isinstance(value, tuple | list):
        return any(map(_has_floats, value))
    return isinstance(value, float | np.floating)
