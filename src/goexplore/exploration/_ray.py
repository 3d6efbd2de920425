"""Explorations on the nodes of a Ray cluster: one actor per node, which has threads or processes of its own.

- node: a machine, or a container, on which Ray runs
- actor: the process of ours on a node; it keeps a copy of the score index and an executor like any other
- portion: tasks of a batch that a node runs at once; those of a lost node are run again elsewhere
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import pickle
import socket
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from math import ceil
from time import monotonic, sleep
from typing import Any, Literal, TypeAlias

from goexplore.archive import Changes, ExplorationResult, ScoreIndex
from goexplore.errors import (
    ConfigError,
    GoExploreError,
    ProblemError,
    WorkerError,
    require_at_least,
    require_positive,
)
from goexplore.exploration._executor import KernelFactory, OnResult
from goexplore.exploration._kernel import Task
from goexplore.exploration._processes import StartMethod, require_useful
from goexplore.exploration._ray_actor import HEALTH, NodeActor, NodeSettings, dumps, source_versions

ExecutorWish: TypeAlias = Literal["auto", "ray"]
"""Where to explore: on this machine, in as many threads or processes as there are workers, or with Ray."""

_PORTIONS = 2
"""Portions that a node has at once: the next one is there when it has finished the last."""

_SHARE = 2
"""A portion is this part of what a node would get of the tasks that are left if all got their share at once:
fewer calls at first, and at the end small portions, so that all nodes finish together."""

_LEAST = 2
"""Tasks of a portion for each worker, at least: a call costs about as much as half an exploration."""

_PIECES = 40
"""Pieces of the index that are sent at once: about a megabyte."""

_SECONDS_BETWEEN_LOOKS = 2.0
"""How soon a node that has joined is noticed."""

_SECONDS_TO_BEGIN = 60.0
"""Within this time, an actor has to begin on a node that has CPUs to spare."""

_SECONDS_OF_SILENCE = 30.0
"""A node that answers nothing for so long is lost: its process or its machine may have been stopped."""

_PINGS = 6
"""Looks in vain for its answer meanwhile. They are counted, not timed: this process may be stopped too."""

_SECONDS_TO_CONNECT = 5.0
_SECONDS_TO_CLOSE = 5.0

_MAX_ATTEMPTS = 3
"""Actors that may die on a node before they have their environments; then the node is not used any more."""

_MAX_LOSSES = 20
"""Nodes that may be lost while they run one task: it may be that task that kills them."""

_OBJECT_STORE_BYTES = 128 * 2**20
"""Of a cluster that we start ourselves: what is sent is small."""


@dataclass(eq=False)
class _Node:
    """A node as seen from here."""

    number: str
    address: str
    workers: int
    actor: Any
    versions: Any
    """The first call, until it has been answered."""
    began: float = field(default_factory=monotonic)
    opening: Any = None
    """The call that makes its kernels, until it has been answered."""
    synced: int = 0
    portions: dict[Any, list[int]] = field(default_factory=dict)
    """Indices of the tasks of each portion that it has still to answer, by call."""
    announced: bool = False
    """Whether it has been ready, and the user has heard of it."""
    ping: Any = None
    """The question whether it is there, until it has been answered."""
    unanswered: int = 0
    """Times that it was asked in vain."""

    @property
    def name(self) -> str:
        return f"{self.address} ({self.number[:8]})"

    @property
    def is_ready(self) -> bool:
        return self.versions is None and self.opening is None

    @property
    def pending(self) -> Any:
        """The oldest call that has not been answered, or None."""
        return self.versions or self.opening or next(iter(self.portions), None)

    def open(self, settings: NodeSettings) -> None:
        """Let it make kernels, in place of those that it has."""
        self.opening = self.actor.open.remote(tuple(settings._replace(workers=self.workers)))
        self.synced, self.portions = 0, {}

    def sync(self, changes: bytes) -> None:
        self.actor.sync.remote(changes)
        self.synced += 1

    def ask(self) -> None:
        """Ask whether it is there."""
        self.ping, self.unanswered = self.actor.ping.options(concurrency_group=HEALTH).remote(), 0


class _Silent(Exception):
    """A node that does not answer, and of which Ray does not know that it is lost."""


class _Unusable(Exception):
    """A node that cannot be used."""

    def __init__(self, reason: GoExploreError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class RayExecutor:
    """Explores on all nodes of a Ray cluster, as many as there are at the moment.

    Each node has one actor, with as many threads or worker processes as on a single machine, and a copy of
    the score index, which is sent once and then kept up to date by changes. A node that joins gets the index
    and takes part; the portions of a node that is lost are run again by others. Results depend on nothing but
    the task and the index, and are returned in the order of the tasks, so the archive is the same.
    """

    def __init__(
        self,
        make_kernel: KernelFactory,
        *,
        threads: bool,
        workers: int | None = None,
        address: str | None = None,
        start_method: StartMethod | None = None,
        timeout_seconds: float = 300.0,
        initial_digest: bytes | None = None,
        warn: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Connect to a cluster and start an actor on each of its nodes that has CPUs.

        `threads` says whether workers are threads, for kernels that do not hold the interpreter's lock, or
        processes. `workers` None means as many on each node as Ray counts CPUs there. `address` is that of
        the cluster, such as 10.0.0.1:6379, or auto for the one that runs on this machine; None takes the
        environment variable RAY_ADDRESS, and without it starts a cluster of this machine alone, which ends
        with this executor. A process that is connected to Ray already keeps its connection. The other
        settings are those of `ProcessExecutor`; after `timeout_seconds` without any node the search ends.
        """
        if workers is not None:
            require_at_least("workers", workers, 1, 4096)
        require_positive("timeout_seconds", timeout_seconds)
        self.crashed_tasks = 0
        self.warn = warn
        self._workers = workers
        self._timeout = timeout_seconds
        self._score_index = ScoreIndex()
        self._interrupted = False
        self._begun = False
        self._nodes: list[_Node] = []
        self._attempts: Counter[str] = Counter()
        self._last_look = self._last_answer = self._last_ping = monotonic()
        self._silence = min(_SECONDS_OF_SILENCE, timeout_seconds)
        address = address or os.environ.get("RAY_ADDRESS") or None
        self._ray = _import_ray(address)
        self._settings = NodeSettings(
            kernel=self._pickled(make_kernel),
            threads=threads,
            workers=0,
            start_method=start_method,
            timeout_seconds=timeout_seconds,
            initial_digest=initial_digest,
        )
        self._connected = not self._ray.is_initialized()
        """Whether this executor has made the connection, and ends it."""
        try:
            if self._connected:
                _connect(self._ray, address, workers)
            self._actor_class = self._ray.remote(concurrency_groups={HEALTH: 1})(NodeActor)
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        """Wait until all nodes are ready. One that cannot be used is an error now, and a warning later."""
        self._look()
        while any(not node.is_ready for node in self._nodes):
            for node in self._answered():
                self._take(node, deque(), Counter())
        if not self._nodes:
            raise WorkerError(
                "expected a Ray cluster that has CPUs, got one without: start Ray on more machines with "
                "`ray start` (docs/cluster.md)"
            )
        self._begun = True
        self.warn(f"Ray: {self._size()}")

    @property
    def workers(self) -> int:
        """Number of workers of all nodes that take part at the moment."""
        return sum(node.workers for node in self._nodes if node.is_ready)

    @property
    def nodes(self) -> int:
        """Number of nodes that take part at the moment."""
        return sum(node.is_ready for node in self._nodes)

    def _size(self) -> str:
        nodes, workers = self.nodes, self.workers
        return f"{nodes} node{'s' * (nodes != 1)}, {workers} worker{'s' * (workers != 1)}"

    def start(self, score_index: ScoreIndex) -> None:
        """Give each node a copy of the index."""
        self._score_index = score_index
        self._send_index(self._nodes)

    def restart(self, make_kernel: KernelFactory, initial_digest: bytes) -> None:
        """Let each node go on with other kernels."""
        self._settings = self._settings._replace(
            kernel=self._pickled(make_kernel), initial_digest=initial_digest
        )
        self._score_index = ScoreIndex()
        for node in self._nodes:
            node.open(self._settings)

    def sync(self, changes: Changes) -> None:
        """Bring all nodes' copies up to date."""
        message = dumps([changes])
        for node in self._nodes:
            node.sync(message)

    def run(self, tasks: Sequence[Task], on_result: OnResult) -> list[ExplorationResult]:
        """Run tasks on all nodes; what a node was running when it was lost is run again by another."""
        if self._interrupted:  # nodes may still be busy with, and kernels remember, a batch that was dropped
            for node in self._nodes:
                node.open(self._settings)
            self._send_index(self._nodes)
        self._interrupted = True
        self._last_answer = monotonic()
        results = self._run(tasks, on_result)
        self._interrupted = False
        self.crashed_tasks += sum(found.given_up for found in results)
        require_useful(results)
        return results

    def _run(self, tasks: Sequence[Task], on_result: OnResult) -> list[ExplorationResult]:
        results: dict[int, ExplorationResult] = {}
        waiting, losses = deque(range(len(tasks))), Counter[int]()
        while len(results) < len(tasks):
            if monotonic() - self._last_look >= _SECONDS_BETWEEN_LOOKS:
                self._look()
            self._hand_out(tasks, waiting)
            for node in self._answered():
                found = self._take(node, waiting, losses)
                results |= found
                for each in found.values():
                    on_result(each)
        return [results[index] for index in range(len(tasks))]

    def _take(self, node: _Node, waiting: deque[int], losses: Counter[int]) -> dict[int, ExplorationResult]:
        """Return what a node has found, by the indices of the tasks; queue its tasks again if it is lost."""
        try:
            return self._advance(node)
        except _Unusable as error:
            if not self._begun:  # the user means to use it
                raise type(error.reason)(f"Ray: node {node.name}: {error}") from error
            self._drop(node, f"is not used: {error}")
        except (_Silent, self._ray.exceptions.RayError) as error:
            lost = sorted(chain.from_iterable(node.portions.values()))
            how = f"has not answered for {self._silence:g} s" if isinstance(error, _Silent) else "is lost"
            self._drop(node, f"{how}, {len(lost)} explorations are run again" if node.announced else "")
            waiting.extendleft(reversed(lost))
            losses.update(lost)
            if max(losses.values(), default=0) > _MAX_LOSSES:
                raise WorkerError(
                    f"an exploration was lost with its node {_MAX_LOSSES + 1} times: explore without Ray to "
                    "see whether it crashes its process"
                ) from None
            self._look()
        return {}

    def _hand_out(self, tasks: Sequence[Task], waiting: deque[int]) -> None:
        """Give portions to nodes that have too few: everyone gets a first before anyone gets a second."""
        ready, workers = [node for node in self._nodes if node.is_ready], self.workers
        for count in range(_PORTIONS):
            for node in ready:
                if waiting and len(node.portions) == count:
                    share = len(waiting) * node.workers / workers
                    size = min(max(ceil(share / _SHARE), _LEAST * node.workers), len(waiting))
                    portion = [waiting.popleft() for _ in range(size)]
                    call = node.actor.run.remote(node.synced, dumps([tasks[index] for index in portion]))
                    node.portions[call] = portion

    def _answered(self) -> list[_Node]:
        """Return nodes that have answered their oldest call; wait for one, but not for long."""
        calls = {node.pending: node for node in self._nodes if node.pending is not None}
        ready: list[Any] = []
        if calls:
            ready, _ = self._ray.wait(list(calls), timeout=1.0)
            self._last_answer = monotonic()
        elif monotonic() - self._last_answer > self._timeout:
            raise WorkerError(
                f"expected a node of the Ray cluster to explore on, got none for {self._timeout:g} s: start "
                "Ray on some machines, and go on with `resume`"
            )
        else:
            sleep(0.1)
        overdue = [
            node
            for call, node in calls.items()
            if call not in ready and call is node.versions and monotonic() - node.began > _SECONDS_TO_BEGIN
        ]
        answered = [calls[call] for call in ready] + overdue
        return answered + [node for node in self._silent() if node not in answered]

    def _silent(self) -> list[_Node]:
        """Return nodes that have not answered for long, and ask all others now and then if they are there."""
        if monotonic() - self._last_ping < self._silence / _PINGS:
            return []
        self._last_ping = monotonic()
        begun = [node for node in self._nodes if node.versions is None]
        asked = {node.ping: node for node in begun if node.ping is not None}
        if asked:
            answered, silent = self._ray.wait(list(asked), num_returns=len(asked), timeout=0)
            for call in answered:  # also where Ray knows that it is lost
                asked[call].ping = None
            for call in silent:
                asked[call].unanswered += 1
        for node in begun:
            if node.ping is None:
                node.ask()
        return [node for node in begun if node.unanswered >= _PINGS]

    def _advance(self, node: _Node) -> dict[int, ExplorationResult]:
        """Take in a node's oldest answer; return what it has found, by the indices of the tasks.

        Raises _Unusable where a node cannot take part, and Ray's errors or _Silent where it is lost.
        """
        if node.unanswered >= _PINGS:
            raise _Silent
        if node.is_ready:
            call = node.pending
            found, lines = self._result_of(call)
            for line in lines:
                self.warn(f"{line} (on node {node.name})")
            return dict(zip(node.portions.pop(call), found, strict=True))
        try:
            if node.versions is not None:
                _require_same(self._versions_of(node))
                node.versions = None
            else:
                self._result_of(node.opening)
                node.opening = None
                self._attempts[node.number] = 0
                if self._begun and not node.announced:
                    self.warn(f"Ray: node {node.name} has joined: {self._size()}")
                node.announced = True
        except GoExploreError as error:
            self._attempts[node.number] = _MAX_ATTEMPTS  # it would be the same again
            raise _Unusable(error) from error
        except self._ray.exceptions.RayError as error:
            if self._attempts[node.number] < _MAX_ATTEMPTS:
                raise
            (*_, reason) = str(error).strip().splitlines() or [type(error).__name__]
            raise _Unusable(
                WorkerError(
                    f"expected a process that makes its environments, got one that ended {_MAX_ATTEMPTS} "
                    f"times ({reason.strip()}): is goexplore installed there?"
                )
            ) from error
        return {}

    def _versions_of(self, node: _Node) -> dict[str, str]:
        try:
            found: dict[str, str] = self._ray.get(node.versions, timeout=1.0)
        except self._ray.exceptions.GetTimeoutError as error:
            raise WorkerError(
                f"expected a process to begin within {_SECONDS_TO_BEGIN:g} s, got none: its CPUs may be in "
                "use (`ray status` shows it)"
            ) from error
        return found

    def _result_of(self, call: Any) -> Any:
        """Return what a call returned; raise the error that it returned, or Ray's where a node is lost."""
        answer = pickle.loads(self._ray.get(call))
        if isinstance(answer, GoExploreError):
            raise answer
        return answer

    def _look(self) -> None:
        """Start an actor on each node that has none yet; nodes without CPUs are meant for other things."""
        self._last_look = monotonic()
        known = {node.number for node in self._nodes}
        for each in self._ray.nodes():
            number, cpus = each["NodeID"], int(each["Resources"].get("CPU", 0))
            if not each["Alive"] or not cpus or number in known or self._attempts[number] >= _MAX_ATTEMPTS:
                continue
            self._attempts[number] += 1
            workers = self._workers or cpus
            actor = self._actor_class.options(
                num_cpus=min(workers, cpus),
                max_restarts=0,
                scheduling_strategy=self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
                    number, soft=False
                ),
            ).remote()
            node = _Node(number, each["NodeManagerAddress"], workers, actor, actor.versions.remote())
            node.open(self._settings)
            self._send_index([node])
            self._nodes.append(node)

    def _drop(self, node: _Node, why: str) -> None:
        """Go on without a node; where the user has heard of it, say why."""
        self._nodes.remove(node)
        with contextlib.suppress(Exception):
            self._ray.kill(node.actor)
        if why:
            self.warn(f"warning: Ray: node {node.name} {why}: {self._size()}")

    def _send_index(self, nodes: Sequence[_Node]) -> None:
        pieces = self._score_index.pieces()
        while some := list(islice(pieces, _PIECES)):
            message = dumps(some)
            for node in nodes:
                node.sync(message)

    def _pickled(self, make_kernel: KernelFactory) -> bytes:
        try:
            pickled: bytes = self._ray.cloudpickle.dumps(make_kernel)
        except Exception as error:  # of any kind, for it is the user's own classes that refuse
            raise ProblemError(
                f"expected a problem that can be pickled, for it is sent to the nodes of a Ray cluster, got "
                f"{error}: define environment and cell function at the top level of a module"
            ) from error
        return pickled

    def close(self) -> None:
        """Stop the workers on all nodes, and the cluster if it is one that was started here."""
        nodes, self._nodes = self._nodes, []
        if not self._ray.is_initialized():
            return
        try:
            with contextlib.suppress(Exception):  # the cluster may be gone
                closing = [node.actor.close.remote() for node in nodes if node.versions is None]
                if closing:
                    self._ray.wait(closing, num_returns=len(closing), timeout=_SECONDS_TO_CLOSE)
            for node in nodes:
                with contextlib.suppress(Exception):
                    self._ray.kill(node.actor)
        finally:
            if self._connected:
                self._ray.shutdown()


