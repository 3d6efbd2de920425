"""A problem: everything that decides what a search finds, as one thing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from goexplore.cells import PAPER_DOWNSCALING, CellEnvironment, Downscaling, DynamicCells
from goexplore.engines import EngineWish
from goexplore.envs import Environment
from goexplore.errors import ConfigError, ProblemError
from goexplore.exploration import (
    CellReviser,
    Executor,
    ExplorationConfig,
    Kernel,
    KernelFactory,
    ProcessExecutor,
    PythonKernel,
    RandomRepeat,
    Revision,
    SerialExecutor,
    StartMethod,
    ThreadExecutor,
)
from goexplore.problems._specs import (
    CellsSpec,
    DefaultCells,
    EnvironmentSpec,
    FactorySpec,
    FunctionCellsSpec,
    cells_from_settings,
    cells_named,
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

    def __init__(
        self,
        *,
        env: EnvironmentSpec | Callable[[], Environment],
        cells: CellsSpec | Callable[..., Any] | str | None = None,
        selection: SelectionConfig | None = None,
        exploration: ExplorationConfig | None = None,
        name: str = "",
    ) -> None:
        """Put a problem together.

        Args:
            env: An environment's class, a function without arguments that makes one, or settings.
            cells: A function of the observation, a class of cell representations, "dynamic" or "downscaled"
                (for images), or settings. Without it, cells are dynamic for images, or the observation itself
                where it is made of whole numbers.
            selection: How cells are chosen.
            exploration: How cells are explored from.
            name: By default that of the environment.

        """
        spec = env if isinstance(env, EnvironmentSpec) else FactorySpec(env)
        if cells is None:
            cells = DefaultCells()
        elif isinstance(cells, str):
            cells = cells_named(cells)
        values = {
            "env": spec,
            "cells": cells if isinstance(cells, CellsSpec) else FunctionCellsSpec(cells),
            "selection": selection or SelectionConfig(),
            "exploration": exploration or ExplorationConfig(),
            "name": name or spec.target,
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
        }

    def with_settings(self, settings: dict[str, Any]) -> Problem:
        """Return this problem with the settings that a file has."""
        try:
            return dataclasses.replace(
                self,
                env=self.env.with_settings(settings["env"]),
                cells=cells_from_settings(settings["cells"], self.cells),
                selection=SelectionConfig(**settings["selection"]),
                exploration=ExplorationConfig(**settings["exploration"]),
                name=settings["name"],
            )
        except (KeyError, TypeError) as error:
            raise ConfigError(
                f"expected the settings of a problem, got something that lacks or adds {error}: use the "
                "version of goexplore that wrote it"
            ) from error

    @property
    def env_target(self) -> str:
        """What finds the environment again: its own id where it has one, else the name of the problem."""
        return self.name if isinstance(self.env, FactorySpec) else self.env.target

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
        env = self.env()
        return CellEnvironment(env, self.cells(env), ends=self.exploration.ends)

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
        native = self.env.make_kernel(self.cells, self.exploration)
        return partial(Problem.make_python_kernel, self) if native is None else native

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
        start_method: StartMethod | None = None,
        timeout_seconds: float = 300.0,
        initial_digest: bytes | None = None,
        warn: Callable[[str], None] = lambda line: None,
    ) -> Executor:
        """Return the executor with that many workers; None explores in this process.

        Workers are threads where a native kernel explores, which does not hold the interpreter's lock, and
        processes elsewhere.
        """
        native = self.env.make_kernel(self.cells, self.exploration)
        if native is not None:
            return SerialExecutor(native) if workers is None else ThreadExecutor(native, workers=workers)
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
    if not callable(thing):
        raise ProblemError(
            f"expected a goexplore.Problem, an environment's class or a function that makes one, got "
            f"{type(thing).__name__} ({str(thing)[:40]})"
        )
    return Problem(env=thing, name=name)


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
