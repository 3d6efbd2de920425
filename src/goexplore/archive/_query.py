"""Questions about an archive's table, in words such as `room == 5 and score > 100`."""

from __future__ import annotations

import ast
import difflib
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from goexplore.errors import ConfigError

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_EXAMPLE = 'write something like "room == 5 and score > 100"'


def where(text: str, columns: Sequence[str]) -> pc.Expression:
    """Return the condition that a text asks for: comparisons of columns with values, and, or, not."""
    try:
        return _condition(ast.parse(text.strip(), mode="eval").body, columns)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ConfigError(f"expected a condition, got {text!r} ({error}): {_EXAMPLE}") from error


def _condition(node: ast.expr, columns: Sequence[str]) -> Any:
    if isinstance(node, ast.BoolOp):
        parts = [_condition(value, columns) for value in node.values]
        return reduce(operator.and_ if isinstance(node.op, ast.And) else operator.or_, parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ~_condition(node.operand, columns)
    if isinstance(node, ast.Compare):
        if not {type(compare) for compare in node.ops} <= _COMPARISONS.keys():
            raise ConfigError(f"expected ==, !=, <, <=, > or >=, got {ast.unparse(node)!r}: {_EXAMPLE}")
        values = [_value(each, columns) for each in (node.left, *node.comparators)]
        parts = [
            _COMPARISONS[type(compare)](left, right)
            for compare, (left, right) in zip(node.ops, pairwise(values), strict=True)
        ]
        return reduce(operator.and_, parts)
    raise ConfigError(f"expected comparisons, and, or, not; got {ast.unparse(node)!r}: {_EXAMPLE}")


def _value(node: ast.expr, columns: Sequence[str]) -> Any:
    if isinstance(node, ast.Name):
        if node.id not in columns:
            near = difflib.get_close_matches(node.id, columns, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ConfigError(f"expected a column ({', '.join(columns)}), got {node.id!r}.{hint}")
        return pc.field(node.id)
    try:
        value = ast.literal_eval(node)
        if isinstance(value, int | float | str):
            return pc.scalar(value)
    except (ValueError, TypeError, OverflowError):
        pass
    raise ConfigError(f"expected a column, a number or a text, got {ast.unparse(node)!r}: {_EXAMPLE}")


def select(table: pa.Table, text: str | None, *, sort: str | None, descending: bool) -> pa.Table:
    """Return the rows that a condition is true of, in the order of a column."""
    names = table.column_names
    if text is not None:
        try:
            table = table.filter(where(text, names))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise ConfigError(
                f"expected a condition that fits the columns, got {text!r} ({error}): compare numbers with "
                "numbers and texts with texts"
            ) from error
    if sort is not None:
        if sort not in names:
            raise ConfigError(f"expected a column to sort by ({', '.join(names)}), got {sort!r}")
        table = table.sort_by([(sort, "descending" if descending else "ascending")])
    return table
