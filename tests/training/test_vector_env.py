"""Rollouts side by side: one after the other, in threads and in processes."""

import os
import signal
import time

import numpy as np
import pytest

from goexplore.demos import find_demonstrations
from goexplore.envs import NativeAtariEnv
from goexplore.errors import WorkerError
from goexplore.play import PreprocessingConfig
from goexplore.random import SplitMix64
from goexplore.training import DemonstrationBuffer, RolloutConfig, Start
from goexplore.training._vector_env import (
    NativeVectorEnvironment,
    ProcessVectorEnvironment,
    SerialVectorEnvironment,
    from_demonstrations,
    start_environments,
)
from tests.fields import Field, Lock
from tests.training.mazes import ACTIONS, buffer, demonstrate

STREAMS = [11, 12, 13, 14, 15]
CONFIG = RolloutConfig(after_success="go-on", burn_in=2, max_game_frames=60)
MAZES = {"points": len(ACTIONS), "actions": 5}


def history(vector_env, points, actions, steps=150):
    """Everything that a vector does with random actions from random starts."""
    random, seen = SplitMix64(3), []

    def starts():
        return [Start(0, random.index(points)) for _ in STREAMS]

    vector_env.begin(starts())
    for _ in range(steps):
        batch = vector_env.step(random.below(actions, len(STREAMS)), starts())
        seen.append(
            (
                vector_env.observations.tobytes(),
                batch.rewards.tobytes(),
                batch.terminated.tobytes(),
                batch.truncated.tobytes(),
                batch.forced.tobytes(),
                batch.results,
                {number: final.tobytes() for number, final in batch.finals.items()},
            )
        )
    vector_env.close()
    return seen


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_worker_processes_change_nothing(workers):
    demonstrated = buffer()
    alone = history(SerialVectorEnvironment(from_demonstrations(demonstrated, CONFIG), STREAMS), **MAZES)
    assert any(step[5] for step in alone)
    assert any(step[6] for step in alone)
    assert (
        history(
            ProcessVectorEnvironment(from_demonstrations(demonstrated, CONFIG), STREAMS, workers=workers),
            **MAZES,
        )
        == alone
    )


@pytest.mark.parametrize(("env", "actions"), [(Field, bytes([0] * 5)), (Lock, (950, 850, 899, 700))])
def test_nor_do_they_for_vectors_and_many_actions(env, actions):
    """Vectors are numbers of 32 bits in the memory that processes share."""
    demonstrated = buffer(demonstrate(actions, env))
    settings = {"points": len(actions), "actions": env.action_count}
    alone = history(SerialVectorEnvironment(from_demonstrations(demonstrated, CONFIG), STREAMS), **settings)
    workers = ProcessVectorEnvironment(from_demonstrations(demonstrated, CONFIG), STREAMS, workers=2)
    assert workers.observations.dtype == np.float32
    assert history(workers, **settings) == alone


def test_a_rollout_that_ends_is_followed_by_the_next():
    vector_env = SerialVectorEnvironment(
        from_demonstrations(buffer(), RolloutConfig(repeat_action_probability=0.0)), STREAMS[:1]
    )
    vector_env.begin([Start(0, 62)])
    batch = vector_env.step(np.array([ACTIONS[62]]), [Start(0, 30)])
    assert batch.terminated.all()
    assert batch.results == [(0, (Start(0, 62), True))]
    np.testing.assert_array_equal(vector_env.observations[0], buffer().observation(0, 30))


def test_a_worker_that_is_killed_is_told():
    vector_env = ProcessVectorEnvironment(from_demonstrations(buffer(), CONFIG), STREAMS, workers=2)
    vector_env.begin([Start(0, 5)] * 5)
    os.kill(vector_env._processes[1].pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match="`resume`"):
        vector_env.step(np.zeros(5, np.int64), [Start(0, 5)] * 5)
    vector_env.close()


def test_workers_go_when_the_vector_is_closed():
    vector_env = ProcessVectorEnvironment(from_demonstrations(buffer(), CONFIG), STREAMS, workers=2)
    processes = vector_env._processes
    vector_env.close()
    until = time.monotonic() + 10
    while any(process.is_alive() for process in processes) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(process.is_alive() for process in processes)


