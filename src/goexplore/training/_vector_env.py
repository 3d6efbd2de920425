"""Many rollouts side by side: one after the other, in threads, or in processes that share observations."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import shared_memory
from multiprocessing.connection import Connection
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from goexplore.envs import NativeAtariEnv
from goexplore.errors import GoExploreError, WorkerError
from goexplore.files import pack, unpack
from goexplore.problems import EnvironmentSpec
from goexplore.processes import interrupts_wait, obey_parent
from goexplore.random import SplitMix64
from goexplore.runs import EndedRollout
from goexplore.training._bank_rollout import OwnStates, SavedOwnStates
from goexplore.training._buffer import DemonstrationBuffer
from goexplore.training._curriculum import Result, Start
from goexplore.training._rollout import DemonstrationRollout, Rollout, RolloutConfig, Transition

Observations = NDArray[Any]


@dataclass(kw_only=True)
class Batch:
    """What one training frame of every rollout brought."""

    rewards: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    forced: NDArray[np.int64]
    """The action that was played instead of the policy's, or -1."""
    results: list[tuple[int, Result | None]] = field(default_factory=list)
    """Of the rollouts that are over, by the number of their emulator."""
    finals: dict[int, Observations] = field(default_factory=dict)
    """What those saw at the end that were cut."""
    ended: list[EndedRollout] = field(default_factory=list)
    """Where and how these rollouts ended."""


class VectorEnvironment(Protocol):
    """Emulators that play rollouts. Where one is over, the next begins at once, where `starts` says."""

    observations: Observations
    """What each sees now: environments x channels x rows x columns. Overwritten by every step."""
    processes: int
    """In which the emulators play."""

    def begin(self, starts: Sequence[Start]) -> None:
        """Begin all rollouts."""
        ...

    def step(self, actions: NDArray[np.int64], starts: Sequence[Start]) -> Batch:
        """Play one training frame each; `starts` are where the next rollouts begin."""
        ...

    def state(self) -> list[bytes]:
        """Return all rollouts under way, one packed part for each process that plays."""
        ...

    def restore(self, parts: Sequence[bytes]) -> None:
        """Go on with rollouts instead of beginning new ones; raise ValueError where they do not fit."""
        ...

    def close(self) -> None:
        """Free everything."""
        ...


_ENVIRONMENTS_PER_THREAD = 8
"""At least: fewer have played before another core has woken up."""


@dataclass(frozen=True)
class RolloutFactory:
    """Makes rollouts of one kind."""

    make: Callable[[SplitMix64], Rollout]
    """Given its draws."""
    env: EnvironmentSpec
    shape: tuple[int, ...]
    """Of an observation."""
    dtype: np.dtype[Any]
    own: OwnStates | None = None
    """What the rollouts of one process share, where they do."""


def from_demonstrations(buffer: DemonstrationBuffer, config: RolloutConfig) -> RolloutFactory:
    """Return what makes rollouts of the Backward Algorithm."""
    make = partial(DemonstrationRollout, buffer, config)
    return RolloutFactory(make, buffer.env, buffer.shape, buffer.dtype)


