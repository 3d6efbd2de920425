"""A training's picture: starting points over training (paper, figure 6) and success from the real start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from goexplore.files import written_whole


def draw_training(metrics: Sequence[dict[str, Any]], file: Path) -> None:
    """Draw a training's metrics as an image; nothing where there are none."""
    if not metrics:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import PercentFormatter

    frames = [line["training_frames"] / 1e6 for line in metrics]
    figure, (points, success) = pyplot.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    count = len(metrics[0]["starting_points"])
    for number in range(count):
        colour = pyplot.get_cmap("viridis")(number / max(count - 1, 1))
        points.plot(frames, [line["starting_points"][number] for line in metrics], color=colour, linewidth=1)
    points.set_title(f"maximum starting point, training frames ({count} demonstrations)", loc="left", size=10)
    points.set_ylim(bottom=0)
    known = [
        (at, line["real_start_success"])
        for at, line in zip(frames, metrics, strict=True)
        if "real_start_success" in line
    ]
    if known:
        success.plot(*zip(*known, strict=True), color="#2f7fd1")
    success.set_title("rollouts from the real start that succeed, of the last 200", loc="left", size=10)
    success.set_ylim(0, 1)
    success.yaxis.set_major_formatter(PercentFormatter(1.0))
    success.set_xlabel("million training frames")
    for axis in (points, success):
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.3)
    with written_whole(file) as aside:
        figure.savefig(aside, dpi=110)
    pyplot.close(figure)
