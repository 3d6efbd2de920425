"""A training's curves: starting points (paper, figure 5) or success along the way, and from the start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from goexplore.files import written_whole
from goexplore.runs import TrainingMetrics

Metrics = Sequence[TrainingMetrics]


def plot_curriculum(axis: Any, metrics: Metrics) -> None:
    """Draw where the training is: a starting point per demonstration, or success along the way."""
    if metrics[-1].starting_points:
        points = [(line.training_frames, line.starting_points) for line in metrics]
        _plot_each(axis, points)
        axis.set_title("maximum starting point", fontsize=12, loc="left")
        axis.set_ylim(bottom=0)
    else:
        rates = [
            (line.training_frames, [100 * rate for rate in line.success_along_the_way])
            for line in metrics
            if line.success_along_the_way
        ]
        _plot_each(axis, rates)
        axis.set_title(
            "success from each tenth of the way, the first one darkest, %", fontsize=12, loc="left"
        )
        axis.set_ylim(0, 100)
    _label(axis)


def _plot_each(axis: Any, values: Sequence[tuple[int, Sequence[float]]]) -> None:
    from matplotlib import pyplot

    frames = [training_frames / 1e6 for training_frames, _ in values]
    count = len(values[-1][1]) if values else 0
    for number in range(count):
        colour = pyplot.get_cmap("viridis")(0.15 + 0.7 * number / max(count - 1, 1))
        axis.plot(frames, [each[number] for _, each in values], color=colour, lw=1.2)


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
    if axis.lines:
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
    plot_curriculum(points, metrics)
    plot_success(success, metrics)
    points.set_xlabel("")
    for axis in (points, success):
        axis.grid(alpha=0.3)
    with written_whole(file) as aside:
        figure.savefig(aside, dpi=110)
    pyplot.close(figure)
