"""A problem: everything that decides what a search finds, as one thing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import gymnasium

from goexplore.cells import (
    PAPER_DOWNSCALING,
    CellEnvironment,
    Downscaling,
    DynamicCells,
    EventRule,
    Objective,
    require_event_rules,
)
from goexplore.engines import EngineWish
from goexplore.envs import Environment
from goexplore.errors import ConfigError, ProblemError
from goexplore.exploration import (
    CellReviser,
    Executor,
    ExecutorWish,
    ExplorationConfig,
    Kernel,
    KernelFactory,
    NativeExecutor,
    ProcessExecutor,
    PythonKernel,
    RandomRepeat,
    RayExecutor,
    Revision,
    SerialExecutor,
    StartMethod,
)
from goexplore.problems._chosen_cells import cells_with_settings
from goexplore.problems._gymnasium import Gymnasium, from_instance
from goexplore.problems._specs import (
    CellsSpec,
    DefaultCells,
    EnvironmentSpec,
    EventSpec,
    FactorySpec,
    StateFunctionSpec,
    as_cells,
    path_of,
)
from goexplore.selection import Selection, SelectionConfig


@dataclass(frozen=True, init=False)
class Problem:
    """An environment, what its cells are, and how to choose and explore them.

    Equal problems and seeds give equal archives. An environment's class or a function that makes one, and a
    cell function, are enough: everything else has a default.
    """

    env: EnvironmentSpec
    cells: CellsSpec
    selection: SelectionConfig
    exploration: ExplorationConfig
    name: str
    """What finds it again: a preset's name, an id or an import path."""
    objective: StateFunctionSpec | None
    """What counts as better in place of the score."""
    events: tuple[EventSpec, ...]
    """What is looked for, by name."""

    def __init__(
        self,
        *,
        env: EnvironmentSpec | Callable[[], Environment],
        cells: CellsSpec | Callable[..., Any] | str | None = None,
        selection: SelectionConfig | None = None,
        exploration: ExplorationConfig | None = None,
        name: str = "",
        objective: StateFunctionSpec | Callable[..., Any] | None = None,
        events: tuple[EventSpec, ...] | Mapping[str, EventRule] = (),
    ) -> None:
        """Put a problem together.

        Args:
            env: An environment's class, a function without arguments that makes one, or settings.
            cells: A function of the observation, or of observation and info; a class of cell representations;
                settings, such as `goexplore.Grid("x", "y", size=16)`; or a text, such as "dynamic". Without
                it, cells are dynamic for images, or the observation itself where it is made of whole numbers.
            selection: How cells are chosen.
            exploration: How cells are explored from.
            name: By default that of the environment.
            objective: A function of (observation, info) that returns a number. Of two trajectories to a cell,
                the one with the higher number is better, then the shorter one. By default the score decides.
            events: Functions of (observation, info) by name, each of which says whether an event happens in
                a state; or classes of exceptions, for the event that `step` raises one. The shortest way to
                each event in each cell is kept.

        """
        spec = env if isinstance(env, EnvironmentSpec) else _from_callable(env)
        if cells is None:
            cells = DefaultCells()
        elif isinstance(cells, str):
            from goexplore.problems._cells_text import cells_from_text  # which knows problems by name

            cells = cells_from_text(cells)
        values = {
            "env": spec,
            "cells": as_cells(cells),
            "selection": selection or SelectionConfig(),
            "exploration": exploration or spec.usual_exploration(),
            "name": name or spec.target,
            "objective": _objective_spec(objective),
            "events": _event_specs(events),
        }
        for field, value in values.items():
            object.__setattr__(self, field, value)

    def settings(self) -> dict[str, Any]:
        """Return everything that decides what a search finds, as JSON values."""
        return {
            "name": self.name,
            "env": self.env.settings(),
            "cells": self.cells.settings(),
            "selection": dataclasses.asdict(self.selection),
            "exploration": dataclasses.asdict(self.exploration),
            **({} if self.objective is None else {"objective": self.objective.settings()}),
            **({"events": {each.name: each.settings() for each in self.events}} if self.events else {}),
        }

    def with_settings(self, settings: dict[str, Any]) -> Problem:
        """Return this problem with the settings that a file has.

        Where the file has an objective or events and this problem has none, they are named, but cannot be
        called: looking at what was found does not need them.
        """
        try:
            return dataclasses.replace(
                self,
                env=self.env.with_settings(settings["env"]),
                cells=cells_with_settings(self.cells, settings["cells"]),
                selection=SelectionConfig(**settings["selection"]),
                exploration=ExplorationConfig(**settings["exploration"]),
                name=settings["name"],
                objective=self._objective_from(settings.get("objective")),
                events=self._events_from(settings.get("events", {})),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ConfigError(
                f"expected the settings of a problem, got something that lacks or adds {error}: use the "
                "version of goexplore that wrote it"
            ) from error

    def _objective_from(self, settings: dict[str, Any] | None) -> StateFunctionSpec | None:
        if self.objective is not None and settings is not None:
            return self.objective.with_settings(settings)
        if self.objective is not None:
            raise ConfigError(
                f"expected a problem without an objective, as the file says, got {self.objective.path}: name "
                "the problem that the file was made with"
            )
        return None if settings is None else StateFunctionSpec(None, settings["path"])

    def _events_from(self, settings: dict[str, dict[str, Any]]) -> tuple[EventSpec, ...]:
        if not self.events:
            return tuple(EventSpec(None, each["path"], name) for name, each in sorted(settings.items()))
        mine = [each.name for each in self.events]
        if mine != sorted(settings):
            raise ConfigError(
                f"expected the events {', '.join(sorted(settings)) or 'of a file that has none'}, got "
                f"{', '.join(mine)}: name the problem that the file was made with"
            )
        return tuple(each.with_settings(settings[each.name]) for each in self.events)

    def with_functions(self, **functions: Any) -> Problem:
        """Return this problem with the functions of its `objective` or `events`, which a file only names."""
        named = dataclasses.replace(self, **functions)
        lines = differences(self.settings(), named.settings())
        if lines:
            raise ConfigError(f"expected what the file was made with, got something else: {'; '.join(lines)}")
        return named

    @property
    def exceptions(self) -> tuple[type[Exception], ...]:
        """What `step` may raise because it is an event."""
        return tuple(each.function for each in self.events if isinstance(each.function, type))

    def require_functions(self) -> None:
        """Refuse to go on where objective or events of a file are known by name alone."""
        for parameter, specs in (("objective", [self.objective]), ("events", self.events)):
            for each in specs:
                if each is not None and each.function is None:
                    raise ProblemError(
                        f"expected `{parameter}` with {each.path}, as the file says, got none: name it "
                        "again, or as `problem` the goexplore.Problem that has it"
                    )

    @property
    def env_target(self) -> str:
        """What finds the environment again: its own id where it has one, else the name of the problem."""
        return self.name if getattr(self.env, "factory", None) is not None else self.env.target

    def with_engine(self, wish: EngineWish) -> tuple[Problem, str]:
        """Return this problem on an engine, and why on that one."""
        binding = self.env.with_engine(wish)
        return dataclasses.replace(self, env=binding.env), binding.reason

    def reference(self) -> Problem:
        """Return this problem on the engine that verification replays on."""
        return dataclasses.replace(self, env=self.env.reference())

    def after_revisions(self, revisions: Sequence[Revision]) -> Problem:
        """Return this problem with the cells that a search has after these revisions."""
        now = revisions[-1].downscaling if revisions else PAPER_DOWNSCALING
        return dataclasses.replace(self, cells=self.cells.revised(now))

    def make_cell_env(self) -> CellEnvironment:
        """Return a fresh environment with cells."""
        return self.with_cells(self.env())

    def with_cells(self, env: Environment) -> CellEnvironment:
        """Return an environment of this problem with cells, objective and events."""
        return CellEnvironment(
            env,
            self.cells(env),
            ends=self.exploration.ends,
            objective=None if self.objective is None else self.objective.function,
            events={each.name: each.function for each in self.events if each.function is not None},
        )

    def make_selection(self, cell_env: CellEnvironment) -> Selection:
        """Return a fresh selection."""
        return self.selection.build(cell_env.cells)

    def make_reviser(self, cell_env: CellEnvironment) -> CellReviser | None:
        """Return what revises the cells of a search on the way, if they are dynamic."""
        plan = self.cells.revision_plan()
        if plan is None or not isinstance(cell_env.cells, DynamicCells):
            return None

        def make_kernels(downscaling: Downscaling) -> KernelFactory:
            return dataclasses.replace(self, cells=self.cells.revised(downscaling)).kernel_factory()

        return CellReviser(
            cell_env=cell_env,
            cells=cell_env.cells,
            plan=plan,
            make_selection=partial(self.make_selection, cell_env),
            make_kernels=make_kernels,
        )

    def kernel_factory(self) -> KernelFactory:
        """Return what makes kernels: native ones where there are any."""
        return self._native_kernels() or partial(Problem.make_python_kernel, self)

    def _native_kernels(self) -> KernelFactory | None:
        """Return what makes native kernels; objective and events are Python's, and need the Python kernel."""
        if self.objective is not None or self.events:
            return None
        return self.env.make_kernel(self.cells, self.exploration)

    def make_python_kernel(self) -> Kernel:
        """Return the reference kernel, with an environment of its own."""
        return PythonKernel(
            self.make_cell_env(),
            RandomRepeat(self.exploration.repeat_probability),
            training_frames=self.exploration.training_frames,
        )

    def make_executor(
        self,
        workers: int | None,
        *,
        executor: ExecutorWish = "auto",
        ray_address: str | None = None,
        start_method: StartMethod | None = None,
        timeout_seconds: float = 300.0,
        initial_digest: bytes | None = None,
        warn: Callable[[str], None] = lambda line: None,
    ) -> Executor:
        """Return the executor with that many workers; None explores in this process.

        Workers are threads where a native kernel explores, which does not hold the interpreter's lock, and
        processes elsewhere. Objective and events are Python functions, so the Python kernel explores then.
        With `executor` ray, each node of a Ray cluster has that many workers; None means one per CPU.
        """
        if executor not in get_args(ExecutorWish):
            raise ConfigError(
                f"expected `executor` to be {' or '.join(get_args(ExecutorWish))}, got {executor!r}"
            )
        native = self._native_kernels()
        if executor == "ray":
            return RayExecutor(
                self.kernel_factory(),
                threads=native is not None,
                workers=workers,
                address=ray_address,
                start_method=start_method,
                timeout_seconds=timeout_seconds,
                initial_digest=initial_digest,
                warn=warn,
            )
        if ray_address is not None:
            raise ConfigError(f"expected `executor` ray with `ray_address` {ray_address}, got {executor}")
        if native is not None:
            return SerialExecutor(native) if workers is None else NativeExecutor(native, workers=workers)
        make = self.kernel_factory()
        if workers is None:
            return SerialExecutor(make)
        return ProcessExecutor(
            make,
            workers=workers,
            start_method=start_method,
            timeout_seconds=timeout_seconds,
            initial_digest=initial_digest,
            warn=warn,
        )


def _objective_spec(objective: Any) -> StateFunctionSpec | None:
    if objective is None or isinstance(objective, StateFunctionSpec):
        return objective
    Objective(objective)
    return StateFunctionSpec(objective)


def _event_specs(events: Any) -> tuple[EventSpec, ...]:
    if isinstance(events, tuple) and all(isinstance(each, EventSpec) for each in events):
        return events
    rules = require_event_rules(events)
    return tuple(EventSpec(rule, path_of(rule), name) for name, rule in sorted(rules.items()))


def as_problem(thing: Any, name: str = "") -> Problem:
    """Return a problem for what a user may name: a problem, an environment's class, or a factory."""
    if isinstance(thing, Problem):
        return dataclasses.replace(thing, name=name) if name else thing
    if isinstance(thing, EnvironmentSpec):
        return Problem(env=thing, name=name)
    if isinstance(thing, Environment):
        raise ProblemError(
            "expected an environment's class or a function that makes one, got an environment "
            f"({path_of(thing)}): workers need environments of their own, so give the class"
        )
    if isinstance(thing, gymnasium.Env):
        return Problem(env=from_instance(thing), name=name)
    if not callable(thing):
        raise ProblemError(
            f"expected a goexplore.Problem, an environment's class or a function that makes one, got "
            f"{type(thing).__name__} ({str(thing)[:40]})"
        )
    return Problem(env=_from_callable(thing), name=name)


def _from_callable(factory: Callable[[], Any]) -> EnvironmentSpec:
    """Return the settings of what a class or function makes: an environment of ours or of Gymnasium's."""
    kind = getattr(factory, "func", factory)  # what a functools.partial is of
    if not isinstance(kind, type) and callable(factory):
        try:
            made = factory()  # nothing but its product says which kind it makes
        except Exception:  # the check before a run, or the worker that needs one, says what is wrong
            return FactorySpec(factory)
        kind = type(made)
        if isinstance(made, gymnasium.Env | Environment):
            made.close()
    is_gymnasium = isinstance(kind, type) and issubclass(kind, gymnasium.Env)
    return Gymnasium(factory=factory) if is_gymnasium else FactorySpec(factory)


def differences(one: dict[str, Any], other: dict[str, Any], prefix: str = "") -> list[str]:
    """Return lines that say where two settings, as JSON values, differ."""
    lines = []
    for key in sorted(one.keys() | other.keys()):
        mine, theirs = one.get(key), other.get(key)
        if isinstance(mine, dict) and isinstance(theirs, dict):
            lines += differences(mine, theirs, f"{prefix}{key}.")
        elif mine != theirs:
            lines.append(f"{prefix}{key} is {mine!r}, not {theirs!r}")
    return lines
