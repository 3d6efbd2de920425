"""What a user's own functions say of a state: how good it is, and which events happen in it."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from goexplore.envs import Environment
from goexplore.errors import ConfigError, EnvironmentContractError

CRASH, HANG = "worker-crash", "worker-hang"
"""The events of a worker process that the environment killed, or that gave no answer in time."""

EventRule: TypeAlias = "Callable[..., Any] | type[Exception]"
"""When an event happens: a function of observation and info, or the exception that `step` raises."""


class StateFunction:
    """A function of (observation, info), or of the observation alone."""

    def __init__(self, function: Callable[..., Any], what: str) -> None:
        """`what` names it in messages, such as `the event crash`."""
        if not callable(function):
            raise ConfigError(f"expected {what} to be a function of (observation, info), got {function!r}")
        self.what = what
        self._function = function
        self._takes_info = _takes(function, 2)
        if not self._takes_info and not _takes(function, 1):
            raise ConfigError(
                f"expected {what} to be a function of (observation, info), or of the observation, got "
                f"{getattr(function, '__name__', function)}{inspect.signature(function)}"
            )

    def __call__(self, env: Environment) -> Any:
        """Return what the function says of an environment's state."""
        try:
            if self._takes_info:
                return self._function(env.observation(), env.info())
            return self._function(env.observation())
        except Exception as error:  # of the user's code: any
            raise EnvironmentContractError(
                f"expected {self.what} to raise nothing, got {type(error).__name__}: {error}: fix it"
            ) from error


def _takes(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # of compiled code, which does not say what it takes
        return count == 2
    return True


class Objective:
    """What counts as better, in place of the score: a higher number, then a shorter trajectory."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = StateFunction(function, "the objective")

    def __call__(self, env: Environment) -> float:
        """Return how good an environment's state is."""
        value = self._function(env)
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if not isinstance(value, int | float | np.number | np.bool_) or not math.isfinite(value):
            raise EnvironmentContractError(
                f"expected the objective to be a finite number, got {str(value)[:60]} "
                f"({type(value).__name__}): return one for every state"
            )
        return float(value) + 0.0  # -0.0 is 0.0


class Events:
    """Events by their names, in the order of these: what happens in a state, or with a step that raises."""

    def __init__(self, rules: Mapping[str, EventRule]) -> None:
        self._functions: list[tuple[str, StateFunction]] = []
        self._raised: list[tuple[str, type[Exception]]] = []
        for name, rule in sorted(rules.items()):
            if isinstance(rule, type) and issubclass(rule, Exception):
                self._raised.append((name, rule))
            else:
                self._functions.append((name, StateFunction(rule, f"the event {name}")))
        self.exceptions = tuple(kind for _, kind in self._raised)
        """What `step` may raise without an end of the search."""

    def __bool__(self) -> bool:
        return bool(self._functions)

    def happening(self, env: Environment) -> list[str]:
        """Return the events that happen in an environment's state."""
        return [name for name, function in self._functions if self._happens(function, env)]

    def raised_by(self, error: Exception) -> list[str]:
        """Return the events that an exception of `step` is."""
        return [name for name, kind in self._raised if isinstance(error, kind)]

    @staticmethod
    def _happens(function: StateFunction, env: Environment) -> bool:
        value = function(env)
        if not isinstance(value, bool | np.bool_):
            raise EnvironmentContractError(
                f"expected {function.what} to be True or False, got {str(value)[:60]} "
                f"({type(value).__name__}): return bool(...), or use .any() or .all() of an array"
            )
        return bool(value)


def require_event_rules(events: Any) -> dict[str, EventRule]:
    """Return the rules of events by name; refuse what is none."""
    if not isinstance(events, Mapping):
        raise ConfigError(
            "expected `events` to be a mapping from names to functions of (observation, info), got "
            f"{type(events).__name__}"
        )
    for name in events:
        if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
            raise ConfigError(
                "expected names of `events` to be made of letters, digits, and _ . - within, got "
                f"{name!r}: rename it"
            )
        if name in (CRASH, HANG):
            raise ConfigError(
                f"expected names of `events` other than {CRASH} and {HANG}, which stand for workers that the "
                f"environment kills, got {name!r}: rename it"
            )
    Events(events)
    return dict(events)
