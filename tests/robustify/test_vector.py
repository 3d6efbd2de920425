"""Rollouts side by side, in one process and in several."""

import os
import signal
import time

import numpy as np
import pytest

from goexplore.errors import ConfigError, WorkerError
from goexplore.random import SplitMix64
from goexplore.robustify import RolloutConfig, Start
from goexplore.robustify._vector import ProcessVector, SerialVector

from .mazes import ACTIONS, library

STREAMS = [11, 12, 13, 14, 15]
CONFIG = RolloutConfig(after_success="go-on", lead_in=2, max_game_frames=60)


def history(vector, steps=150):
    """Everything that a vector does with random actions from random starts."""
    random, seen = SplitMix64(3), []

    def starts():
        return [Start(0, random.index(len(ACTIONS))) for _ in STREAMS]

    vector.begin(starts())
    for _ in range(steps):
        batch = vector.step(random.below(5, len(STREAMS)), starts())
        seen.append(
            (
                vector.observations.tobytes(),
                batch.rewards.tobytes(),
                batch.ended.tobytes(),
                batch.cut.tobytes(),
                batch.forced.tobytes(),
                batch.results,
                {number: final.tobytes() for number, final in batch.finals.items()},
            )
        )
    vector.close()
    return seen


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_worker_processes_change_nothing(workers):
    books = library()
    alone = history(SerialVector(books, CONFIG, STREAMS))
    assert any(step[5] for step in alone)
    assert any(step[6] for step in alone)
    assert history(ProcessVector(books, CONFIG, STREAMS, workers=workers)) == alone


def test_a_rollout_that_ends_is_followed_by_the_next():
    vector = SerialVector(library(), RolloutConfig(stickiness=0.0), STREAMS[:1])
    vector.begin([Start(0, 62)])
    batch = vector.step(np.array([ACTIONS[62]]), [Start(0, 30)])
    assert batch.ended.all()
    assert batch.results == [(0, (Start(0, 62), True))]
    np.testing.assert_array_equal(vector.observations[0], library().observation(0, 30))


def test_a_worker_that_is_killed_is_told():
    vector = ProcessVector(library(), CONFIG, STREAMS, workers=2)
    vector.begin([Start(0, 5)] * 5)
    os.kill(vector._processes[1].pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match="--resume"):
        vector.step(np.zeros(5, np.int64), [Start(0, 5)] * 5)
    vector.close()


def test_workers_go_when_the_vector_is_closed():
    vector = ProcessVector(library(), CONFIG, STREAMS, workers=2)
    processes = vector._processes
    vector.close()
    until = time.monotonic() + 10
    while any(process.is_alive() for process in processes) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(process.is_alive() for process in processes)


def test_more_workers_than_emulators_are_refused():
    with pytest.raises(ConfigError, match="1 to 5 workers"):
        ProcessVector(library(), CONFIG, STREAMS, workers=6)
