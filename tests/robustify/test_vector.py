"""Rollouts side by side: one after the other, in threads and in processes."""

import os
import signal
import time

import numpy as np
import pytest

from goexplore.demos import find_demonstration
from goexplore.envs import NativeAtariEnv
from goexplore.errors import WorkerError
from goexplore.random import SplitMix64
from goexplore.robustify import EyesConfig, Library, RolloutConfig, Start
from goexplore.robustify._vector import NativeVector, ProcessVector, SerialVector, start_emulators

from .mazes import ACTIONS, library

STREAMS = [11, 12, 13, 14, 15]
CONFIG = RolloutConfig(after_success="go-on", lead_in=2, max_game_frames=60)
MAZES = {"points": len(ACTIONS), "actions": 5}


def history(vector, points, actions, steps=150):
    """Everything that a vector does with random actions from random starts."""
    random, seen = SplitMix64(3), []

    def starts():
        return [Start(0, random.index(points)) for _ in STREAMS]

    vector.begin(starts())
    for _ in range(steps):
        batch = vector.step(random.below(actions, len(STREAMS)), starts())
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
    alone = history(SerialVector(books, CONFIG, STREAMS), **MAZES)
    assert any(step[5] for step in alone)
    assert any(step[6] for step in alone)
    assert history(ProcessVector(books, CONFIG, STREAMS, workers=workers), **MAZES) == alone


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


def montezuma(engine):
    return Library([find_demonstration("montezuma-first-key-00")], EyesConfig(), engine)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_threads_change_nothing(workers):
    config = RolloutConfig(after_death=1.0, lead_in=2, max_game_frames=120)
    seen = {
        name: history(vector, points=70, actions=18)
        for name, vector in {
            "one by one, ale-py": SerialVector(montezuma("ale"), config, STREAMS),
            "one by one": SerialVector(montezuma("native"), config, STREAMS),
            "threads": NativeVector(montezuma("native"), config, STREAMS, workers=workers),
        }.items()
    }
    assert any(step[5] for step in seen["threads"])
    assert any(step[6] for step in seen["threads"])
    assert seen["threads"] == seen["one by one"] == seen["one by one, ale-py"]


def test_where_the_engine_cannot_go_on_only_that_rollout_is_cut(monkeypatch):
    vector = NativeVector(montezuma("native"), RolloutConfig(), STREAMS, workers=2)
    vector.begin([Start(0, 20)] * 5)
    play_each = NativeAtariEnv.play_each

    def refuse_one(envs, actions):
        steps = play_each(envs, actions)
        return [None if env is vector._envs[3] else step for env, step in zip(envs, steps, strict=True)]

    with monkeypatch.context() as broken:
        broken.setattr(NativeAtariEnv, "play_each", refuse_one)
        batch = vector.step(np.zeros(5, np.int64), [Start(0, 20)] * 5)
    assert batch.cut.tolist() == [False, False, False, True, False]
    assert batch.results == [(3, None)]
    assert not vector.step(np.zeros(5, np.int64), [Start(0, 20)] * 5).cut.any()
    vector.close()


def test_an_error_in_a_thread_is_raised():
    vector = NativeVector(montezuma("native"), RolloutConfig(), STREAMS, workers=5)
    vector.begin([Start(0, 20)] * 5)
    with pytest.raises(ValueError, match="below 18"):
        vector.step(np.array([0, 0, 0, 0, 18]), [Start(0, 20)] * 5)
    vector.close()


@pytest.mark.parametrize(
    ("engine", "workers", "kind", "threads"),
    [
        ("native", None, NativeVector, 3),
        ("native", 5, NativeVector, 5),
        ("ale", None, SerialVector, 0),
        ("ale", 2, ProcessVector, 0),
    ],
)
def test_workers_are_threads_for_the_native_engine_and_processes_for_others(engine, workers, kind, threads):
    books = montezuma(engine) if engine == "native" else library()
    vector = start_emulators(books, RolloutConfig(), range(24), workers=workers, cores=4)
    assert type(vector) is kind
    if threads:
        assert 1 + len(vector._threads) == threads
    vector.close()
