"""Cells as people write them on the command line: `grid(x, y, size=16) + rendering`."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable
from typing import Any

from goexplore.errors import ConfigError
from goexplore.problems._chosen_cells import Grid, Rendering
from goexplore.problems._registry import import_path
from goexplore.problems._specs import CellsSpec, Combination, DownscaledConfig, DynamicConfig, as_cells

_KINDS: dict[str, Callable[..., CellsSpec]] = {
    "downscaled": DownscaledConfig,
    "dynamic": DynamicConfig,
    "grid": Grid,
    "rendering": Rendering,
}
"""What a text may begin with."""

_IMPORT_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def cells_from_text(text: str) -> CellsSpec:
    """Return the cells that a text names.

    It is `dynamic`, `downscaled`, `rendering` or `grid(NAME, ...)`, with settings in parentheses as in
    Python, an import path such as `my_game:cell`, or a sum of these. Names in a grid need no quotes. A module
    is only imported because the user names it here.
    """
    parts = [_part(each.strip(), text) for each in _terms(text)]
    return parts[0] if len(parts) == 1 else Combination(tuple(parts))


def _terms(text: str) -> list[str]:
    """Return what stands between plus signs outside of parentheses."""
    terms, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "+" and depth == 0:
            terms.append("")
        else:
            terms[-1] += letter
    return terms


def _part(text: str, whole: str) -> CellsSpec:
    if _IMPORT_PATH.fullmatch(text):
        return as_cells(import_path(text))
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        raise _unknown(text, whole) from None
    arguments: list[Any] = []
    settings: dict[str, Any] = {}
    if isinstance(node, ast.Call):
        arguments = [_argument(each, text) for each in node.args]
        settings = {each.arg or "": _value(each.value, text) for each in node.keywords}
        node = node.func
    kind = _KINDS.get(node.id.lower()) if isinstance(node, ast.Name) else None
    if kind is None:
        raise _unknown(text, whole)
    try:
        return kind(*arguments, **settings)
    except TypeError as error:
        what = str(error).partition("() ")[2] or str(error)
        raise ConfigError(
            f"expected settings of {ast.unparse(node)} cells, got {text!r}: it {what}"
        ) from error


def _argument(node: ast.expr, text: str) -> Any:
    """Return a name, with or without quotes, or a mapping of names to sizes."""
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {
            _argument(key, text): _value(value, text)
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None
        }
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name | ast.Attribute) and re.fullmatch(r"[\w.]+", name := ast.unparse(node)):
        return name
    raise ConfigError(f"expected names, then settings such as size=16, got {ast.unparse(node)} in {text!r}")


def _value(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise ConfigError(
            f"expected numbers as settings, such as size=16, got {ast.unparse(node)} in {text!r}"
        ) from None


def _unknown(text: str, whole: str) -> ConfigError:
    word = re.match(r"\w*", text.lower())
    near = difflib.get_close_matches(word[0] if word else "", _KINDS, n=1)
    hint = f" Did you mean {near[0]}?" if near and near[0] != text else ""
    where = f" in {whole!r}" if text != whole.strip() else ""
    return ConfigError(
        f'expected cells such as {", ".join(sorted(_KINDS.keys() - {"grid"}))}, "grid(x, y, size=16)", '
        f"my_game:cell, or a sum of these, got {text!r}{where}.{hint}"
    )
