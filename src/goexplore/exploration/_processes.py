"""Explorations in worker processes, because an environment in Python holds the interpreter's lock."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import sys
import traceback
import warnings
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic, sleep
from typing import Any, Literal, TypeAlias

import psutil

from goexplore.archive import Changes, ExplorationResult, ScoreIndex
from goexplore.cells import CRASH, HANG, End
from goexplore.errors import EnvironmentContractError, WorkerError, require_at_least, require_positive
from goexplore.exploration._executor import KernelFactory, OnResult
from goexplore.exploration._kernel import Fatal, PythonKernel, Task
from goexplore.processes import interrupts_wait, obey_parent

_MAX_PORTION = 8
"""Tasks sent at once: enough that a worker seldom waits for the next ones."""

_MAX_CRASHES = 3
"""Crashes of one task before it is given up: some emulator states crash whatever restores them. The last of
these is looked at action by action."""

_MAX_KILLS = 20
"""Workers that may be killed from outside while they run one task, before the task is blamed after all: a
task that takes all memory is killed too."""

_LONGEST_PAUSE = 2.0
"""Seconds to wait, at most, after a worker was killed: whoever kills workers may be at it for a while."""

_KILLS = (-signal.SIGKILL, -signal.SIGTERM)
"""Exit codes of processes that others have ended. Crashes have other ones."""

_SECONDS_UNTIL_A_WORD = 60.0
"""How long a worker may be silent before the user is told."""

_NO_TASK = -1

_SECONDS_TO_DIE = 5.0
"""Between the closing of a worker's pipe and its end."""

StartMethod: TypeAlias = Literal["fork", "spawn"]

_Pipe: TypeAlias = "Connection[Any, Any]"


@dataclass
class _Worker:
    process: BaseProcess
    pipe: _Pipe
    portion: list[int] = field(default_factory=list)
    """Indices of the tasks that it has still to answer, in this order."""
    since: float = field(default_factory=monotonic)
    """When it began with the first of these."""
    mentioned: bool = False
    """Whether the user was told that it takes long."""