def _require_same(theirs: dict[str, str]) -> None:
    """Refuse the versions of a node if they are not those of here."""
    different = [
        f"{name} {theirs.get(name)} instead of {mine}"
        for name, mine in source_versions().items()
        if theirs.get(name) != mine
    ]
    if different:
        raise ConfigError(
            f"expected the same versions as here, got {', '.join(different)}: install the same on all nodes, "
            "for example by one container image"
        )


def _import_ray(address: str | None) -> Any:
    """Return Ray, with its messages and statistics off."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns
    if address is None and "ray" not in sys.modules:  # it is read then: for a cluster that we start
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    try:
        ray = importlib.import_module("ray")
        importlib.import_module("ray.util.scheduling_strategies")
    except ModuleNotFoundError as error:
        raise ConfigError(
            "expected Ray for `executor` ray, got an installation without it: pip install 'goexplore[ray]'"
        ) from error
    return ray


def _connect(ray: Any, address: str | None, workers: int | None) -> None:
    """Connect to a cluster, or start one of this machine alone."""
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if address is None:
        settings = {"address": "local", "num_cpus": workers, "object_store_memory": _OBJECT_STORE_BYTES}
        settings |= {"include_dashboard": False}
    else:
        settings = {"address": address}
        _require_reachable(address)
    try:
        with _without_logs_of_nodes(ray):
            ray.init(**settings, **quiet)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        reason = " ".join(str(error).split())
        if address is None:
            raise WorkerError(
                f"expected a Ray cluster to start on this machine, got none ({reason}): explore without "
                "`executor` ray"
            ) from error
        raise WorkerError(
            f"expected a Ray cluster at `ray_address` {address}, got none ({reason}): run this on one of its "
            "machines, with its token and RAY_AUTH_MODE=token if it has one (docs/cluster.md)"
        ) from error


@contextlib.contextmanager
def _without_logs_of_nodes(ray: Any) -> Iterator[None]:
    """Keep Ray from printing pages of the logs of a node that is lost, for which it has no setting."""
    module = ray._private.worker
    listen = getattr(module, "listen_error_messages", None)
    module.listen_error_messages = lambda *arguments: None
    try:
        yield
    finally:
        module.listen_error_messages = listen


def _require_reachable(address: str) -> None:
    """Refuse an address where nobody answers: Ray itself would try for a minute."""
    host, _, port = address.rpartition(":")
    if address in ("auto", "local"):
        return
    if "/" in address or not host or not port.isdigit():
        raise ConfigError(
            f"expected `ray_address` to be an address such as 10.0.0.1:6379, or auto, got {address}"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS_TO_CONNECT).close()
    except OSError as error:
        raise WorkerError(
            f"expected a Ray cluster at `ray_address` {address}, got no answer ({error}): start one with "
            "`ray start --head` (docs/cluster.md)"
        ) from error
