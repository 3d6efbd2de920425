"""How fast is the explorer in a browser, and what does an open page cost the search that it shows?

First paint: from the moment that a browser opens the address until the cells are drawn, at 100,000 and at
1,000,000 cells, on archives that are made up and written as real checkpoints; no two cells share a place.
Panning: pictures per second while the map is dragged, in all layouts, and how many cells are drawn then and
when it rests. Slowdown: a search on all cores, in short turns with and without a page that follows it or
opens a cell every few seconds. Video: from a click until its first picture, the first
time and later. Processor time is printed beside wall time, because machines are busy. Chromium is needed; it
draws with the processor here, which is the slowest case.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import multiprocessing
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from goexplore.api import usable_cores
from goexplore.archive import START, Archive, Branch, ScoreLength
from goexplore.envs import Location
from goexplore.exploration import Status
from goexplore.problems import find_problem
from goexplore.runs import Limits, SearchDirectory, run_search
from goexplore.runs._search_session import Progress

_COMMAND = [sys.executable, "-m", "goexplore"]
_FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-gpu", "--enable-unsafe-swiftshader"]


def make_run(path: Path, cells: int) -> Path:
    """Write the run directory of a search that has found this many cells, on many levels."""
    problem, _ = find_problem("montezuma-2021").with_engine("auto")
    cell_env = problem.make_cell_env()
    root, snapshot = cell_env.reset(), cell_env.snapshot()
    archive = Archive(reset_seen=problem.selection.reset_seen)
    archive.add_root(root, snapshot, cell_env.location())
    chance = np.random.default_rng(0)
    segments = [START.segment]
    for number in range(1, cells):
        level, room, x, y = number // 4800, number % 24, number // 24 % 20, number // 480 % 10
        cell = bytes((level // 256, level % 256, room, x, y, 0))
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


_PAN = """async ([layout, zoom]) => {
    const { views } = await import(document.querySelector("script[type=module]").src);
    const { pane } = views[0], { stage, scatter } = pane, next = () => new Promise(requestAnimationFrame);
    const [across, down] = ["found_at_game_frame", "score"];
    await pane.setLayout({ name: layout, across, down });
    stage.zoomBy(zoom);
    const until = async (milliseconds, step) => {
        const began = performance.now();
        let pictures = 0, drawn = 0;
        for (; performance.now() - began < milliseconds; pictures++) {
            await next();
            step(pictures); // drawn with the next picture
            drawn += scatter.drawn;
        }
        return [pictures, (performance.now() - began) / 1000, drawn / pictures];
    };
    const pan = (picture) => stage.panBy(picture % 60 < 30 ? 9 : -9, 3 * Math.sin(picture / 9));
    await until(1500, pan);
    const [pictures, seconds, moving] = await until(4000, pan);
    const stopped = performance.now();
    for (let before = -1; before !== scatter.drawn; ) {
        before = scatter.drawn;
        for (let i = 0; i < 3; i++) await next();
    }
    return [pictures, seconds, moving, scatter.drawn, (performance.now() - stopped) / 1000];
}"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pan:
    """How smoothly a map moves."""

    layout: str
    zoom: float
    per_second: float
    """Pictures."""
    processor_seconds: float
    """Of the browser, for one picture."""
    moving: float
    """Cells in a picture while the map moves."""
    resting: int
    """Cells in the picture when it rests."""
    settling_seconds: float
    """Until all of them are drawn."""


def _browsers() -> list[psutil.Process]:
    """Return the processes of the browser that this process has started."""
    found = []
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "chrom" in each.name():
                found.append(each)
    return found


def _of_browser() -> float:
    """Return the processor time of the browser that this process has started."""
    total = 0.0
    for each in _browsers():
        with contextlib.suppress(psutil.Error):
            total += each.cpu_times().user + each.cpu_times().system
    return total


def panning(run: Path) -> Iterator[Pan]:
    """Move the map of a run in all layouts: with everything in view, and nearer."""
    with served(run) as (address, _), browser() as opened:
        tab = opened.new_page(viewport={"width": 1280, "height": 900})
        tab.goto(address)
        tab.wait_for_selector("[data-painted]", timeout=600_000)
        time.sleep(2)
        for layout in ("map", "tree", "columns"):
            for zoom in (1.0, 8.0):
                before = _of_browser()
                pictures, seconds, moving, resting, settling = tab.evaluate(_PAN, [layout, zoom])
                share = seconds / (seconds + settling + 1.5)
                yield Pan(
                    layout=layout,
                    zoom=zoom,
                    per_second=pictures / seconds,
                    processor_seconds=share * (_of_browser() - before) / pictures,
                    moving=moving,
                    resting=int(resting),
                    settling_seconds=float(settling),
                )