class ProcessExecutor:
    """Workers hold an environment and a copy of the score index each, get small tasks and send back results.

    A worker that dies, or does not answer in time, is replaced and its tasks run again: results depend on
    nothing but the task and the index, so the archive is the same. So it is if somebody kills workers, or the
    system does where memory is short: nothing is blamed for that. An exploration that crashes every worker
    that runs it is run once more by a process that reports each action before it plays it. So the action is
    known that crashes or hangs: the exploration is then played up to there, and that action becomes an event.
    `crashed_tasks` counts the explorations of which no action could be blamed; they found nothing.
    """

    def __init__(
        self,
        make_kernel: KernelFactory,
        *,
        workers: int,
        start_method: StartMethod | None = None,
        timeout_seconds: float = 300.0,
        initial_digest: bytes | None = None,
        warn: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Start the workers.

        `start_method` None means fork on Linux, which needs neither importable user code nor a guarded main
        module, and spawn elsewhere. `timeout_seconds` is how long one exploration may take. `initial_digest`
        is that of the search's own environment, with which the workers' must agree. `warn` is called with
        what the user should know meanwhile.
        """
        require_at_least("workers", workers, 1, 4096)
        require_positive("timeout_seconds", timeout_seconds)
        self.crashed_tasks = 0
        self.replaced_workers = 0
        self.warn = warn
        self._make_kernel = make_kernel
        self._count = workers
        self._timeout = timeout_seconds
        self._score_index = ScoreIndex()
        self._interrupted = False
        self._kills: dict[int, int] = {}
        """How many workers were killed while they ran a task of this batch."""
        self._initial_digest = initial_digest
        method = start_method or ("fork" if sys.platform == "linux" else "spawn")
        self._context: Any = multiprocessing.get_context(method)
        self._workers: list[_Worker] = []
        try:
            # Now, while this process is small: a forked worker shares, and keeps, what is in memory.
            self._launch_all()
        except BaseException:
            self.close()
            raise

    @property
    def workers(self) -> int:
        """Number of worker processes."""
        return self._count

    @property
    def process_ids(self) -> list[int]:
        """Ids of the worker processes."""
        return [worker.process.pid for worker in self._workers if worker.process.pid is not None]

    def start(self, score_index: ScoreIndex) -> None:
        """Give each worker a copy of the index."""
        self._score_index = score_index
        for piece in score_index.pieces():
            self.sync(piece)

    def restart(self, make_kernel: KernelFactory, initial_digest: bytes) -> None:
        """Start other workers, with other kernels."""
        self._make_kernel, self._initial_digest = make_kernel, initial_digest
        self._score_index = ScoreIndex()
        self._restart()

    def sync(self, changes: Changes) -> None:
        """Bring all workers' copies up to date."""
        for worker in self._workers:
            _send(worker, changes)

    def run(self, tasks: Sequence[Task], on_result: OnResult) -> list[ExplorationResult]:
        """Run tasks on all workers and replace workers that die or hang; results are in the tasks' order."""
        results = self.run_part(tasks, on_result)
        require_useful(results)
        return results

    def run_part(self, tasks: Sequence[Task], on_result: OnResult) -> list[ExplorationResult]:
        """Run some tasks of a batch, all of which may crash."""
        if self._interrupted:
            self._restart()  # workers may still be busy with, and remember, a batch that was dropped
        self._interrupted = True
        results = self._run(tasks, on_result)
        self._interrupted = False
        return results

    def _run(self, given: Sequence[Task], on_result: OnResult) -> list[ExplorationResult]:
        tasks = list(given)
        self._kills = {}
        results: dict[int, ExplorationResult] = {}
        crashes = [0] * len(tasks)
        waiting = deque(range(len(tasks)))
        while len(results) < len(tasks):
            for worker in self._workers:
                if waiting and not worker.portion:
                    worker.portion = self._portion(waiting, crashes)
                    worker.since, worker.mentioned = monotonic(), False
                    _send(worker, [tasks[index] for index in worker.portion])
            busy = {worker.pipe: worker for worker in self._workers if worker.portion}
            for pipe in wait(list(busy), timeout=1.0):
                worker = busy.pop(pipe)  # type: ignore[call-overload]
                try:
                    answer = worker.pipe.recv()
                except (EOFError, ConnectionResetError):
                    results |= self._replace(worker, tasks, waiting, crashes)
                    continue
                if isinstance(answer, WorkerError):
                    raise answer
                results[worker.portion.pop(0)] = answer
                worker.since, worker.mentioned = monotonic(), False
                on_result(answer)
            for worker in busy.values():
                if self._is_stuck(worker):
                    results |= self._replace(worker, tasks, waiting, crashes, hangs=True)
        return [results[index] for index in range(len(tasks))]

    def _is_stuck(self, worker: _Worker) -> bool:
        """Return whether an exploration has taken too long; say so before the worker is given up."""
        silent, limit = monotonic() - worker.since, self._timeout
        if silent >= limit:
            self.warn(
                f"warning: worker process {worker.process.pid} gave no answer for {silent:.0f} s: replaced"
            )
            return True
        if silent >= min(_SECONDS_UNTIL_A_WORD, limit / 2) and not worker.mentioned:
            worker.mentioned = True
            self.warn(
                f"warning: worker process {worker.process.pid} has not answered for {silent:.0f} s; it "
                f"is replaced after {limit:.0f} s"
            )
        return False

    def _portion(self, waiting: deque[int], crashes: list[int]) -> list[int]:
        """Take the next tasks: fewer towards the end of the batch, so that all workers finish together."""
        size = max(1, min(_MAX_PORTION, len(waiting) // (2 * self._count)))
        if crashes[waiting[0]]:
            size = 1  # alone, so that it is known which one crashed
        return [waiting.popleft() for _ in range(size)]

    def _replace(
        self,
        dead: _Worker,
        tasks: list[Task],
        waiting: deque[int],
        crashes: list[int],
        *,
        hangs: bool = False,
    ) -> dict[int, ExplorationResult]:
        """Put a new worker in a dead one's place and queue its tasks again; return what needs no worker."""
        results = {}
        self.replaced_workers += 1
        blamed, *others = dead.portion
        waiting.extendleft(reversed(others))
        found: Fatal | ExplorationResult | None = tasks[blamed].fatal
        if not self._excused(dead, blamed, hangs=hangs):
            crashes[blamed] += 1
            found = self._find_fatal(tasks[blamed], blamed) if crashes[blamed] >= _MAX_CRASHES - 1 else None
        if isinstance(found, ExplorationResult):
            results[blamed] = found
        else:
            waiting.appendleft(blamed)
            tasks[blamed] = tasks[blamed]._replace(fatal=found)
        worker = self._workers[self._workers.index(dead)] = self._ready(self._launch(), blamed)
        self._send_index(worker)
        return results

    def _excused(self, dead: _Worker, task: int, *, hangs: bool = False) -> bool:
        """End what is left of a worker; return whether its task is not to blame, for somebody killed it."""
        if not _was_killed(dead, seconds=0.0 if hangs else _SECONDS_TO_DIE):
            return False
        kills = self._kills[task] = self._kills.get(task, 0) + 1
        if kills > _MAX_KILLS:
            return False
        sleep(min(0.02 * 2**kills, _LONGEST_PAUSE))
        return True

    def _ready(self, worker: _Worker, task: int, *, reports_actions: bool = False) -> _Worker:
        """Return a worker once it has its environment, or another one if it is killed before that."""
        try:
            self._compare_initial_state(worker)
        except _DiedAtOnce:
            if not self._excused(worker, task):
                raise
            again = self._launch(reports_actions=reports_actions)
            return self._ready(again, task, reports_actions=reports_actions)
        return worker

    def _launch_all(self) -> None:
        self._workers += [self._launch() for _ in range(self._count)]
        self._workers = [self._ready(worker, _NO_TASK) for worker in self._workers]

    def _find_fatal(self, task: Task, number: int) -> Fatal | ExplorationResult:
        """Return which action of an exploration crashes its worker, or its result where none does after all.

        Where nothing can be blamed, the result is that nothing was found.
        """
        found: Fatal | ExplorationResult | None = None
        while task.fatal is None:  # else it dies at another place each time
            worker = self._launch(reports_actions=True)
            worker = self._ready(worker, number, reports_actions=True)
            self._send_index(worker)
            _send(worker, [task])
            reported = 0
            try:
                while worker.pipe.poll(self._timeout):
                    answer = worker.pipe.recv()
                    if isinstance(answer, WorkerError):
                        raise answer
                    if isinstance(answer, ExplorationResult):
                        return answer
                    reported += 1
                found = Fatal(reported, End.HUNG) if reported else None
            except (EOFError, ConnectionResetError):
                if self._excused(worker, number):
                    continue
                found = Fatal(reported, End.CRASHED) if reported else None
            finally:
                _end(worker)
            break
        if found is None:
            self.crashed_tasks += 1
        return found or _NOTHING_FOUND

    def _send_index(self, worker: _Worker) -> None:
        for piece in self._score_index.pieces():
            _send(worker, piece)

    def _launch(self, *, reports_actions: bool = False) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_work,
            args=(theirs, self._make_kernel, os.getpid(), reports_actions),
            name="goexplore-worker",
            daemon=True,
        )
        try:
            with warnings.catch_warnings(), interrupts_wait():
                # Python 3.12 warns of threads: here, those of NumPy's linear algebra, which are asleep.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
        except OSError as error:
            raise WorkerError(
                f"a worker process could not be started ({error}): lower `workers` or free memory"
            ) from error
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise WorkerError(
                "expected a problem that can be pickled, for worker processes are spawned here, got "
                f"{error}: define environment and cell function at the top level of a module, or set "
                "`workers` to 0"
            ) from error
        theirs.close()
        return _Worker(process=process, pipe=ours)

    def _compare_initial_state(self, worker: _Worker) -> None:
        """Wait until a worker has made its environment; refuse one that begins in another state."""
        try:
            if not worker.pipe.poll(self._timeout):
                raise WorkerError(
                    f"expected a worker process to make its environment within {self._timeout:g} s, got "
                    "none: test it with `goexplore check-env`"
                )
            answer = worker.pipe.recv()
        except (EOFError, ConnectionResetError) as error:
            raise _DiedAtOnce(
                "a worker process died while it made its environment: the environment crashed it; test it "
                "with `goexplore check-env`"
            ) from error
        if isinstance(answer, WorkerError):
            raise answer
        if self._initial_digest is None:
            self._initial_digest = answer
        if answer != self._initial_digest:
            raise EnvironmentContractError(
                "expected the same initial state in all processes, got different ones: `reset` must "
                "always lead to the same state; give it a fixed seed"
            )

    def _restart(self) -> None:
        self.close()
        self._launch_all()
        self.start(self._score_index)
        self._interrupted = False

    def close(self) -> None:
        """Stop the workers at once: what they still do is not wanted any more."""
        for worker in self._workers:
            _end(worker)
        self._workers = []


class _DiedAtOnce(WorkerError):
    """A worker process that died before it had made its environment."""


_NOTHING_FOUND = ExplorationResult(
    actions=b"", training_frames=0, seen=array("i"), seen_new=(), candidates=(), given_up=True
)


def require_useful(results: Sequence[ExplorationResult]) -> None:
    """Refuse to go on where every exploration of a batch crashed at once."""
    if all(map(_is_useless, results)):
        raise WorkerError(
            f"every exploration of a batch of {len(results)} crashed its worker at once, {_MAX_CRASHES} "
            "times: explore without workers to see how, or test the environment with "
            "`goexplore check-env`"
        )


def _is_useless(found: ExplorationResult) -> bool:
    """Whether an exploration died before it had gone anywhere."""
    return found.given_up or (
        found.training_frames == 1 and any(event in (CRASH, HANG) for event, _ in found.events_seen)
    )


def _was_killed(dead: _Worker, *, seconds: float) -> bool:
    """Return whether somebody else has killed or stopped a worker; end it if it still lives after a while."""
    dead.process.join(seconds)
    code = dead.process.exitcode
    stopped = code is None and psutil.Process(dead.process.pid).status() == psutil.STATUS_STOPPED
    _end(dead)
    return stopped or code in _KILLS


def _end(worker: _Worker) -> None:
    worker.process.kill()
    worker.process.join()
    worker.pipe.close()


def _send(worker: _Worker, message: object) -> None:
    # If it has died, `run` finds its closed pipe as soon as it waits for an answer.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        worker.pipe.send(message)


def _work(pipe: _Pipe, make_kernel: KernelFactory, parent: int, reports_actions: bool) -> None:
    """What a worker process does: take messages until the parent is gone."""
    obey_parent(parent)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    gc.freeze()  # what came with the fork stays as it is: collecting it would only copy its pages
    score_index = ScoreIndex()
    try:
        kernel = make_kernel()
        if reports_actions and isinstance(kernel, PythonKernel):
            kernel.before_step = pipe.send
        pipe.send(kernel.initial_digest())
        while True:
            message = pipe.recv()
            if isinstance(message, Changes):
                score_index.apply(message)
            else:
                for task in message:
                    pipe.send(kernel.run(task, score_index))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except Exception:
        pipe.send(WorkerError(f"an exploration failed in a worker process:\n{traceback.format_exc()}"))
