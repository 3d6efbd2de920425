"""A training's curves: starting points over training (paper, figure 5) and success from the real start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from goexplore.files import written_whole
from goexplore.runs import TrainingMetrics

Metrics = Sequence[TrainingMetrics]


def plot_starting_points(axis: Any, metrics: Metrics) -> None:
    """Draw one line per demonstration."""
    from matplotlib import pyplot

    frames = [line.training_frames / 1e6 for line in metrics]
    count = len(metrics[0].starting_points)
    for number in range(count):
        colour = pyplot.get_cmap("viridis")(0.15 + 0.7 * number / max(count - 1, 1))
        axis.plot(frames, [line.starting_points[number] for line in metrics], color=colour, lw=1.2)
    axis.set_title("maximum starting point", fontsize=12, loc="left")
    axis.set_ylim(bottom=0)
    _label(axis)


def plot_success(axis: Any, metrics: Metrics) -> None:
    """Draw the share of rollouts from the real start that succeed, from when there are such on."""
    known = [line for line in metrics if line.real_start_success is not None]
    frames = [line.training_frames / 1e6 for line in known]
    axis.plot(frames, [100 * (line.real_start_success or 0.0) for line in known], color="#2f7fd1", lw=1.8)
    axis.set_title("success from the real start, %", fontsize=12, loc="left")
    axis.set_ylim(0, 100)
    _label(axis)


def _label(axis: Any) -> None:
    axis.set_xlabel("million training frames")
    axis.set_xlim(left=0)
    axis.spines[["top", "right"]].set_visible(False)


def draw_training(metrics: Metrics, file: Path) -> None:
    """Draw a training's metrics as an image; nothing where there are none."""
    if not metrics:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (points, success) = pyplot.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    plot_starting_points(points, metrics)
    plot_success(success, metrics)
    points.set_xlabel("")
    for axis in (points, success):
        axis.grid(alpha=0.3)
    with written_whole(file) as aside:
        figure.savefig(aside, dpi=110)
    pyplot.close(figure)
