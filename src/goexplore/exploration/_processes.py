"""Explorations in worker processes, because the emulator holds the interpreter's lock."""

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import traceback
import warnings
from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeAlias

from goexplore.archive import Changes, Findings, Scoreboard
from goexplore.errors import ConfigError, WorkerError
from goexplore.exploration._executor import KernelFactory, Listener
from goexplore.exploration._kernel import Task

_MAX_PORTION = 8
"""Tasks sent at once: enough that a worker seldom waits for the next ones."""

_MAX_CRASHES = 3
"""Crashes of one task before it is given up: some emulator states crash whatever restores them."""

_Pipe: TypeAlias = "Connection[Any, Any]"


@dataclass
class _Worker:
    process: BaseProcess
    pipe: _Pipe
    portion: tuple[int, ...] = ()
    """Indices of the tasks that it is running."""


class ProcessExecutor:
    """Workers hold an emulator and a copy of the board each, get small tasks and send back findings.

    A worker that dies is replaced and its tasks run again: findings depend on nothing but the task and the
    board, so the archive does not tell. `crashed_tasks` counts the explorations that were given up because
    they killed every worker that ran them; they count as having found nothing.
    """

    def __init__(self, make_kernel: KernelFactory, *, workers: int) -> None:
        if workers < 1:
            raise ConfigError(f"expected at least 1 worker, got {workers}: set --workers to 1 or more")
        self.crashed_tasks = 0
        self.replaced_workers = 0
        self._make_kernel = make_kernel
        self._count = workers
        self._board = Scoreboard()
        self._interrupted = False
        # Forking needs neither importable user code nor a guarded main module; elsewhere it is not safe.
        self._context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        # Now, while this process is small: a forked worker shares, and keeps, what is in memory.
        self._workers = [self._launch() for _ in range(workers)]

    @property
    def workers(self) -> int:
        """Number of worker processes."""
        return self._count

    @property
    def process_ids(self) -> list[int]:
        """Ids of the worker processes."""
        return [worker.process.pid for worker in self._workers if worker.process.pid is not None]

    def start(self, board: Scoreboard) -> None:
        """Give each worker a copy of the board."""
        self._board = board
        for piece in board.pieces():
            self.learn(piece)

    def learn(self, changes: Changes) -> None:
        """Bring all workers' copies up to date."""
        for worker in self._workers:
            _send(worker, changes)

    def run(self, tasks: Sequence[Task], hear: Listener) -> list[Findings]:
        """Run explorations on all workers and return their findings in the order of the tasks."""
        if self._interrupted:
            self._restart()  # workers may still be busy with, and remember, a batch that was dropped
        self._interrupted = True
        findings = self._run(tasks, hear)
        self._interrupted = False
        if all(found is _NOTHING_FOUND for found in findings):
            raise WorkerError(
                f"every exploration of a batch of {len(tasks)} crashed its worker {_MAX_CRASHES} times: "
                "try --serial, or check the environment"
            )
        return findings

    def _run(self, tasks: Sequence[Task], hear: Listener) -> list[Findings]:
        findings: dict[int, Findings] = {}
        crashes = [0] * len(tasks)
        waiting = deque(range(len(tasks)))
        while len(findings) < len(tasks):
            for worker in self._workers:
                if waiting and not worker.portion:
                    worker.portion = self._portion(waiting, crashes)
                    _send(worker, [tasks[index] for index in worker.portion])
            busy = {worker.pipe: worker for worker in self._workers if worker.portion}
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                try:
                    answer = worker.pipe.recv()
                except (EOFError, ConnectionResetError):
                    findings |= self._replace(worker, waiting, crashes)
                    continue
                if isinstance(answer, WorkerError):
                    raise answer
                findings.update(zip(worker.portion, answer, strict=True))
                worker.portion = ()
                for found in answer:
                    hear(found)
        return [findings[index] for index in range(len(tasks))]

    def _portion(self, waiting: deque[int], crashes: list[int]) -> tuple[int, ...]:
        """Take the next tasks: fewer towards the end of the batch, so that all workers finish together."""
        size = max(1, min(_MAX_PORTION, len(waiting) // (2 * self._count)))
        if crashes[waiting[0]]:
            size = 1  # alone, so that it is known who crashed
        return tuple(waiting.popleft() for _ in range(size))

    def _replace(self, dead: _Worker, waiting: deque[int], crashes: list[int]) -> dict[int, Findings]:
        """Put a new worker in a dead one's place and queue its tasks again; return those given up."""
        given_up = {}
        for index in reversed(dead.portion):
            crashes[index] += 1
            if crashes[index] < _MAX_CRASHES:
                waiting.appendleft(index)
            else:
                given_up[index] = _NOTHING_FOUND
        self.crashed_tasks += len(given_up)
        self.replaced_workers += 1
        dead.pipe.close()
        dead.process.join()
        worker = self._workers[self._workers.index(dead)] = self._launch()
        for piece in self._board.pieces():
            _send(worker, piece)
        return given_up

    def _launch(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_work, args=(theirs, self._make_kernel, os.getpid()), name="goexplore-worker", daemon=True
        )
        try:
            with warnings.catch_warnings():
                # Python 3.12 warns of threads: here, those of NumPy's linear algebra, which are asleep.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
        except OSError as error:
            raise WorkerError(
                f"a worker process could not be started ({error}): lower --workers or free memory"
            ) from error
        theirs.close()
        return _Worker(process=process, pipe=ours)

    def _restart(self) -> None:
        self.close()
        self._workers = [self._launch() for _ in range(self._count)]
        self.start(self._board)
        self._interrupted = False

    def close(self) -> None:
        """Stop the workers at once: what they still do is not wanted any more."""
        for worker in self._workers:
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()
        self._workers = []


_NOTHING_FOUND = Findings(actions=b"", training_frames=0, seen=array("i"), seen_new=(), offers=())


def _send(worker: _Worker, message: object) -> None:
    # If it has died, `run` finds its closed pipe as soon as it waits for an answer.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        worker.pipe.send(message)


def _work(pipe: _Pipe, make_kernel: KernelFactory, parent: int) -> None:
    """What a worker process does: take messages until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.freeze()  # what came with the fork stays as it is: collecting it would only copy its pages
    board = Scoreboard()
    try:
        kernel = make_kernel()
        while True:
            while not pipe.poll(1.0):
                if os.getppid() != parent:
                    return
            message = pipe.recv()
            if isinstance(message, Changes):
                board.apply(message)
            else:
                pipe.send([kernel.run(task, board) for task in message])
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except Exception:
        pipe.send(WorkerError(f"an exploration failed in a worker process:\n{traceback.format_exc()}"))