def montezuma(engine):
    demonstrations = find_demonstrations("montezuma-first-key-00", verify=False)
    return DemonstrationBuffer(
        demonstrations, PreprocessingConfig(), demonstrations[0].env.with_engine(engine).env
    )


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_threads_change_nothing(workers):
    config = RolloutConfig(after_death=1.0, burn_in=2, max_game_frames=120)
    seen = {
        name: history(vector_env, points=70, actions=18)
        for name, vector_env in {
            "one by one, ale-py": SerialVectorEnvironment(
                from_demonstrations(montezuma("ale"), config), STREAMS
            ),
            "one by one": SerialVectorEnvironment(from_demonstrations(montezuma("native"), config), STREAMS),
            "threads": NativeVectorEnvironment(
                from_demonstrations(montezuma("native"), config), STREAMS, workers=workers
            ),
        }.items()
    }
    assert any(step[5] for step in seen["threads"])
    assert any(step[6] for step in seen["threads"])
    assert seen["threads"] == seen["one by one"] == seen["one by one, ale-py"]


def test_where_the_engine_cannot_go_on_only_that_rollout_is_truncated(monkeypatch):
    vector_env = NativeVectorEnvironment(
        from_demonstrations(montezuma("native"), RolloutConfig()), STREAMS, workers=2
    )
    vector_env.begin([Start(0, 20)] * 5)
    play_each = NativeAtariEnv.play_each

    def refuse_one(envs, actions):
        steps = play_each(envs, actions)
        return [None if env is vector_env._envs[3] else step for env, step in zip(envs, steps, strict=True)]

    with monkeypatch.context() as broken:
        broken.setattr(NativeAtariEnv, "play_each", refuse_one)
        batch = vector_env.step(np.zeros(5, np.int64), [Start(0, 20)] * 5)
    assert batch.truncated.tolist() == [False, False, False, True, False]
    assert batch.results == [(3, None)]
    assert not vector_env.step(np.zeros(5, np.int64), [Start(0, 20)] * 5).truncated.any()
    vector_env.close()


def test_an_error_in_a_thread_is_raised():
    vector_env = NativeVectorEnvironment(
        from_demonstrations(montezuma("native"), RolloutConfig()), STREAMS, workers=5
    )
    vector_env.begin([Start(0, 20)] * 5)
    with pytest.raises(ValueError, match="below 18"):
        vector_env.step(np.array([0, 0, 0, 0, 18]), [Start(0, 20)] * 5)
    vector_env.close()


@pytest.mark.parametrize(
    ("engine", "workers", "kind", "threads"),
    [
        ("native", None, NativeVectorEnvironment, 3),
        ("native", 5, NativeVectorEnvironment, 5),
        ("ale", None, SerialVectorEnvironment, 0),
        ("ale", 2, ProcessVectorEnvironment, 0),
    ],
)
def test_workers_are_threads_for_the_native_engine_and_processes_for_others(engine, workers, kind, threads):
    demonstrated = montezuma(engine) if engine == "native" else buffer()
    vector_env = start_environments(
        from_demonstrations(demonstrated, RolloutConfig()), range(24), workers=workers, cores=4
    )
    assert type(vector_env) is kind
    if threads:
        assert 1 + len(vector_env._threads) == threads
    vector_env.close()


class Bomb(Field):
    """Goes off at the second step downwards."""

    downwards = 0

    def step(self, action):
        self.downwards += action == 2
        if self.downwards == 2:
            raise RuntimeError("bang")
        return super().step(action)


def test_an_environment_that_fails_in_a_worker_is_told_with_its_words():
    demonstrated = buffer(demonstrate(bytes([0] * 5), Bomb))
    config = RolloutConfig(repeat_action_probability=0.0)
    vector_env = ProcessVectorEnvironment(from_demonstrations(demonstrated, config), STREAMS, workers=2)
    starts, down = [Start(0, 0)] * 5, np.full(5, 2)
    vector_env.begin(starts)
    vector_env.step(down, starts)
    with pytest.raises(WorkerError, match="bang"):
        vector_env.step(down, starts)
    vector_env.close()
