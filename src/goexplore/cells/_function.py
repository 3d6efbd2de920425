"""A user's own function as a cell representation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._representation import CellKey, CellRepresentation
from goexplore.envs import Environment
from goexplore.errors import ConfigError, EnvironmentContractError


class FunctionCells(CellRepresentation):
    """Cells from any function of the observation, of observation and info, or of these and the environment.

    The function may return a number, a boolean, a string, bytes, a tuple or list of these, or a NumPy array
    of whole numbers or booleans. Whatever it returns is the cell; None means that the episode is lost.
    """

    def __init__(self, function: Callable[..., Any], env: Environment | None = None) -> None:
        """`function` maps an observation to a value that names its cell.

        A second parameter gets `env.info()`, a third one `env.unwrapped`: a simulator often knows more than
        it shows.
        """
        self._function, self._env = function, env
        self._arguments = count_arguments(function)
        if self._arguments > 1 and env is None:
            raise ConfigError(
                "expected `env` for a cell function of more than the observation, got none: give the "
                "environment whose `info` it gets"
            )

    def reset(self, observation: Any) -> CellKey:
        """Return the cell of the first observation."""
        cell = self.update(observation)
        if cell is None:
            raise EnvironmentContractError(
                "expected a cell for the initial state, got None: "
                "the cell function may return None only where an episode is lost"
            )
        return cell

    def update(self, observation: Any) -> CellKey | None:
        """Return the cell of an observation."""
        if self._env is None or self._arguments == 1:
            value = self._function(observation)
        elif self._arguments == 2:
            value = self._function(observation, self._env.info())
        else:
            value = self._function(observation, self._env.info(), self._env.unwrapped)
        return None if value is None else encode(value)

    def columns(self, cells: Sequence[CellKey]) -> Mapping[str, NDArray[np.generic]]:
        """Return the value that names each cell, as text."""
        return {"cell_text": np.array([cell.decode("utf-8", "backslashreplace") for cell in cells], np.str_)}


def count_arguments(function: Callable[..., Any]) -> int:
    """Return how many of observation, info and environment a function wants, which its signature decides.

    A parameter with a default is not counted unless it is called `info` or `env`. Functions of any number of
    arguments, and functions without a signature, such as some that are written in C, get the observation
    alone.
    """
    try:
        parameters = list(signature(function).parameters.values())
    except (TypeError, ValueError):
        return 1
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    given = [each for each in parameters if each.kind in kinds]
    wanted = 0
    for each in given:
        has_default = each.default is not Parameter.empty
        if has_default and each.name != ("observation", "info", "env")[min(wanted, 2)]:
            break
        wanted += 1
    if wanted > 3 or not (given or any(each.kind is Parameter.VAR_POSITIONAL for each in parameters)):
        raise ConfigError(
            "expected a function of the observation, or of observation and info, or of these and the "
            f"environment, got one with {wanted} parameters: give the others defaults, or use "
            "functools.partial"
        )
    return max(1, wanted)


def encode(value: Any) -> CellKey:
    """Return bytes that differ whenever values differ, and are the same in every process."""
    if type(value) is tuple:  # of whole numbers, most of the time: they are plain already
        for each in value:
            if type(each) is not int:
                break
        else:
            return repr(value).encode()
    return repr(plain(value)).encode()


def plain(value: Any) -> Any:
    """Return a value made of Python's own types, whose text is the same in every process."""
    if isinstance(value, np.ndarray) and value.ndim:
        if value.dtype.kind not in "iub":
            raise _not_a_cell(value, f"an array of {value.dtype}")
        return value.shape, value.tolist()
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, bool):
        return bool(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _not_a_cell(value, "a number that is not finite")
        return float(value) + 0.0  # -0.0 is 0.0
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, tuple | list):
        return tuple(map(plain, value))
    raise _not_a_cell(value, type(value).__name__)


def _not_a_cell(value: Any, what: str) -> EnvironmentContractError:
    return EnvironmentContractError(
        "expected a cell made of finite numbers, booleans, strings or bytes, "
        f"got {what} ({str(value)[:60]}): round or encode it in the cell function"
    )
