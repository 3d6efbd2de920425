"""Explorations in threads, for kernels that do not hold the interpreter's lock."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from queue import SimpleQueue
from threading import Lock

from goexplore.archive import Changes, Findings, Scoreboard
from goexplore.errors import ConfigError
from goexplore.exploration._executor import KernelFactory, Listener
from goexplore.exploration._kernel import Kernel, Task


class ThreadExecutor:
    """Threads with a kernel each. They read the archive's own board, which no batch changes while it runs."""

    def __init__(self, make_kernel: KernelFactory, *, workers: int) -> None:
        if workers < 1:
            raise ConfigError(f"expected at least 1 worker, got {workers}: set --workers to 1 or more")
        self._make_kernel = make_kernel
        self._kernels = [make_kernel() for _ in range(workers)]
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="goexplore")
        self._board = Scoreboard()
        self._interrupted = False

    @property
    def workers(self) -> int:
        """Number of threads."""
        return len(self._kernels)

    def start(self, board: Scoreboard) -> None:
        """Use the archive's own board."""
        self._board = board

    def run(self, tasks: Sequence[Task], hear: Listener) -> list[Findings]:
        """Run explorations on all threads and return their findings in the order of the tasks."""
        if self._interrupted:  # kernels remember what they offered in the batch that was dropped
            self._kernels = [self._make_kernel() for _ in self._kernels]
        self._interrupted = True
        findings: dict[int, Findings] = {}
        answers: SimpleQueue[tuple[int, Findings] | BaseException] = SimpleQueue()
        waiting, lock = list(reversed(range(len(tasks)))), Lock()

        def drain(kernel: Kernel) -> None:
            try:
                while True:
                    with lock:
                        if not waiting:
                            return
                        index = waiting.pop()
                    answers.put((index, kernel.run(tasks[index], self._board)))
            except BaseException as error:
                answers.put(error)

        threads = [self._pool.submit(drain, kernel) for kernel in self._kernels]
        try:
            while len(findings) < len(tasks):
                answer = answers.get()
                if isinstance(answer, BaseException):
                    raise answer
                findings[answer[0]] = answer[1]
                hear(answer[1])
        finally:
            with lock:
                waiting.clear()
            wait(threads)  # until each has ended the one that it is running, which takes milliseconds
        self._interrupted = False
        return [findings[index] for index in range(len(tasks))]

    def learn(self, changes: Changes) -> None:
        """The archive's own board has changed already."""

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown()
        for kernel in self._kernels:
            kernel.close()
