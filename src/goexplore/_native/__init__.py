"""The compiled parts. Each has a reference in Python that gives the same bytes and runs in its place."""

from typing import Any

missing_because = "it was not compiled when goexplore was installed"
"""Why there are no compiled parts, where there are none."""

try:
    from goexplore._native import _atari, _cells
except ImportError as error:
    _atari = _cells = None  # type: ignore[assignment]
    if not isinstance(error, ModuleNotFoundError) and "cannot import name" not in str(error):
        missing_because = f"it cannot be loaded: {error}"

cells: Any = _cells
"""Cells from screens; None where nothing was compiled."""

atari: Any = _atari
"""The Atari engine; None where nothing was compiled."""
