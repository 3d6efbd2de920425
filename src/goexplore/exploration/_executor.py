"""Where explorations run: the interface, and the executor that runs them one after the other."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from goexplore.archive import Changes, ExplorationResult, ScoreIndex
from goexplore.exploration._kernel import Kernel, Task

KernelFactory: TypeAlias = Callable[[], Kernel]
"""Makes a kernel with an environment of its own; called once in every worker."""


OnResult: TypeAlias = Callable[[ExplorationResult], None]


class Executor(Protocol):
    """Runs batches of explorations. The results do not depend on the executor or the number of workers."""

    @property
    def workers(self) -> int:
        """How many explorations run at the same time."""
        ...

    def start(self, score_index: ScoreIndex) -> None:
        """Begin with what is known so far."""
        ...

    def restart(self, make_kernel: KernelFactory, initial_digest: bytes) -> None:
        """Go on with other kernels, whose initial state has this digest; `start` comes next."""
        ...

    def run(self, tasks: Sequence[Task], on_result: OnResult) -> list[ExplorationResult]:
        """Run explorations and return their results in the order of the tasks.

        `on_result` is called with each as soon as it is there, in any order.
        """
        ...

    def sync(self, changes: Changes) -> None:
        """Bring the workers' copies of the score index up to date with what the last batch changed."""
        ...

    def close(self) -> None:
        """Stop the workers."""
        ...


class SerialExecutor:
    """Runs everything in this process: exact, and easy to debug."""

    def __init__(self, make_kernel: KernelFactory) -> None:
        self._kernel = make_kernel()
        self._score_index = ScoreIndex()

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def start(self, score_index: ScoreIndex) -> None:
        """Use the archive's own index: it does not change while a batch runs."""
        self._score_index = score_index

    def restart(self, make_kernel: KernelFactory, initial_digest: bytes) -> None:
        """Put another kernel in the place of the one that is here."""
        self._kernel.close()
        self._kernel = make_kernel()

    def run(self, tasks: Sequence[Task], on_result: OnResult) -> list[ExplorationResult]:
        """Run the explorations one after the other."""
        results = []
        for task in tasks:
            results.append(self._kernel.run(task, self._score_index))
            on_result(results[-1])
        return results

    def sync(self, changes: Changes) -> None:
        """The archive's own index has changed already."""

    def close(self) -> None:
        """Close the kernel."""
        self._kernel.close()
