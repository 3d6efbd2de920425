"""Commands as real processes and in this one, and what they leave on disk."""

import contextlib
import io
import subprocess
import sys
import time
from pathlib import Path

import psutil

from goexplore.cli import main

COMMAND = [sys.executable, "-m", "goexplore"]


def goexplore(*arguments, timeout=120, **settings):
    """Run a command to its end."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        **settings,
    )


def goexplore_here(*arguments):
    """Run a command in this process, for tests that are not about processes: it need not be started."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([str(argument) for argument in arguments])
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


def checkpoint(run):
    """Return the newest checkpoint of a run."""
    return max(each for each in (Path(run) / "checkpoints").iterdir() if each.name.isdigit())


def tables(run):
    """Return the archive of a run as it is on disk."""
    return [(checkpoint(run) / name).read_bytes() for name in ("archive.parquet", "segments.parquet")]


def children(process):
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def is_at_work(process):
    """Tell whether a command's worker processes are at work: to make an environment takes them less."""
    return any(sum(psutil.Process(child).cpu_times()[:2]) > 0.2 for child in children(process))


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)
