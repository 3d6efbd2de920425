"""Problems by name: presets that packages bring, ids of a family of environments, import paths.

A file never makes us import code: a name that was read from a file is only looked up among the problems that
installed packages registered. An import path is imported only if the user names it (again).
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import gymnasium

from goexplore.errors import ConfigError, ProblemError
from goexplore.problems._gymnasium import Gymnasium, is_gymnasium_id, missing_suite
from goexplore.problems._problem import Problem, as_problem
from goexplore.problems._specs import EnvironmentSpec

GROUP = "goexplore.problems"
"""The entry-point group in which a package names its problems."""

_VERSIONED = re.compile(r"-v\d+$")
"""How ids of Gymnasium end; a Python name never does."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """Problems whose names have a common beginning, such as all Atari games."""

    prefix: str
    """What their names begin with, such as `ALE/`."""
    make: Callable[[str], Problem]
    """Returns the problem with a name."""
    description: str
    """What they are, for `goexplore explore --list`."""


_registered: dict[str, Problem | Family] = {}


def register(name: str, problem: Any) -> None:
    """Give a problem a name, under which `explore`, files and the command line find it.

    `problem` is a Problem, an environment's class, a function that makes an environment, or a Family. To
    register problems of a package without importing it, name them in the entry-point group
    `goexplore.problems`.
    """
    if not isinstance(name, str) or not name or ":" in name:
        raise ProblemError(f"expected a name without a colon, got {name!r}: choose another")
    _registered[name] = problem if isinstance(problem, Family) else as_problem(problem, name)


@cache
def _entry_points() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        before = found.setdefault(point.name, point)
        if before.value != point.value or ":" in point.name:
            raise ProblemError(
                f"expected each problem to have one name without a colon, got {point.name!r} for "
                f"{before.value} and {point.value}: uninstall one of the packages, or rename its entry point"
            )
    return found


@cache
def _load(name: str) -> Problem | Family:
    point = _entry_points()[name]
    try:
        loaded = point.load()
    except Exception as error:  # whatever a package does when it is imported
        raise ProblemError(
            f"expected {point.value}, which a package registered as {name}, got {error}: reinstall it"
        ) from error
    return loaded if isinstance(loaded, Family) else as_problem(loaded, name)


def problem_names() -> list[str]:
    """Return the names of all registered problems, and the beginnings of the names of families."""
    return sorted({*_registered, *_entry_points()})


def find_registered(name: str) -> Problem | None:
    """Return a registered problem, or one of a family; None where nothing is registered for the name."""
    if name in _registered or name in _entry_points():
        found = _registered[name] if name in _registered else _load(name)
        return None if isinstance(found, Family) else found
    beginning = name.partition("/")[0]
    for known in (f"{beginning}/", beginning):
        family = _registered.get(known) or (_load(known) if known in _entry_points() else None)
        if isinstance(family, Family) and name.startswith(family.prefix):
            return family.make(name)
    return Problem(env=Gymnasium(id=name), name=name) if is_gymnasium_id(name) else None


def family(name: str) -> Family | None:
    """Return the family that is registered under a name, if it is one."""
    found = _registered[name] if name in _registered else _load(name)
    return found if isinstance(found, Family) else None


def find_problem(target: Any) -> Problem:
    """Return the problem that a user names: a registered name, an id, an import path, or the thing itself."""
    if not isinstance(target, str):
        return as_problem(target)
    found = find_registered(target)
    if found is not None:
        return found
    if _VERSIONED.search(target) and ":" in target:
        return Problem(env=Gymnasium(id=target), name=target)  # Gymnasium imports what is before the colon
    if ":" in target:
        return as_problem(import_path(target), target)
    suite = missing_suite(target)
    if suite is not None:
        raise ProblemError(
            f"expected the package {suite}, which has {target}, to be installed, got none: install it, for "
            f"example with pip install {suite.replace('_', '-')}"
        )
    names = [*problem_names(), *gymnasium.registry]
    if target in problem_names() and (known := family(target)) is not None:
        raise ProblemError(
            f"expected a name that begins with {known.prefix} ({known.description}), got {target!r}"
        )
    near = difflib.get_close_matches(target, names, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise ProblemError(
        f"expected a registered problem ({', '.join(problem_names())}), an id of Gymnasium, or an import "
        f"path such as my_game:Lock, got {target!r}.{hint}"
    )


def import_path(target: str) -> Any:
    """Return what an import path stands for. Only a path that the user named is imported."""
    module_name, _, path = target.partition(":")
    if not module_name or module_name.startswith(".") or not path:
        raise ProblemError(f"expected an import path such as my_game:Lock, got {target!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` does
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there, and imports another one that is not
        raise ProblemError(
            f"expected a module {module_name} on Python's path or in {here}, got none: check the name, or "
            "install its package"
        ) from error
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, dir(found), n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ProblemError(f"expected {path} in the module {module_name}, got none.{hint}")
        found = getattr(found, part)
    return found


def environment_from_file(
    target: str, settings: dict[str, Any], given: Problem | None, where: str
) -> EnvironmentSpec:
    """Return the environment of a demonstration or a policy: registered, or given by the user."""
    env = _find(target, given, where).env
    with _settings_of(where):
        return env.with_settings(settings)


def given_problem(thing: Any | None) -> Problem | None:
    """Return the problem that a user gave for a file, as anything that `find_problem` takes, or None."""
    return None if thing is None else find_problem(thing)


def problem_from_file(settings: dict[str, Any], given: Problem | None, where: str) -> Problem:
    """Return the problem of a file, whose settings it has: registered, or given by the user.

    `where` is the file, for messages.
    """
    name = settings.get("name") if isinstance(settings, dict) else None
    if not isinstance(name, str):
        raise ProblemError(f"expected the name of a problem in {where}, got {name!r}: put the file back")
    registered = find_registered(name)
    if given is not None and registered is not None and given.name != name:
        raise ProblemError(f"expected the problem {name} for {where}, got {given.name}: omit `problem`")
    problem = _find(name, given, where)
    with _settings_of(where):
        return problem.with_settings(settings)


@contextlib.contextmanager
def _settings_of(where: str) -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ConfigError(
            f"expected the settings of a problem in {where}, got {error!r}: put the file back, or use the "
            "version of goexplore that wrote it"
        ) from error


def _find(name: str, given: Problem | None, where: str) -> Problem:
    problem = given or find_registered(name)
    if problem is None:
        how = (
            f"add `problem` {name}"
            if ":" in name and not name.startswith("__main__") and not any(each in name for each in "<(")
            else f"name the Problem, class or function that {name} was, as `problem`"
        )
        raise ProblemError(
            f"expected a problem that an installed package registers, got {name} in {where}, whose code is "
            f"only imported if you name it: {how}"
        )
    return problem
