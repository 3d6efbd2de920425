"""Pieces of the page: tables, pictures, numbers."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

from PIL import Image

from goexplore.runs import short_count as short

__all__ = ["duration", "png", "short", "table"]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()) -> str:
    """Return a table that narrow screens can scroll; columns in `numbers` are right-aligned."""
    body = "".join(_line("td", row, numbers) for row in rows)
    return (
        '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>'
        f"<thead>{_line('th', heads, numbers)}</thead><tbody>{body}</tbody></table></div>"
    )


def _line(tag: str, cells: Sequence[str], numbers: Sequence[int]) -> str:
    marked = (
        f'<{tag} class="number">{cell}</{tag}>' if index in numbers else f"<{tag}>{cell}</{tag}>"
        for index, cell in enumerate(cells)
    )
    return f"<tr>{''.join(marked)}</tr>"


def png(pixels: Any) -> str:
    """Return a picture as an address that holds it."""
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}"


def duration(seconds: float) -> str:
    """Return a time in minutes or hours."""
    return f"{seconds / 3600:.1f} h" if seconds >= 5400 else f"{seconds / 60:.1f} min"