@dataclasses.dataclass(frozen=True, kw_only=True)
class VideoStart:
    """How long a video takes to begin."""

    what: str
    seconds: float
    """From the click until the first picture is there."""
    processor_seconds: float
    """Of the server and its helpers."""


_CLICK = """async (longest) => {
    const { views } = await import(document.querySelector("script[type=module]").src);
    const { pane } = views[0], began = performance.now();
    const entry = longest ? pane.lengths.indexOf(Math.max(...pane.lengths)) : pane.data.about.best;
    document.querySelector("video")?.remove();
    pane.events.pick(pane, [entry]);
    const there = () => document.querySelector("video")?.readyState >= 2;
    while (!there()) await new Promise((next) => setTimeout(next, 10));
    return [pane.lengths[entry], (performance.now() - began) / 1000];
}"""
_EPISODE = """async () => {
    const began = performance.now();
    document.querySelector(".episodes button:enabled").click();
    const there = () => document.querySelector("video")?.readyState >= 2;
    while (!there()) await new Promise((next) => setTimeout(next, 10));
    return (performance.now() - began) / 1000;
}"""


def video_starts(run: Path) -> Iterator[VideoStart]:
    """Click the best cell of a run that was just served, then its longest trajectory."""
    with served(run) as (address, server), browser() as opened:
        tab = opened.new_page(viewport={"width": 1280, "height": 900})
        tab.goto(address)
        tab.wait_for_selector("[data-painted]", timeout=600_000)
        for longest, when in ((False, "first click"), (True, "later click")):
            before = processor_seconds(server)
            length, seconds = tab.evaluate(_CLICK, longest)
            spent = processor_seconds(server) - before
            what = f"{when}, {int(length):,} training frames"
            yield VideoStart(what=what, seconds=float(seconds), processor_seconds=spent)


def episode_start(training: Path) -> VideoStart:
    """Click the first episode of a training's evaluation, which imports PyTorch."""
    with served(training) as (address, server), browser() as opened:
        tab = opened.new_page(viewport={"width": 1280, "height": 900})
        tab.goto(address)
        tab.wait_for_selector(".episodes button:enabled", timeout=600_000)
        time.sleep(5)  # the pictures of rooms
        before = processor_seconds(server)
        seconds = float(tab.evaluate(_EPISODE))
        spent = processor_seconds(server) - before
        return VideoStart(what="first episode", seconds=seconds, processor_seconds=spent)


_OPEN_NEXT = """async (number) => {
    const { views } = await import(document.querySelector("script[type=module]").src);
    const { pane } = views[0];
    pane.events.pick(pane, [(number * 7919) % pane.rows]);
}"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Slowdown:
    """What a page costs a search."""

    what: str
    speeds: list[float]
    """Game frames per second beside a page, relative to those without it, of each turn."""
    efforts: list[float]
    """Processor time of the search for a game frame, in the same way."""
    server_share: float
    """Of one core, that the server and its helpers took."""
    browser_share: float
    """Of one core, that the browser took."""

    def __str__(self) -> str:
        speed, effort = map(_interval, (self.speeds, self.efforts))
        return (
            f"search with {self.what}, {len(self.speeds)} turns: {speed} of the game frames per second, "
            f"{effort} of the processor time per game frame; server: {self.server_share:.1%} of one core, "
            f"browser on the same machine: {self.browser_share:.1%}"
        )


def _interval(ratios: list[float]) -> str:
    """Return the mean change and its 95 % interval by Student's t."""
    from scipy import stats

    mean = statistics.mean(ratios) - 1
    half = float(stats.sem(ratios) * stats.t.ppf(0.975, len(ratios) - 1)) if len(ratios) > 1 else float("nan")
    return f"{mean:+.1%} (95 %: {mean - half:+.1%} to {mean + half:+.1%})"


class _Reporter:
    """Tells another process how many game frames a search has played."""

    def __init__(self, game_frames: Any) -> None:
        self._game_frames = game_frames

    def progress(self, progress: Progress) -> None:
        self._game_frames.value = progress.status.game_frames + progress.unfinished_game_frames

    def log(self, line: str) -> None:
        print(line, flush=True)


