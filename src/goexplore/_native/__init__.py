"""The compiled parts. Each has a reference in Python that gives the same bytes and runs in its place."""

from typing import Any

try:
    from goexplore._native import _atari, _cells
except ImportError:  # installed without a C compiler
    _atari = _cells = None  # type: ignore[assignment]

cells: Any = _cells
"""Cells from screens; None where nothing was compiled."""

atari: Any = _atari
"""The Atari engine; None where nothing was compiled."""
