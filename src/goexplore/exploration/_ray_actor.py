"""What runs on a node of a Ray cluster: one actor, with an executor like that of a single machine."""

from __future__ import annotations

import hashlib
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from goexplore._native.version import build_version
from goexplore.archive import ExplorationResult, ScoreIndex
from goexplore.errors import GoExploreError, ProblemError, WorkerError
from goexplore.exploration._executor import Executor, KernelFactory
from goexplore.exploration._kernel import Task
from goexplore.exploration._processes import ProcessExecutor, StartMethod
from goexplore.exploration._threads import ThreadExecutor
from goexplore.files import versions

HEALTH = "health"
"""The calls of a group of their own, which are answered while others run."""


class NodeSettings(NamedTuple):
    """What a node needs in order to explore."""

    kernel: bytes
    """What makes kernels, pickled."""
    threads: bool
    workers: int
    start_method: StartMethod | None
    timeout_seconds: float
    initial_digest: bytes | None


class NodeActor:
    """Explores on one node. What it returns is pickled here, which is faster than Ray's own way.

    Calls are run in the order in which they were sent, but for `ping`, which is answered at once.
    """

    def __init__(self) -> None:
        self._executor: Executor | None = None
        self._score_index = ScoreIndex()
        self._synced = 0
        self._lines: list[str] = []

    def versions(self) -> dict[str, str]:
        """Return the versions of what decides results here."""
        return source_versions()

    def ping(self) -> None:
        """Answer, so that the search knows that this process is there and not stopped."""

    def open(self, settings: tuple[Any, ...]) -> bytes:
        """Make kernels, in the place of those that are here; return None, or an error."""
        return _answer(lambda: self._open(NodeSettings(*settings)))

    def _open(self, settings: NodeSettings) -> None:
        self.close()
        try:
            make_kernel: KernelFactory = pickle.loads(settings.kernel)
        except (ImportError, AttributeError) as error:
            raise ProblemError(
                f"expected a problem whose modules can be imported on every node, got {error}: install the "
                "module there, or put its folder on PYTHONPATH before `ray start` (docs/cluster.md)"
            ) from error
        if settings.threads:
            self._executor = ThreadExecutor(make_kernel, workers=settings.workers)
        else:
            self._executor = ProcessExecutor(
                make_kernel,
                workers=settings.workers,
                start_method=settings.start_method,
                timeout_seconds=settings.timeout_seconds,
                initial_digest=settings.initial_digest,
                warn=self._lines.append,
            )
        self._score_index, self._synced = ScoreIndex(), 0
        self._executor.start(self._score_index)

    def sync(self, changes: bytes) -> None:
        """Bring the copy of the score index up to date."""
        assert self._executor is not None
        for each in pickle.loads(changes):
            self._score_index.apply(each)
            self._executor.sync(each)
        self._synced += 1

    def run(self, synced: int, tasks: bytes) -> bytes:
        """Run a portion with the index after this many calls of `sync`; return results and warnings."""
        return _answer(lambda: self._run(synced, pickle.loads(tasks)))

    def _run(self, synced: int, tasks: list[Task]) -> tuple[list[ExplorationResult], list[str]]:
        executor = self._executor
        if executor is None or self._synced != synced:
            raise WorkerError(f"expected a score index after {synced} changes, got one after {self._synced}")
        # A portion may well be one exploration that finds nothing: only the batch as a whole must not.
        run = executor.run_part if isinstance(executor, ProcessExecutor) else executor.run
        results = run(tasks, lambda found: None)
        lines = self._lines.copy()
        self._lines.clear()
        return results, lines

    def close(self) -> None:
        """Stop the workers."""
        if self._executor is not None:
            self._executor.close()
        self._executor = None


def _answer(work: Callable[[], object]) -> bytes:
    """Return what some work returns, or its error, pickled."""
    try:
        found: object = work()
    except GoExploreError as error:
        found = error
    except Exception:
        found = WorkerError(f"an exploration failed on a node:\n{traceback.format_exc()}")
    return dumps(found)


def dumps(thing: object) -> bytes:
    """Return something pickled: for our named tuples, this is faster than Ray's own way."""
    return pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)


def source_versions() -> dict[str, str]:
    """Return the versions of what decides results, with checksums of our own sources."""
    folder = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
    return {**versions(), "sources": digest.hexdigest()[:16], "native engine": build_version()}