def _search(run: Path, game_frames: Any) -> None:
    problem = find_problem("montezuma-2021")
    run_search(
        problem,
        run_dir=run,
        limits=Limits(),
        workers=usable_cores(),
        checkpoint_minutes=1.0,
        reporter=_Reporter(game_frames),
    )


class _Turn:
    """A stretch of a search: its speed, and its processor time for each game frame."""

    def __init__(self, search: psutil.Process, game_frames: Any, wait: Callable[[], None]) -> None:
        frames, spent, began = game_frames.value, processor_seconds(search), time.monotonic()
        wait()
        frames = game_frames.value - frames
        self.speed = frames / (time.monotonic() - began)
        self.effort = (processor_seconds(search) - spent) / frames


def slowdown(folder: Path, turns: int, seconds: float) -> Iterator[Slowdown]:
    """Let a search go on, in turns without a page and with one that follows it or is used.

    Between its turns a page stands still: server and browser are stopped. What it has missed it makes up for
    in its own turn, which therefore costs more than it would otherwise. The archive grows meanwhile, so each
    turn is compared with the mean of those before and after it. A checkpoint is written every minute, five
    times as often as by default, because the page reads each of them.
    """
    run = folder / "search"
    context = multiprocessing.get_context("spawn")
    game_frames = context.Value("q", 0, lock=False)
    process = context.Process(target=_search, args=(run, game_frames))
    process.start()
    while not (run / "checkpoints" / "000001").exists():
        time.sleep(0.5)
    search = psutil.Process(process.pid)
    for what, opens in (("an open page", False), (f"a page that opens a cell every {seconds:g} s", True)):
        with served(run) as (address, server), browser() as opened:
            tab = opened.new_page(viewport={"width": 1280, "height": 900})
            tab.goto(address)
            tab.wait_for_selector("[data-painted]", timeout=600_000)
            tab.wait_for_timeout(5000)  # the pictures of rooms
            yield _in_turns(what, search, game_frames, server, tab, turns, seconds, opens)
    os.kill(search.pid, signal.SIGINT)
    process.join()


def _in_turns(
    what: str,
    search: psutil.Process,
    game_frames: Any,
    server: psutil.Process,
    tab: Any,
    turns: int,
    seconds: float,
    opens: bool,
) -> Slowdown:
    speeds, efforts, spent, drawn = [], [], processor_seconds(server), _of_browser()

    def rest() -> _Turn:
        stopped = [server, *server.children(recursive=True), *_browsers()]
        for each in stopped:
            with contextlib.suppress(psutil.Error):
                each.suspend()
        turn = _Turn(search, game_frames, lambda: time.sleep(seconds))
        for each in stopped:
            with contextlib.suppress(psutil.Error):
                each.resume()
        return turn

    def follow(number: int) -> None:
        if opens:
            tab.evaluate(_OPEN_NEXT, number)
        tab.wait_for_timeout(1000 * seconds)

    before = rest()
    for number in range(turns):
        beside = _Turn(search, game_frames, functools.partial(follow, number))
        after = rest()
        speeds.append(2 * beside.speed / (before.speed + after.speed))
        efforts.append(2 * beside.effort / (before.effort + after.effort))
        before = after
    share = 1 / (turns * seconds)
    return Slowdown(
        what=what,
        speeds=speeds,
        efforts=efforts,
        server_share=share * (processor_seconds(server) - spent),
        browser_share=share * (_of_browser() - drawn),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument(
        "--turns", type=int, default=60, help="of the search, with each kind of page; 0: none"
    )
    parser.add_argument("--seconds", type=float, default=4.0, help="of each turn")
    parser.add_argument("--training", type=Path, help="a training with an evaluation: its first video")
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
            for pan in panning(run):
                print(
                    f"{cells:>9,} cells, {pan.layout}, zoom {pan.zoom:g}: {pan.per_second:.1f} pictures/s "
                    f"while panning, each {pan.moving:,.0f} cells and {1000 * pan.processor_seconds:.0f} ms "
                    f"of the browser's processor time; all {pan.resting:,} cells in view "
                    f"{pan.settling_seconds:.1f} s after it rests",
                    flush=True,
                )
        if chosen.turns:
            for each in slowdown(folder, chosen.turns, chosen.seconds):
                print(each, flush=True)
            starts = list(video_starts(folder / "search"))
            if chosen.training is not None:
                starts.append(episode_start(chosen.training))
            for start in starts:
                print(
                    f"video, {start.what}: begins {start.seconds:.2f} s after the click, "
                    f"{start.processor_seconds:.2f} s of the server's processor time"
                )


if __name__ == "__main__":
    main()
