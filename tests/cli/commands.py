"""Commands as real processes, and what they leave on disk."""

import subprocess
import sys
import time
from pathlib import Path

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


def checkpoint(run):
    """Return the newest checkpoint of a run."""
    return sorted((Path(run) / "checkpoints").glob("[0-9]*"))[-1]


def tables(run):
    """Return the archive of a run as it is on disk."""
    return [(checkpoint(run) / name).read_bytes() for name in ("archive.parquet", "segments.parquet")]


def children(process):
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)
