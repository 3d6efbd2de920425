"""What does Ray cost? Its speed beside threads of one process, with the native engine and as many workers.

Machines are noisy, so the result is a ratio of things measured in turns, in one run. The cluster has one or
more nodes on this machine, which share its cores: each gets the same part of the workers. Where other
programs use these cores too, more processes get a larger share of them, and only the ratio of game frames per
second of processor time, of all processes together, means anything.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

import psutil

from bench_explore import explore_for, make_search, problem_on, ratio_of_turns
from goexplore.api import usable_cores
from goexplore.exploration import Search


@contextlib.contextmanager
def cluster(nodes: int, workers: int) -> Iterator[str]:
    """Start a Ray cluster of several nodes on this machine; yield its address."""
    from ray.cluster_utils import Cluster

    made: Any = Cluster(
        initialize_head=True, head_node_args={"num_cpus": workers, "include_dashboard": False}
    )
    try:
        for _ in range(nodes - 1):
            made.add_node(num_cpus=workers)
        yield made.address
    finally:
        made.shutdown()


def processor_seconds() -> float:
    """Return the processor time of this process and of all below it, which are those of Ray."""
    total = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def per_processor_second(search: Search, seconds: float) -> float:
    """Explore for a while and return game frames per second of processor time."""
    used, frames = processor_seconds(), search.status.game_frames
    explore_for(search, seconds)
    return (search.status.game_frames - frames) / (processor_seconds() - used)


def against_threads(name: str, *, nodes: int, workers: int, turns: int, seconds: float) -> dict[str, float]:
    """Return the speed with Ray relative to that of as many threads, by wall time and by processor time."""
    problem = problem_on("native", name)
    with cluster(nodes, workers // nodes) as address:
        threads = make_search(problem, problem.make_executor(workers))
        ray = make_search(problem, problem.make_executor(None, executor="ray", ray_address=address))
        explore_for(threads, 20.0)  # translations of the ROM, and the first cells
        ray.run(lambda status: status.batches >= threads.status.batches)
        ratio, fast, bare = ratio_of_turns(
            lambda duration: explore_for(ray, duration),
            lambda duration: explore_for(threads, duration),
            turns=turns,
            seconds=seconds,
        )
        by_processor, _, _ = ratio_of_turns(
            lambda duration: per_processor_second(ray, duration),
            lambda duration: per_processor_second(threads, duration),
            turns=turns,
            seconds=seconds,
        )
        ray.executor.close()
        threads.executor.close()
    print(
        f"{name}, {nodes} node{'s' * (nodes != 1)}: {ratio:.3f} of threads ({fast:,.0f} of {bare:,.0f} game "
        f"frames/s, {workers} workers, batches of {problem.exploration.batch_size}); {by_processor:.3f} per "
        "second of processor time",
        flush=True,
    )
    return {"wall": round(ratio, 3), "processor": round(by_processor, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--problem", default="montezuma")
    parser.add_argument("--workers", type=int, default=usable_cores())
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=4.0)
    chosen = parser.parse_args()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ratios = {
        str(nodes): against_threads(
            chosen.problem, nodes=nodes, workers=chosen.workers, turns=chosen.turns, seconds=chosen.seconds
        )
        for nodes in (1, 2)
        if chosen.workers >= nodes
    }
    print(json.dumps({"ray_against_threads": ratios}))


if __name__ == "__main__":
    main()
