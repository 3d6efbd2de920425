"""Where explorations run: the interface, and the executor that runs them one after the other."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from goexplore.archive import Changes, Findings, Scoreboard
from goexplore.exploration._kernel import Kernel, Task

KernelFactory: TypeAlias = Callable[[], Kernel]
"""Makes a kernel with an environment of its own; called once in every worker."""


Listener: TypeAlias = Callable[[Findings], None]


class Executor(Protocol):
    """Runs batches of explorations. The findings do not depend on the executor or the number of workers."""

    @property
    def workers(self) -> int:
        """How many explorations run at the same time."""
        ...

    def start(self, board: Scoreboard) -> None:
        """Begin with what is known so far."""
        ...

    def run(self, tasks: Sequence[Task], hear: Listener) -> list[Findings]:
        """Run explorations and return their findings in the order of the tasks.

        `hear` is told of each as soon as it is there, in any order.
        """
        ...

    def learn(self, changes: Changes) -> None:
        """Hear what the last batch changed on the board."""
        ...

    def close(self) -> None:
        """Stop the workers."""
        ...


class SerialExecutor:
    """Runs everything in this process: exact, and easy to debug."""

    def __init__(self, make_kernel: KernelFactory) -> None:
        self._kernel = make_kernel()
        self._board = Scoreboard()

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def start(self, board: Scoreboard) -> None:
        """Use the archive's own board: it does not change while a batch runs."""
        self._board = board

    def run(self, tasks: Sequence[Task], hear: Listener) -> list[Findings]:
        """Run the explorations one after the other."""
        findings = []
        for task in tasks:
            findings.append(self._kernel.run(task, self._board))
            hear(findings[-1])
        return findings

    def learn(self, changes: Changes) -> None:
        """The archive's own board has changed already."""

    def close(self) -> None:
        """Close the kernel."""
        self._kernel.close()
