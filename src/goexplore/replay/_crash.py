"""Proof that a trajectory's last action crashes: a process of its own plays it, and must die of it."""

from __future__ import annotations

import contextlib
import os
import signal
import warnings
from time import monotonic
from typing import Any

from goexplore.archive import Actions
from goexplore.problems import Problem

_MOST_SECONDS = 60.0
"""How long one action may take before the process is given up."""

_RAISED = -1


def crash_reason(context: Any, problem: Problem, actions: Actions) -> str | None:
    """Play a trajectory in a child process; return None if its last action kills it, else what happened."""
    survived = context.RawValue("q", 0)
    process = context.Process(target=_play, args=(problem, actions, survived), daemon=True)
    with warnings.catch_warnings():
        # Python 3.12 warns of threads: here, those of NumPy's linear algebra, which are asleep.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    try:
        since, before = monotonic(), 0
        while process.is_alive() and monotonic() - since < _MOST_SECONDS:
            process.join(0.05)
            if survived.value != before:
                since, before = monotonic(), survived.value
        played, alive, code = survived.value, process.is_alive(), process.exitcode
    finally:
        process.kill()
        process.join()
    expected = f"expected the process to die of training frame {len(actions)}, got"
    if played == _RAISED:
        return f"{expected} an exception"
    if alive:
        return f"{expected} no answer at training frame {played + 1} within {_MOST_SECONDS:g} s"
    if code == 0 and played == len(actions):
        return f"{expected} one that survived it"
    if played != len(actions) - 1:
        return f"{expected} its end at training frame {played + 1}"
    return None


def _play(problem: Problem, actions: Actions, survived: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
            cell_env = problem.make_cell_env()
            cell_env.reset()
            for action in actions:
                step = cell_env.step(action)
                if step.cell is not None and not step.end:
                    cell_env.snapshot()
                survived.value += 1
    except Exception:  # of the user's code: any
        survived.value = _RAISED
