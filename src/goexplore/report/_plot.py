"""Plots as parts of the page: SVG that takes its colours from the page's style."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

INK, FAINT = "#010203", "#040506"
"""Stand for colours of the page, which knows whether it is light or dark."""


def draw_svg(draw: Callable[[Any, Any], None], *, size: tuple[float, float], name: str, label: str) -> str:
    """Return what `draw(figure, axis)` draws; `name` keeps it apart from other plots of the page."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context({"svg.fonttype": "none", "font.size": 11, "svg.hashsalt": "goexplore"}):
        figure, axis = pyplot.subplots(figsize=size, layout="constrained")
        draw(figure, axis)
        axis.xaxis.label.set_color(INK)
        axis.tick_params(colors=INK)
        figure.patch.set_alpha(0)
        axis.patch.set_alpha(0)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        pyplot.close(figure)
    svg = re.sub(r"^.*?(?=<svg)", "", text.getvalue(), flags=re.DOTALL)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = svg.replace(INK, "var(--ink)").replace(FAINT, "var(--faint)")
    frame = rf'<svg viewBox="\1" role="img" aria-label="{label}">'
    return re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', frame, svg, count=1)
