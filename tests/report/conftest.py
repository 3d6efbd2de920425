"""Real runs to look at, made once, and a real browser to look with."""

import shutil
import time
from pathlib import Path

import pytest

from goexplore import _native as native
from goexplore.problems import find_problem
from goexplore.runs import Limits, run_search

ENGINE, GAME_FRAMES = ("ale", 60_000) if native.atari is None else ("native", 400_000)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def explore(target, folder, *, game_frames=GAME_FRAMES, **settings):
    """Explore in this process; return the run directory."""
    problem = find_problem(target)
    run = folder / problem.name.rpartition("/")[2].rpartition(":")[2]
    run_search(problem, run_dir=run, limits=Limits(game_frames=game_frames), **settings)
    return run


@pytest.fixture(scope="session")
def montezuma(tmp_path_factory) -> Path:
    return explore("montezuma-2021", tmp_path_factory.mktemp("runs"), engine=ENGINE)


@pytest.fixture(scope="session")
def pitfall(tmp_path_factory) -> Path:
    return explore("pitfall", tmp_path_factory.mktemp("runs"), engine=ENGINE, game_frames=60_000)


@pytest.fixture(scope="session")
def pitfall_pixels(tmp_path_factory) -> Path:
    return explore("pitfall-pixels", tmp_path_factory.mktemp("runs"), engine=ENGINE, game_frames=60_000)


@pytest.fixture(scope="session")
def freeway(tmp_path_factory) -> Path:
    """A game without a map."""
    return explore("ALE/Freeway-v5", tmp_path_factory.mktemp("runs"), game_frames=20_000)


def wait_for(tab, condition, seconds=90):
    """Wait until JavaScript says so. Playwright's own way is forbidden by the page's security policy."""
    deadline = time.monotonic() + seconds
    while not tab.evaluate(condition):
        assert time.monotonic() < deadline, condition
        time.sleep(0.05)


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"],
        )
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Open a file; whatever the page complains about or asks the network for fails the test."""
    complaints = []

    def open_page(file, **settings):
        tab = browser.new_page(**settings)
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on(
            "request",
            lambda request: (
                None if request.url.startswith(("file:", "data:")) else complaints.append(request.url)
            ),
        )
        tab.goto(f"file://{file}")
        wait_for(tab, "[...document.querySelectorAll('video')].every(video => video.readyState >= 1)")
        return tab

    yield open_page
    assert complaints == []
