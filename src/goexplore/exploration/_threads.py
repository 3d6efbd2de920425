"""Explorations in threads, for kernels that do not hold the interpreter's lock."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from queue import SimpleQueue
from threading import Lock

from goexplore.archive import Changes, ExplorationResult, ScoreIndex
from goexplore.errors import require_at_least
from goexplore.exploration._executor import KernelFactory, OnResult
from goexplore.exploration._kernel import Kernel, Task


class ThreadExecutor:
    """Threads with a kernel each. They read the archive's own index, which no batch changes while it runs."""

    def __init__(self, make_kernel: KernelFactory, *, workers: int) -> None:
        require_at_least("workers", workers, 1, 4096)
        self._make_kernel = make_kernel
        self._kernels = [make_kernel() for _ in range(workers)]
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="goexplore")
        self._score_index = ScoreIndex()
        self._interrupted = False

    @property
    def workers(self) -> int:
        """Number of threads."""
        return len(self._kernels)

    def start(self, score_index: ScoreIndex) -> None:
        """Use the archive's own index."""
        self._score_index = score_index

    def restart(self, make_kernel: KernelFactory, initial_digest: bytes) -> None:
        """Give each thread another kernel."""
        for kernel in self._kernels:
            kernel.close()
        self._make_kernel = make_kernel
        self._kernels = [make_kernel() for _ in self._kernels]

    def run(self, tasks: Sequence[Task], on_result: OnResult) -> list[ExplorationResult]:
        """Run explorations on all threads and return their results in the order of the tasks."""
        if self._interrupted:  # kernels remember what they offered in the batch that was dropped
            self._kernels = [self._make_kernel() for _ in self._kernels]
        self._interrupted = True
        results: dict[int, ExplorationResult] = {}
        answers: SimpleQueue[tuple[int, ExplorationResult] | BaseException] = SimpleQueue()
        waiting, lock = list(reversed(range(len(tasks)))), Lock()

        def drain(kernel: Kernel) -> None:
            try:
                while True:
                    with lock:
                        if not waiting:
                            return
                        index = waiting.pop()
                    answers.put((index, kernel.run(tasks[index], self._score_index)))
            except BaseException as error:
                answers.put(error)

        threads = [self._pool.submit(drain, kernel) for kernel in self._kernels]
        try:
            while len(results) < len(tasks):
                answer = answers.get()
                if isinstance(answer, BaseException):
                    raise answer
                results[answer[0]] = answer[1]
                on_result(answer[1])
        finally:
            with lock:
                waiting.clear()
            wait(threads)  # until each has ended the one that it is running, which takes milliseconds
        self._interrupted = False
        return [results[index] for index in range(len(tasks))]

    def sync(self, changes: Changes) -> None:
        """The archive's own index has changed already."""

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown()
        for kernel in self._kernels:
            kernel.close()