def start_environments(
    factory: RolloutFactory,
    streams: Sequence[int],
    *,
    workers: int | None,
    cores: int,
) -> VectorEnvironment:
    """Start an environment per stream, the state of its random generator; workers affect only the speed.

    The native engine plays without the interpreter's lock, so its workers are threads, of which the calling
    one is the first; others need processes. Where `workers` is None, the native engine has a thread for each
    of the `cores`, but not for a handful of environments; others play in the calling thread.
    """
    natively = factory.env.engine == "native"
    if workers is None:
        workers = max(1, min(cores, len(streams) // _ENVIRONMENTS_PER_THREAD)) if natively else 1
    if natively:
        return NativeVectorEnvironment(factory, streams, workers=workers)
    if workers > 1:
        return ProcessVectorEnvironment(factory, streams, workers=workers)
    return SerialVectorEnvironment(factory, streams)


@dataclass
class _SavedPart:
    rollouts: list[bytes]
    own: SavedOwnStates = field(default_factory=dict)


class SerialVectorEnvironment:
    """All in this thread, one after the other."""

    processes = 1

    def __init__(
        self,
        factory: RolloutFactory,
        streams: Sequence[int],
        observations: Observations | None = None,
    ) -> None:
        self._rollouts = [factory.make(SplitMix64(stream)) for stream in streams]
        self._own = factory.own
        if observations is None:
            observations = np.zeros((len(streams), *factory.shape), factory.dtype)
        self.observations = observations
        for rollout, observation in zip(self._rollouts, self.observations, strict=True):
            rollout.preprocessor.observation = observation

    def begin(self, starts: Sequence[Start]) -> None:
        """Begin all rollouts."""
        for rollout, start in zip(self._rollouts, starts, strict=True):
            rollout.begin(start)

    def step(self, actions: NDArray[np.int64], starts: Sequence[Start]) -> Batch:
        """Play one training frame each."""
        count = len(self._rollouts)
        batch = Batch(
            rewards=np.zeros(count, np.float32),
            terminated=np.zeros(count, np.bool_),
            truncated=np.zeros(count, np.bool_),
            forced=np.full(count, -1),
        )
        for number, (rollout, moved) in enumerate(
            zip(self._rollouts, self._play(actions.tolist()), strict=True)
        ):
            batch.rewards[number] = moved.reward
            batch.terminated[number], batch.truncated[number] = moved.terminated, moved.truncated
            if moved.forced is not None:
                batch.forced[number] = moved.forced
            if moved.terminated or moved.truncated:
                batch.results.append((number, rollout.result()))
                batch.ended.append(rollout.ended())
                if moved.truncated:
                    batch.finals[number] = self.observations[number].copy()
                rollout.begin(starts[number])
        return batch

    def state(self) -> list[bytes]:
        """Return all rollouts under way."""
        saved = _SavedPart([pack(rollout.state()) for rollout in self._rollouts])
        if self._own is not None:
            saved.own.update(self._own.state())
        return [pack(saved)]

    def restore(self, parts: Sequence[bytes]) -> None:
        """Go on with rollouts instead of beginning new ones."""
        (part,) = parts
        saved = unpack(_SavedPart, part)
        for rollout, state in zip(self._rollouts, saved.rollouts, strict=True):
            rollout.restore(state)
        if self._own is not None:
            self._own.restore(saved.own, self.observations[0])

    def _play(self, actions: list[int]) -> Iterable[Transition]:
        return (rollout.step(action) for rollout, action in zip(self._rollouts, actions, strict=True))

    def close(self) -> None:
        """Nothing is open."""


class NativeVectorEnvironment(SerialVectorEnvironment):
    """The native engine's environments play in this thread and in others; everything else is done in between.

    Each thread keeps its environments, and so their screens in its core's cache. The interpreter's lock is
    asked for once per step and thread: if it were once per environment, threads would gain nothing.
    """

    def __init__(self, factory: RolloutFactory, streams: Sequence[int], *, workers: int) -> None:
        """Share out the environments: to this thread and the others."""
        super().__init__(factory, streams)
        self._envs = [cast(NativeAtariEnv, rollout.env) for rollout in self._rollouts]
        self._mine, *self._others = _share(len(streams), workers)
        self._threads = [ThreadPoolExecutor(1, thread_name_prefix="environments") for _ in self._others]

    def _play(self, actions: list[int]) -> Iterable[Transition]:
        bursts = [
            bytes(rollout.draw(action)) for rollout, action in zip(self._rollouts, actions, strict=True)
        ]
        elsewhere = [
            thread.submit(NativeAtariEnv.play_each, self._envs[part], bursts[part])
            for thread, part in zip(self._threads, self._others, strict=True)
        ]
        steps = NativeAtariEnv.play_each(self._envs[self._mine], bursts[self._mine])
        for part in elsewhere:
            steps += part.result()
        return (rollout.finish_step(step) for rollout, step in zip(self._rollouts, steps, strict=True))

    def close(self) -> None:
        """Stop the threads."""
        for thread in self._threads:
            thread.shutdown()


class ProcessVectorEnvironment:
    """Emulators in worker processes; what they see is in memory that all processes share."""

    def __init__(self, factory: RolloutFactory, streams: Sequence[int], *, workers: int) -> None:
        """Start the workers, each with as many environments as the others."""
        shape = (len(streams), *factory.shape)
        size = int(np.prod(shape)) * factory.dtype.itemsize
        self._memory = shared_memory.SharedMemory(create=True, size=size)
        self.observations = np.ndarray(shape, factory.dtype, self._memory.buf)
        self._slices = _share(len(streams), workers)
        self.processes = workers
        context = multiprocessing.get_context("fork")  # what rollouts begin from is there already
        self._connections: list[Connection] = []
        self._processes = []
        for part in self._slices:
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_serve,
                args=(theirs, factory, streams[part], self.observations[part], os.getpid()),
                daemon=True,
            )
            with interrupts_wait():
                process.start()
            theirs.close()
            self._connections.append(ours)
            self._processes.append(process)

    def begin(self, starts: Sequence[Start]) -> None:
        """Begin all rollouts."""
        self._ask([("begin", (list(starts[part]),)) for part in self._slices])

    def step(self, actions: NDArray[np.int64], starts: Sequence[Start]) -> Batch:
        """Play one training frame each."""
        parts = self._ask([("step", (actions[part], list(starts[part]))) for part in self._slices])
        return Batch(
            rewards=np.concatenate([part.rewards for part in parts]),
            terminated=np.concatenate([part.terminated for part in parts]),
            truncated=np.concatenate([part.truncated for part in parts]),
            forced=np.concatenate([part.forced for part in parts]),
            results=[
                (where.start + number, result)
                for where, part in zip(self._slices, parts, strict=True)
                for number, result in part.results
            ],
            finals={
                where.start + number: final
                for where, part in zip(self._slices, parts, strict=True)
                for number, final in part.finals.items()
            },
            ended=[each for part in parts for each in part.ended],
        )

    def state(self) -> list[bytes]:
        """Return all rollouts under way."""
        return [part for (part,) in self._ask([("state", ())] * len(self._slices))]

    def restore(self, parts: Sequence[bytes]) -> None:
        """Go on with rollouts instead of beginning new ones."""
        self._ask([("restore", ([part],)) for _, part in zip(self._slices, parts, strict=True)])

    def _ask(self, questions: Sequence[tuple[str, tuple[Any, ...]]]) -> list[Any]:
        try:
            for connection, question in zip(self._connections, questions, strict=True):
                connection.send(question)
            answers = [connection.recv() for connection in self._connections]
        except (EOFError, OSError) as error:
            raise WorkerError(
                "expected environments in worker processes to answer, got one that is gone (out of memory or "
                "killed): go on from the last checkpoint with `resume`"
            ) from error
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def close(self) -> None:
        """Stop the workers and give back the memory."""
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.send(None)
            connection.close()
        for process in self._processes:
            process.join(5)
            process.kill()
        self.observations = np.zeros((0,), np.uint8)  # lets go of the memory
        with contextlib.suppress(BufferError):
            self._memory.close()
        with contextlib.suppress(FileNotFoundError):
            self._memory.unlink()


def _share(environments: int, workers: int) -> list[slice]:
    """Return which environments each worker has."""
    return [
        slice(environments * each // workers, environments * (each + 1) // workers) for each in range(workers)
    ]


def _serve(
    connection: Connection,
    factory: RolloutFactory,
    streams: Sequence[int],
    observations: Observations,
    parent: int,
) -> None:
    """Play what the parent asks for, until it is gone."""
    obey_parent(parent)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # that is how they end if the parent forgets them
    vector_env = SerialVectorEnvironment(factory, streams, observations)
    while True:
        try:
            question = connection.recv()
        except (EOFError, OSError):
            return
        if question is None:
            return
        method, arguments = question
        answer: Any
        try:
            answer = getattr(vector_env, method)(*arguments)
        except (GoExploreError, ValueError) as error:
            answer = error
        except Exception as error:
            answer = WorkerError(f"expected an emulator to go on, got {error!r}: please report this")
        connection.send(answer)
