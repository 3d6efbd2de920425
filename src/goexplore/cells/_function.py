"""A user's own function as a cell representation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goexplore.cells._representation import CellKey, CellRepresentation
from goexplore.errors import ConfigError, EnvironmentContractError


class FunctionCells(CellRepresentation):
    """Cells from any function of the observation, or of the observation and `info`.

    The function may return a number, a boolean, a string, bytes, a tuple or list of these, or a NumPy array
    of whole numbers or booleans. Whatever it returns is the cell; None means that the episode is lost.
    """

    def __init__(
        self, function: Callable[..., Any], *, info: Callable[[], Mapping[str, Any]] | None = None
    ) -> None:
        """`function` maps an observation, and `info` if it takes it, to a value that names its cell.

        `info` returns what the environment says beside the observation: `Environment.info`.
        """
        needs_info = takes_info(function)
        self._function = function
        self._info = info if needs_info else None
        if needs_info and info is None:
            raise ConfigError(
                "expected `info` for a cell function of observation and info, got none: give the "
                "environment's `info` method"
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
        value = (
            self._function(observation) if self._info is None else self._function(observation, self._info())
        )
        return None if value is None else encode(value)

    def columns(self, cells: Sequence[CellKey]) -> Mapping[str, NDArray[np.generic]]:
        """Return the value that names each cell, as text."""
        return {"cell_text": np.array([cell.decode("utf-8", "backslashreplace") for cell in cells], np.str_)}


def takes_info(function: Callable[..., Any]) -> bool:
    """Return whether a cell function is one of observation and info, which its signature decides.

    It is where its second parameter has no default, or is called `info`. Functions of any number of
    arguments, and functions without a signature, such as some that are written in C, get the observation
    alone.
    """
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    given = [each for each in parameters if each.kind in kinds]
    needed = [each for each in parameters if each.default is Parameter.empty and each.kind in kinds]
    any_number = any(each.kind is Parameter.VAR_POSITIONAL for each in parameters)
    if len(needed) > 2 or not (given or any_number):
        raise ConfigError(
            "expected a cell function of the observation, or of observation and info, got one with "
            f"{len(needed)} parameters: give the others defaults, or use functools.partial"
        )
    return len(needed) == 2 or (len(given) > 1 and given[1].name == "info")


def encode(value: Any) -> CellKey:
    """Return bytes that differ whenever values differ, and are the same in every process."""
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
