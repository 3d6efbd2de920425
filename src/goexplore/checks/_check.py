"""Whether a problem keeps the contract: the checks run in child processes, which it may crash or hang."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import monotonic, sleep
from typing import Any, NamedTuple, TypeAlias

from goexplore import errors
from goexplore.checks._contract import CHECKS, RETURNING, Examination
from goexplore.checks._evidence import Check, Evidence, Measured, Plan
from goexplore.checks._subject import MARKS, Call, Marks, describe_marks, explain
from goexplore.engines import EngineWish
from goexplore.errors import EnvironmentContractError, ReturnError, require_at_least, require_between
from goexplore.exploration import StartMethod
from goexplore.problems import EngineBinding, EnvironmentSpec, Problem, find_problem

_SHORT = Plan(steps=200, seconds=0.03, measure=False)
"""What `explore` plays before it begins: the walk is played about twelve times."""

_PROOF = Plan(steps=400, seconds=0.3, measure=False)
"""What is played where there are several ways to return to a state, and one of them is to be trusted."""

_SHORTEST = 12
"""Steps of a walk that is not made shorter where the environment crashes."""

_LAST = "another process"
"""The check that the second process makes."""

_Pipe: TypeAlias = "Connection[Any, Any]"
_Message: TypeAlias = tuple[str, Any]


@dataclass(frozen=True, kw_only=True)
class CheckReport(Measured):
    """What `check_env` found: which promises are kept, and how large and fast the environment is."""

    problem: str
    """The name of the problem."""
    checks: tuple[Check, ...]
    """All checks that were made, in their order."""
    skipped: tuple[str, ...] = ()
    """Checks that could not be made because others failed."""
    notes: tuple[str, ...] = ()
    """What keeps the contract, but may not be what is wanted."""
    way: str | None = None
    """How it returns to states, and why so, where there are several ways."""

    @property
    def passed(self) -> bool:
        """Whether the contract is kept."""
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if not check.passed)

    def text(self) -> str:
        """Return lines for people: a verdict, one line per check, sizes and speeds."""
        failed = len(self.failures)
        verdict = "keeps the contract" if self.passed else f"{failed} check{'s' * (failed > 1)} failed"
        lines = [f"{self.problem}: {verdict}"]
        rows = [("ok" if check.passed else "FAIL", check.name, check.detail) for check in self.checks]
        rows += [("-", name, "not made: it needs what failed") for name in self.skipped]
        lines += [f"  {mark:<4}  {name:<19}  {detail}" for mark, name, detail in rows]
        if self.way is not None:
            lines.append(f"return: {self.way}")
        if self.observation is not None:
            lines.append(f"observation: {self.observation}")
        if self.steps_per_second is not None:
            lines.append(
                f"speed: {self.steps_per_second:,.0f} steps/s; snapshot of {self.snapshot_bytes:,} bytes "
                f"{self.snapshot_microseconds:,.1f} µs, restore {self.restore_microseconds:,.1f} µs"
            )
        if self.cells_found is not None:
            lines.append(f"cells: {self.cells_found:,} in {self.steps:,} random steps")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def check_env(
    target: Any,
    *,
    cell: Any = None,
    steps: int = 500,
    timeout_seconds: float = 120.0,
    start_method: StartMethod | None = None,
) -> CheckReport:
    """Test whether an environment and its cells keep the contract that `Environment` describes.

    `target` is what `explore` takes: a problem, an environment's class, a function that makes one, a name or
    an import path. `cell` is a cell function or class in place of the problem's own. `steps` is the length of
    the random walks: longer ones find more. `timeout_seconds` is how long one call of the environment may
    take. `start_method` says how processes are started: None means what worker processes use.
    """
    require_at_least("steps", steps, 1)
    problem = find_problem(target)
    if cell is not None:
        problem = dataclasses.replace(problem, cells=cell)
    plan = Plan(steps=steps, seconds=max(1.0, timeout_seconds / 20), measure=True)
    *_, (_, _, report) = _examine_ways(problem, plan, timeout_seconds, start_method)
    return report


class Proven(NamedTuple):
    """A problem that keeps the contract, in the first way to play it that does."""

    problem: Problem
    reason: str
    """Why it is played in this way."""
    notes: tuple[str, ...]
    """What the user should know of it."""


def require_env(
    problem: Problem, *, timeout_seconds: float = 120.0, start_method: StartMethod | None = None
) -> Proven:
    """Refuse a problem that does not keep the contract: the short version of `check_env`.

    An environment that crashes or hangs in `step` is refused only if no events are looked for.
    """
    plan = _PROOF if problem.env.engine in ("state", "copies", "replay") else _SHORT
    crash: tuple[str, ...] = ()
    while True:
        for candidate, reason, report in _examine_ways(problem, plan, timeout_seconds, start_method):
            if report.passed:
                return Proven(candidate, reason, (*crash, *report.notes))
        crashed = problem.events and any(check.in_step for check in report.failures)
        if not crashed or plan.steps < _SHORTEST:
            break
        # Who looks for events looks for crashes too: a walk that ends before them has to do.
        crash = (f"the check met a crash, which the search will look for: {report.failures[0].detail}",)
        plan = dataclasses.replace(plan, steps=plan.steps // 2)
    first = report.failures[0]
    if first.error:
        error: type[Exception] = getattr(errors, first.error)
        raise error(first.detail)
    raise EnvironmentContractError(
        f"{first.detail} (check `{first.name}` of {problem.name}; goexplore.check_env tells more)"
    )


def choose_way(env: EnvironmentSpec, wish: EngineWish = "auto") -> EngineBinding:
    """Return an environment as it is played best: in the first way that is proven to return to its states."""
    binding = env.with_engine(wish)
    if len(binding.env.ways()) == 1:
        return binding
    proven = require_env(Problem(env=binding.env, cells=_one_cell))
    return EngineBinding(proven.problem.env, proven.reason)


def _one_cell(observation: Any) -> int:
    return 0


def _examine_ways(
    problem: Problem, plan: Plan, timeout_seconds: float, start_method: StartMethod | None
) -> Iterator[tuple[Problem, str, CheckReport]]:
    """Yield the ways to play a problem with what came of them, up to the first that keeps the contract.

    Another way is tried only where this one does not return to the states that it should.
    """
    failed: list[str] = []
    ways = problem.env.ways()
    for binding in ways:
        candidate = dataclasses.replace(problem, env=binding.env)
        report = _examine(candidate, plan, timeout_seconds, start_method)
        reason = binding.reason
        if failed:
            reason += f" ({'; '.join(failed)})"
        yield candidate, reason, dataclasses.replace(report, way=reason if len(ways) > 1 else None)
        first = report.failures[0] if report.failures else None
        if first is None or not (first.name in RETURNING or first.error == ReturnError.__name__):
            return
        failed.append(f"not by {binding.env.engine}: {first.detail.partition(': ')[0]}")


def _examine(
    problem: Problem, plan: Plan, timeout_seconds: float, start_method: StartMethod | None
) -> CheckReport:
    require_between("timeout_seconds", timeout_seconds, 0.001, 1_000_000)
    method = start_method or ("fork" if sys.platform == "linux" else "spawn")
    checks: list[Check] = []
    evidence, measured = None, Measured()
    unpicklable = _why_unpicklable(problem) if method == "spawn" else None
    if unpicklable is not None:
        checks.append(Check("pickling", False, unpicklable))
    else:
        with contextlib.ExitStack() as children:

            def start(run: Callable[..., None]) -> _Child:
                child = _start(method, run, problem, plan)
                children.callback(child.kill)
                return child

            first = start(_run_first)
            second = None if plan.measure else start(_run_second)  # beside the first: it saves time
            evidence, measured = _listen(first, checks, timeout_seconds)
            if evidence is not None:
                made = None
                new = _start_new_interpreter(problem, plan) if plan.measure and method == "fork" else None
                if new is not None:
                    children.callback(new.kill)
                    made = _compare(new, evidence, timeout_seconds)
                if made is None:
                    made = _compare(second or start(_run_second), evidence, timeout_seconds)
                checks.append(made or Check(_LAST, False, "expected an answer, got none: try again"))
    names = {check.name for check in checks}
    return CheckReport(
        problem=problem.name,
        checks=tuple(checks),
        skipped=tuple(name for name in CHECKS if name not in names),
        notes=tuple(_notes(problem, measured)),
        **dataclasses.asdict(measured),
    )


def _notes(problem: Problem, measured: Measured) -> Iterator[str]:
    if measured.lie is not None:
        yield measured.lie
    if measured.cells_note is not None:
        yield measured.cells_note
    code = getattr(getattr(problem.cells, "function", None), "__code__", None)
    if "hash" in getattr(code, "co_names", ()):
        yield (
            "the cell function calls hash(), which differs between processes for texts and bytes: return the "
            "value itself, or the run cannot be resumed"
        )


def _listen(first: _Child, checks: list[Check], timeout_seconds: float) -> tuple[Evidence | None, Measured]:
    """Collect the checks of the first process; return its evidence, if there is any, and what it measured."""
    running, evidence = next(iter(CHECKS)), None
    try:
        for kind, value in first.messages(timeout_seconds):
            if kind == "begin":
                running = value
            elif kind == "check":
                checks.append(value)
            elif kind == "evidence":
                evidence = value
            elif kind == "measured":
                return evidence, value
    except _ChildError as error:
        in_step = Call(first.marks[0]) in (Call.STEP, Call.CELLS, Call.PLAY)
        checks.append(Check(running, False, str(error), in_step=in_step))
        evidence = None
    return evidence, Measured()


def _compare(second: _Child, evidence: Evidence, timeout_seconds: float) -> Check | None:
    """Return what the second process makes of the evidence, or None where it could not import the problem."""
    imported = False
    try:
        for kind, value in second.messages(timeout_seconds):
            if kind == "check":
                found: Check = value
                return found
            if kind == "failed":
                return None
            imported = True
            if kind == "ready":
                second.pipe.send(evidence)
    except (_ChildError, BrokenPipeError, ConnectionResetError) as error:
        return Check(_LAST, False, f"{error} (in another process)") if imported else None
    return None


# The processes, seen from the parent


class _ChildError(Exception):
    """A child process that died or hung before it had answered."""


@dataclass
class _Child:
    """A process that makes checks."""

    pipe: _Pipe
    marks: Sequence[int]
    exit_code: Callable[[], int | None]
    kill: Callable[[], None]

    def messages(self, timeout_seconds: float) -> Iterator[_Message]:
        """Yield what it sends. Raise if it dies, or if one call takes too long."""
        since, calls = monotonic(), -1
        while True:
            while not self.pipe.poll(0.05):
                if self.marks[1] != calls:
                    since, calls = monotonic(), self.marks[1]
                if self.exit_code() is not None and not self.pipe.poll(0):
                    raise self._died()
                if monotonic() - since > timeout_seconds:
                    raise _ChildError(
                        f"expected an answer from {describe_marks(self.marks)} within {timeout_seconds:g} s, "
                        "got none: make it faster, or raise `timeout_seconds`; where a library with threads "
                        "hangs in forked processes, as JAX does, set `start_method` to spawn"
                    )
            try:
                message: _Message = self.pipe.recv()
            except (EOFError, ConnectionResetError):
                raise self._died() from None
            yield message
            since = monotonic()

    def _died(self) -> _ChildError:
        since = monotonic()
        while (code := self.exit_code()) is None and monotonic() - since < 5:
            sleep(0.005)
        what = f"exit code {code}"
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                what = signal.Signals(-code).name
        return _ChildError(
            f"expected the process to outlive {describe_marks(self.marks)}, got its end ({what}): the "
            "environment crashes its process; fix that"
        )


def _start(method: StartMethod, run: Callable[..., None], problem: Problem, plan: Plan) -> _Child:
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    marks = context.RawArray("q", MARKS)
    process = context.Process(
        target=run, args=(theirs, marks, problem, plan), name="goexplore-check", daemon=True
    )
    with warnings.catch_warnings():
        # Python 3.12 warns of threads: here, those of NumPy's linear algebra, which are asleep.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    theirs.close()

    def kill() -> None:
        process.kill()
        process.join()
        ours.close()

    return _Child(ours, marks, lambda: process.exitcode, kill)


def _start_new_interpreter(problem: Problem, plan: Plan) -> _Child | None:
    """Start the second process in an interpreter of its own, in which hash() gives other numbers.

    It imports what the problem is made of. Return None where that is not possible.
    """
    try:
        pickled = pickle.dumps((problem, plan))
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    if b"__main__" in pickled or not sys.executable or getattr(sys, "frozen", False):
        return None
    ours, theirs = multiprocessing.Pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import run_new_interpreter as run; run({theirs.fileno()})"],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"},
    )
    theirs.close()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        ours.send((sys.path, pickled))

    def kill() -> None:
        process.kill()
        process.wait()
        ours.close()

    return _Child(ours, [0] * MARKS, process.poll, kill)


def _why_unpicklable(problem: Problem) -> str | None:
    try:
        pickle.dumps(problem)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        return (
            f"expected a problem that can be pickled, for processes are spawned, got {error}: define "
            "environment and cell function at the top level of a module"
        )
    return None


# The processes, seen from inside


def _run_first(pipe: _Pipe, marks: Marks, problem: Problem, plan: Plan) -> None:
    """Make all checks that one process can make."""
    _begin()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        Examination(problem, plan, marks, pipe.send).run()


def _run_second(pipe: _Pipe, marks: Marks, problem: Problem, plan: Plan) -> None:
    """Wait for the evidence of the first process and compare it with what is seen here."""
    _begin()
    parent = os.getppid()
    pipe.send(("imported", None))
    examination = Examination(problem, plan, marks, pipe.send)
    try:
        examination.prepare()
        pipe.send(("ready", None))
        while not pipe.poll(1.0):
            if os.getppid() != parent:
                return
        made = Check(_LAST, True, examination.compare(pipe.recv()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except Exception as error:  # of the user's code: any
        made = Check(_LAST, False, f"{explain(error, Call(marks[0]))} (in another process)")
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        pipe.send(("check", made))


def run_new_interpreter(file_descriptor: int) -> None:
    """Run the second process of a check in a new interpreter; what is unpickled comes from the first one."""
    pipe: _Pipe = Connection(file_descriptor)
    try:
        path, pickled = pipe.recv()
        sys.path[:] = path
        problem, plan = pickle.loads(pickled)
    except Exception:  # whatever the import of a user's module raises
        pipe.send(("failed", None))
        return
    _run_second(pipe, [0] * MARKS, problem, plan)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
