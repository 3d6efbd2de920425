"""A search with a memory limit finds the same archive, byte for byte, wherever its strings are."""

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import goexplore
from goexplore import _native as native
from goexplore.archive import _spill as spill_module
from goexplore.cli._progress import show_search
from goexplore.errors import ConfigError, MemoryLimitError, RunDirectoryError
from goexplore.problems import DynamicConfig, find_problem
from goexplore.runs import Limits, SearchDirectory, run_search
from goexplore.runs import _search_session as session
from tests.cli.commands import tables

LIMIT = 2**30
TWO_MAZES = find_problem("two-mazes")
PITFALL = find_problem("pitfall-pixels-fine")
PITFALL = replace(PITFALL, exploration=replace(PITFALL.exploration, batch_size=20))
DYNAMIC = replace(
    PITFALL, cells=DynamicConfig(target_share=0.5, first_revision=10_000, sample_frames=100, draws=10)
)
EXECUTORS = {
    "one process": (TWO_MAZES, {"workers": None}),
    "processes": (TWO_MAZES, {"workers": 2}),
    "threads": (PITFALL, {"workers": 2, "engine": "native"}),
    "threads, dynamic cells": (DYNAMIC, {"workers": 2, "engine": "native"}),
}


class Reporter:
    def __init__(self):
        self.shown, self.said = [], []

    def progress(self, progress):
        self.shown.append(progress)

    def log(self, line):
        self.said.append(line)


@pytest.fixture
def at_the_limit(monkeypatch):
    """Let the memory look as if it were at the limit all the time: pages are dropped whenever that can be."""
    monkeypatch.setattr(session.ResidentMemory, "__call__", lambda self: LIMIT)


def explored(problem, path, *, game_frames=30_000, **settings):
    return run_search(problem, run_dir=path, limits=Limits(game_frames=game_frames), **settings)


@pytest.mark.parametrize(("problem", "settings"), EXECUTORS.values(), ids=EXECUTORS)
def test_the_archive_is_the_same_with_and_without_a_limit(problem, settings, tmp_path, at_the_limit):
    if settings.get("engine") == "native" and native.atari is None:
        pytest.skip("the native engine was not compiled")
    explored(problem, tmp_path / "free", **settings)
    first = explored(problem, tmp_path / "limited", game_frames=15_000, memory_limit=LIMIT, **settings)
    assert first.search.archive.spilled > 0
    again = explored(problem, tmp_path / "limited", memory_limit="1G", resume=True, **settings)
    assert again.search.archive.spilled > 0
    assert tables(tmp_path / "limited") == tables(tmp_path / "free")
    assert not [each for each in (tmp_path / "limited").iterdir() if each.name.startswith((".", "tmp"))]


def test_what_it_costs_is_shown_and_recorded(tmp_path, at_the_limit):
    reporter = Reporter()
    outcome = explored(TWO_MAZES, tmp_path / "run", game_frames=5000, memory_limit=LIMIT, reporter=reporter)
    assert sum("the limit is near" in line for line in reporter.said) == 1
    assert show_search(reporter.shown[-1])["memory"] == "1,024 MiB and 2 MiB on the disk"
    last = outcome.run.metrics()[-1]
    assert last.spilled_bytes == outcome.search.archive.spilled == reporter.shown[-1].spilled_bytes > 10**6
    assert last.spill_seconds > 0
    assert last.page_reads >= 0


def test_a_limit_that_is_not_reached_changes_nothing(tmp_path):
    outcome = explored(TWO_MAZES, tmp_path / "run", game_frames=5000, memory_limit="64G")
    assert outcome.search.archive.spilled == 0
    last = outcome.run.metrics()[-1]
    assert (last.spilled_bytes, last.spill_seconds) == (0, 0.0)


def test_a_limit_below_what_the_process_takes_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(MemoryLimitError, match=r"of 64 MiB, got \d+ MiB .* before the search begins"):
        explored(TWO_MAZES, tmp_path / "run", memory_limit="64M")
    assert not (tmp_path / "run").exists()
    with pytest.raises(ConfigError, match="`memory_limit` to be a size such as 2G"):
        goexplore.explore("two-mazes", run_dir=tmp_path / "run", game_frames=1, memory_limit="much")
    assert not (tmp_path / "run").exists()


def test_a_search_that_outgrows_its_limit_is_saved_and_goes_on_with_a_higher_one(tmp_path, monkeypatch):
    explored(TWO_MAZES, tmp_path / "free")
    taken = iter([LIMIT // 2] * 40)
    with monkeypatch.context() as memory:
        memory.setattr(session.ResidentMemory, "__call__", lambda self: next(taken, LIMIT + 1))
        with pytest.raises(MemoryLimitError, match="raise the limit to at least"):
            explored(TWO_MAZES, tmp_path / "run", memory_limit=LIMIT)
    meta = json.loads(next((tmp_path / "run" / "checkpoints").glob("*/meta.json")).read_text())
    assert meta["content"]["status"]["game_frames"] > 0
    explored(TWO_MAZES, tmp_path / "run", memory_limit="8G", resume=True)
    assert tables(tmp_path / "run") == tables(tmp_path / "free")


def test_a_disk_that_fills_while_the_archive_moves_there_costs_nothing(tmp_path, monkeypatch, at_the_limit):
    explored(TWO_MAZES, tmp_path / "free")

    def full(*given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    taken = iter([LIMIT // 2] * 40)
    with monkeypatch.context() as disk:
        disk.setattr(session.ResidentMemory, "__call__", lambda self: next(taken, LIMIT))
        disk.setattr(spill_module.os, "posix_fallocate", full)
        with pytest.raises(RunDirectoryError, match="No space left on device"):
            explored(TWO_MAZES, tmp_path / "run", memory_limit=LIMIT)
        saved = SearchDirectory.open(tmp_path / "run").read_checkpoint()
        assert saved.status.game_frames > 0, "what was found before is not lost"
        with pytest.raises(RunDirectoryError, match="No space left on device"):
            explored(TWO_MAZES, tmp_path / "run", memory_limit=LIMIT, resume=True)
    checkpoints = tmp_path / "run" / "checkpoints"
    assert not [*checkpoints.glob("*.damaged"), *checkpoints.glob(".*.part")]
    explored(TWO_MAZES, tmp_path / "run", memory_limit=LIMIT, resume=True)
    assert tables(tmp_path / "run") == tables(tmp_path / "free")


@pytest.mark.slow
@pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled")
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
def test_the_resident_memory_stays_below_the_limit_with_a_large_archive(tmp_path):
    benchmark = Path(__file__).parents[2] / "benchmarks" / "bench_memory.py"
    command = [sys.executable, str(benchmark), "--cells", "200000", "--memory-limit", "240M", "--turns", "2"]
    command += ["--explorations", "300", "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    most = 1.1 * figures["limit"]
    assert figures["spilled"] > 60e6
    assert max(figures[f"peak_{phase}"] for phase in ("exploring", "checkpoint", "resume")) < most
    assert figures["speed_by_processor_time"] > 0.8
    assert figures["same_bytes"]
