"""How does the speed grow with the cores? A measured model, and a simulation of up to 128 cores.

Measured: the processor time of an exploration in the kernel, how the lengths of explorations scatter, and
the serial time of a batch (selection, the archive's update, everything that is not in a kernel), which is a
time for each batch and one for each exploration. Simulated: cores that take the explorations of a batch one
after the other, wait for the last one, and for the serial part. Not in the model: memory bandwidth, cores
that share caches or slow down when all are busy, and other work on the machine.

python benchmarks/scaling.py --cells 1000 10000 100000 1000000 10000000
"""

from __future__ import annotations

import argparse
import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench_explore import problem_on
from goexplore.exploration import ExplorationConfig
from serial_part import SerialBenchmark

CORES = (1, 2, 4, 8, 16, 22, 32, 64, 128)
"""The paper's machine had 22."""
WAKE_SECONDS = 100e-6
"""From the end of the serial part until all threads explore, and back: assumed, not measured."""
SMALL, LARGE = 100, 1000
"""Batches with which the serial part is measured."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """What was measured for one problem and one size of the archive."""

    problem: str
    cells: int
    batch_size: int
    batch_seconds: float
    """Serial, for each batch."""
    exploration_seconds: float
    """Serial, for each exploration."""
    durations: NDArray[np.float64]
    """Of explorations in the kernel, in seconds."""
    game_frames: float
    """Of one exploration."""

    def serial_seconds(self, batch_size: int) -> float:
        """Return the serial part of a batch."""
        return self.batch_seconds + self.exploration_seconds * batch_size

    def batch_duration(self, cores: int, batch_size: int, random: np.random.Generator) -> float:
        """Simulate one batch; return how long it takes."""
        free = [0.0] * cores
        for duration in random.choice(self.durations, size=batch_size).tolist():
            heapq.heapreplace(free, free[0] + duration)  # the core that is free first takes the next one
        return max(free) + WAKE_SECONDS * (cores > 1) + self.serial_seconds(batch_size)

    def speed(self, cores: int, batch_size: int, batches: int = 30) -> float:
        """Return game frames per second."""
        random = np.random.default_rng(0)
        seconds = sum(self.batch_duration(cores, batch_size, random) for _ in range(batches))
        return batches * batch_size * self.game_frames / seconds


def measure(name: str, *, cells: int, workers: int, explorations: int) -> Model:
    """Measure what the model needs."""
    problem = problem_on("native", name)
    benchmark = SerialBenchmark(problem, cells=cells, workers=workers)
    large = benchmark.measure(explorations, LARGE)
    lengths = benchmark.lengths
    small = benchmark.measure(explorations, SMALL)
    benchmark.close()
    per_batch = (small.serial_microseconds - large.serial_microseconds) / (1 / SMALL - 1 / LARGE)
    per_batch = max(per_batch, 0.0)
    return Model(
        problem=name,
        cells=cells,
        batch_size=problem.exploration.batch_for(None),
        batch_seconds=per_batch * 1e-6,
        exploration_seconds=max(large.serial_microseconds - per_batch / LARGE, 0.0) * 1e-6,
        durations=lengths / lengths.mean() * large.kernel_microseconds * 1e-6,
        game_frames=large.game_frames,
    )


def print_serial(model: Model) -> None:
    """Print the serial part of an exploration, and the cores that it can feed."""
    serial = model.serial_seconds(model.batch_size) / model.batch_size
    kernel = float(model.durations.mean())
    print(
        f"| `{model.problem}` | {model.batch_size:,} | {model.cells:,} | {1e6 * serial:.1f} | "
        f"{1e6 * kernel:,.0f} | {kernel / serial:.0f} |",
        flush=True,
    )


def print_speed(models: list[Model]) -> None:
    """Print how many times as fast cores are as one, with the problem's batches and automatic ones."""
    auto = ExplorationConfig(batch_size="auto")
    sizes = [f"{model.cells:,} cells" for model in models]
    print(f"\n`{models[0].problem}`, batches of {models[0].batch_size:,} / automatic:\n")
    print(f"| cores | automatic batch | {' | '.join(sizes)} |")
    print("|---|---|" + "---|" * len(models))
    for cores in CORES:
        shown = []
        for model in models:
            one = model.speed(1, model.batch_size)
            ratios = (model.speed(cores, size) / one for size in (model.batch_size, auto.batch_for(cores)))
            shown.append(" / ".join(f"{ratio:.1f}" for ratio in ratios))
        print(f"| {cores} | {auto.batch_for(cores):,} | {' | '.join(shown)} |")
    one = models[0].speed(1, models[0].batch_size)
    print(f"\nOne core plays {one:,.0f} game frames per second.", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    names = ["montezuma", "montezuma-2021", "montezuma-pixels"]
    parser.add_argument("--problems", nargs="*", default=names)
    parser.add_argument("--cells", type=int, nargs="*", default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--explorations", type=int, default=3000)
    chosen = parser.parse_args()
    print("| problem | batch | cells | serial µs per exploration | kernel µs | cores that it can feed |")
    print("|---|---|---|---|---|---|")
    models: dict[str, list[Model]] = {name: [] for name in chosen.problems}
    for name, each in models.items():
        for cells in chosen.cells:
            model = measure(name, cells=cells, workers=chosen.workers, explorations=chosen.explorations)
            print_serial(model)
            each.append(model)
    for each in models.values():
        print_speed(each)


if __name__ == "__main__":
    main()
