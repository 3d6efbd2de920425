"""Arguments of a verb: parsed by tyro, and known to error messages."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import tyro

from goexplore.cli._text import LONGEST, shortened
from goexplore.errors import ConfigError
from goexplore.problems import Problem, find_problem

Arguments = TypeVar("Arguments")

_flags: dict[str, str] = {}
"""The flag of each parameter of the verb that runs."""

_MOST = 10**15
_LONGEST_COUNT = 40
"""Characters of a count that an error shows."""


def parse(
    kind: type[Arguments],
    arguments: Sequence[str],
    *,
    prog: str,
    description: str | None = None,
    default: Any = None,
) -> Arguments:
    """Return the arguments of a verb."""
    _flags.clear()
    _flags.update(_flags_of(kind))
    settings = {} if default is None else {"default": default}
    with _short_complaints(arguments):
        chosen: Arguments = tyro.cli(
            kind, prog=prog, description=description, args=list(arguments), **settings
        )
    return chosen


@contextlib.contextmanager
def _short_complaints(arguments: Sequence[str]) -> Iterator[None]:
    """Show the beginning and the end of a complaint that would repeat an endless argument whole."""
    if all(len(argument) < LONGEST for argument in arguments):
        yield
        return
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            yield
    finally:
        print(shortened(said.getvalue()), end="", file=sys.stderr)


def _flags_of(kind: Any, prefix: str = "", *, omit_prefixes: bool = False) -> dict[str, str]:
    """Return the flags of a dataclass by the names of its fields, those of nested ones included."""
    found: dict[str, str] = {}
    inner: dict[str, str] = {}
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        hint, name, omit = hints[field.name], field.name, omit_prefixes
        if get_origin(hint) is Annotated:
            hint, *marks = get_args(hint)
            omit = omit or tyro.conf.OmitArgPrefixes in marks
            name = next((mark.name for mark in marks if getattr(mark, "name", None) is not None), name)
        if dataclasses.is_dataclass(hint):
            below = "" if omit else f"{prefix}{name}." if name else prefix
            inner |= _flags_of(hint, below, omit_prefixes=omit)
        else:
            found[field.name] = "--" + f"{prefix}{name}".replace("_", "-")
    return {**inner, **found}


def with_flags(message: str) -> str:
    """Return a message of the library in the command line's terms: flags in place of `parameters`."""

    def flag(match: re.Match[str]) -> str:
        return _flags.get(match[1], match[0])

    return re.sub(r"`(\w+)`", flag, message)


def parse_count(text: str, name: str = "game_frames") -> int:
    """Return the whole number that 250000, 250_000, 250K, 60M or 1.2B means."""
    from decimal import Decimal

    match = re.fullmatch(r"([+-]?\d[\d_]*(?:\.\d+)?)([KMB]?)", text.strip(), re.IGNORECASE)
    scale = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9}
    value = Decimal(match[1].replace("_", "")) * scale[match[2].upper()] if match else None
    if value is None or abs(value) > _MOST or value != int(value):
        raise ConfigError(
            f"expected `{name}` to be a whole number such as 250000, 60M or 1.2B, and {_MOST:,} at most, got "
            f"{text[:_LONGEST_COUNT]!r}"
        )
    return int(value)


def parse_problem(text: str | None) -> Problem | None:
    """Return the problem that the user named with --problem, if there is one."""
    return None if text is None else find_problem(text)
