"""How fast is the explorer in a browser, and what does an open page cost the search that it shows?

First paint: from the moment that a browser opens the address until the cells are drawn, at 100,000 and at
1,000,000 cells, on archives that are made up and written as real checkpoints. Panning: pictures per second
while the map is dragged. Slowdown: a search on one core, in turns without and with the server and an open
page that follows it. Video: from a click until its first picture. Processor time is printed beside wall time,
because machines are busy. Chromium is needed; it draws with the processor here, which is the slowest case.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from goexplore.archive import START, Archive, Branch, ScoreLength
from goexplore.envs import Location
from goexplore.exploration import Status
from goexplore.problems import find_problem
from goexplore.runs import SearchDirectory

_COMMAND = [sys.executable, "-m", "goexplore"]
_FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-gpu", "--enable-unsafe-swiftshader"]


def make_run(path: Path, cells: int) -> Path:
    """Write the run directory of a search that has found this many cells, in many sets of keys and levels."""
    problem, _ = find_problem("montezuma-2021").with_engine("auto")
    cell_env = problem.make_cell_env()
    root, snapshot = cell_env.reset(), cell_env.snapshot()
    archive = Archive(reset_seen=problem.selection.reset_seen)
    archive.add_root(root, snapshot, cell_env.location())
    chance = np.random.default_rng(0)
    segments = [START.segment]
    for number in range(1, cells):
        level, room, x, y = number // 38_400, number % 24, number // 24 % 20, number // 480 % 10
        cell = bytes((level // 256, level % 256, room, x, y, number // 4800 % 8))
        if number % 20 == 1:
            parent = segments[int(chance.integers(max(0, len(segments) - 5_000), len(segments)))]
            offset = 0 if parent == START.segment else 20
            segments.append(archive.segments.add(Branch(parent, offset), bytes(chance.integers(0, 18, 20))))
        branch = Branch(segments[-1], (number - 1) % 20 + 1)
        length = len(archive.segments.trajectory(branch))
        archive.insert(
            cell,
            snapshot,
            ScoreLength(float(number % 977), length),
            branch,
            Location(level, room),
            found_at=number * 400,
        )
    status = Status(game_frames=cells * 400, cells=len(archive), rooms=24)
    with SearchDirectory.create(path, problem) as directory:
        directory.write_checkpoint(archive, status, cell_env.cells)
    return path


@contextlib.contextmanager
def served(*runs: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Run `goexplore serve`; yield the address, and the process."""
    command = [*_COMMAND, "serve", *map(str, runs)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[0], psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """Yield Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=_FLAGS)
        yield opened
        opened.close()


def processor_seconds(process: psutil.Process) -> float:
    """Return the processor time of a process and of those that it started."""
    total = 0.0
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            times = each.cpu_times()
            total += times.user + times.system
    return total


@dataclasses.dataclass(frozen=True, kw_only=True)
class Paint:
    """How long it took until cells were drawn."""

    cells: int
    seconds: float
    """In the browser's own clock, from the begin of the navigation."""
    browser_processor_seconds: float
    server_processor_seconds: float
    reading_seconds: float
    """Of the server, before the page was opened."""


def first_paint(run: Path, cells: int, tries: int) -> Paint:
    """Open a page several times; return the median."""
    with served(run) as (address, server), browser() as opened:
        began = time.monotonic()
        tab = opened.new_page()
        tab.goto(address)
        tab.wait_for_selector("[data-painted]", timeout=600_000)  # the server may still be reading
        reading = time.monotonic() - began
        tab.close()
        seconds, before, drawn = [], processor_seconds(server), _of_browser()
        for _ in range(tries):
            tab = opened.new_page(viewport={"width": 1280, "height": 900})
            tab.goto(address)
            tab.wait_for_selector("[data-painted]", timeout=600_000)
            seconds.append(int(tab.get_attribute("[data-painted]", "data-painted")) / 1000)
            tab.close()
        spent, drawn = (processor_seconds(server) - before) / tries, (_of_browser() - drawn) / tries
    return Paint(
        cells=cells,
        seconds=statistics.median(seconds),
        browser_processor_seconds=drawn,
        server_processor_seconds=spent,
        reading_seconds=reading,
    )


_PAN = """async () => {
    const { views } = await import(document.querySelector("script[type=module]").src);
    const { stage } = views[0].pane, began = performance.now();
    let pictures = 0;
    stage.zoomBy(2);
    while (performance.now() - began < 4000) {
        await new Promise((next) => requestAnimationFrame(next));
        stage.panBy(pictures % 60 < 30 ? 9 : -9, 3 * Math.sin(pictures / 9)); // drawn with the next picture
        pictures++;
    }
    return [(1000 * pictures) / (performance.now() - began), pictures];
}"""


def _of_browser() -> float:
    """Return the processor time of the browser that this process has started."""
    total = 0.0
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "chrom" in each.name():
                total += each.cpu_times().user + each.cpu_times().system
    return total


def panning(run: Path) -> tuple[float, float]:
    """Return pictures per second while the map is moved, and the browser's processor time for one."""
    with served(run) as (address, _), browser() as opened:
        tab = opened.new_page(viewport={"width": 1280, "height": 900})
        tab.goto(address)
        tab.wait_for_selector("[data-painted]", timeout=600_000)
        time.sleep(2)
        before = _of_browser()
        per_second, pictures = tab.evaluate(_PAN)
        return float(per_second), (_of_browser() - before) / pictures


def video_start(run: Path) -> tuple[int, float, float]:
    """Return the training frames of a run's longest trajectory, and how long its video takes to begin.

    The latter is from the click until the first picture is there, and the server's processor time for that.
    """
    with served(run) as (address, server), browser() as opened:
        tab = opened.new_page(viewport={"width": 1280, "height": 900})
        tab.goto(address)
        tab.wait_for_selector("[data-painted]", timeout=600_000)
        tab.locator("#best").click()  # the processes behind it start with the first one
        tab.wait_for_selector("video")
        _wait_for_video(tab)
        before = processor_seconds(server)
        length, seconds = tab.evaluate(_LONGEST)
        return int(length), float(seconds), processor_seconds(server) - before


_LONGEST = """async () => {
    const { views } = await import(document.querySelector("script[type=module]").src);
    const { pane } = views[0], longest = pane.lengths.indexOf(Math.max(...pane.lengths));
    document.querySelector("video").remove();
    const began = performance.now();
    pane.events.pick(pane, [longest]);
    const there = () => document.querySelector("video")?.readyState >= 2;
    while (!there()) await new Promise((next) => setTimeout(next, 10));
    return [pane.lengths[longest], (performance.now() - began) / 1000];
}"""


def _wait_for_video(tab: Any) -> None:
    while not tab.evaluate("document.querySelector('video').readyState >= 2"):
        time.sleep(0.1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pace:
    """How fast a search was."""

    per_second: float
    """Game frames per second."""
    per_processor_second: float
    """Game frames per second of the search's own processor time."""


def slowdown(folder: Path, rounds: int, seconds: float) -> tuple[list[Pace], list[Pace], float]:
    """Let a search go on, in turns without and with an open page.

    Return the paces of both, and the share of one core that the server took.
    """
    run = folder / "search"
    explore = [*_COMMAND, "explore", "montezuma-2021", "--run-dir", str(run), "--checkpoint-minutes", "0.1"]
    alone: list[Pace] = []
    watched: list[Pace] = []
    share = []
    with subprocess.Popen([*explore, "--workers", "1"], stdout=subprocess.DEVNULL) as search:
        while not (run / "checkpoints" / "000001").exists():
            time.sleep(0.5)
        process = psutil.Process(search.pid)
        for _ in range(rounds):
            alone.append(_pace(run, process, seconds))
            with served(run) as (address, server), browser() as opened:
                tab = opened.new_page(viewport={"width": 1280, "height": 900})
                tab.goto(address)
                tab.wait_for_selector("[data-painted]", timeout=600_000)
                before = processor_seconds(server)
                watched.append(_pace(run, process, seconds))
                share.append((processor_seconds(server) - before) / seconds)
        search.send_signal(signal.SIGINT)
    return alone, watched, statistics.mean(share)


def _pace(run: Path, process: psutil.Process, seconds: float) -> Pace:
    frames, spent, began = _frames(run), processor_seconds(process), time.monotonic()
    time.sleep(seconds)
    frames, spent = _frames(run) - frames, processor_seconds(process) - spent
    return Pace(per_second=frames / (time.monotonic() - began), per_processor_second=frames / spent)


def _frames(run: Path) -> int:
    """Return the game frames of a search, as of its last line of metrics, which is some seconds old."""
    *_, last = (run / "metrics.jsonl").read_text().splitlines()
    return int(json.loads(last)["game_frames"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument(
        "--rounds", type=int, default=4, help="of the search, without and with a page; 0: none"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="of each part of a round")
    chosen = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for cells in chosen.cells:
            run = make_run(folder / f"cells-{cells}", cells)
            paint = first_paint(run, cells, chosen.tries)
            print(
                f"{cells:>9,} cells: first paint after {paint.seconds:.2f} s (median of {chosen.tries}), "
                f"{paint.browser_processor_seconds:.2f} s of the browser's processor time, "
                f"{paint.server_processor_seconds:.2f} s of the server's; first page after "
                f"the server's start {paint.reading_seconds:.1f} s",
                flush=True,
            )
            per_second, seconds = panning(run)
            print(
                f"{cells:>9,} cells: {per_second:.1f} pictures/s while panning, each {1000 * seconds:.0f} ms "
                "of the browser's processor time",
                flush=True,
            )
        if chosen.rounds:
            alone, watched, share = slowdown(folder, chosen.rounds, chosen.seconds)
            for one, other in zip(alone, watched, strict=True):
                print(f"  {one.per_second:,.0f} game frames/s alone, {other.per_second:,.0f} with a page")
            for what, name_of in (("per_second", "wall time"), ("per_processor_second", "processor time")):
                before, after = (
                    statistics.mean(getattr(each, what) for each in paces) for paces in (alone, watched)
                )
                print(
                    f"search: {before:,.0f} game frames per second of {name_of} alone, {after:,.0f} with an "
                    f"open page: {1 - after / before:+.1%} slower"
                )
            print(f"server: {share:.1%} of one core while a page follows the search")
            length, seconds, spent = video_start(folder / "search")
            print(
                f"video: of {length:,} training frames, begins {seconds:.2f} s after the click, "
                f"{spent:.2f} s of the server's processor time"
            )


if __name__ == "__main__":
    main()
