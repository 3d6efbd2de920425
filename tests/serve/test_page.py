"""The explorer in a real browser, on real runs, served by the real command."""

import contextlib
import http.server
import importlib.util
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from goexplore.runs import SavedRun
from tests.cli.commands import COMMAND, checkpoint
from tests.report.conftest import CHROMIUM, ENGINE, explore, wait_for

MARKUP = "<img src=x onerror=\"document.title='taken'\">"


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=[
                "--no-sandbox",
                "--disable-background-networking",
                "--disable-sync",
                "--disable-gpu",
                "--enable-unsafe-swiftshader",
            ],
        )
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Open an address; whatever the page complains about, or asks others for, fails the test."""
    complaints, tabs = [], []

    def complain(message):
        if "GL Driver Message" not in message.text:  # that reading pixels takes time, which only tests do
            complaints.append(message.text)

    def open_page(address, *, wait="[data-painted]", **settings):
        tab = browser.new_page(**{"viewport": {"width": 1280, "height": 900}, **settings})
        tabs.append(tab)
        tab.set_default_timeout(90_000)
        tab.on("console", complain)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        origin = address[: address.rindex("/") + 1]
        tab.on(
            "request",
            lambda request: (
                None if request.url.startswith((origin, "blob:")) else complaints.append(request.url)
            ),
        )
        tab.goto(address)
        tab.wait_for_selector(wait, timeout=60_000)
        return tab

    open_page.complaints = complaints
    yield open_page
    for tab in tabs:
        if not tab.is_closed():
            tab.evaluate("0")  # what it has complained about until now has come when this is answered
    found = list(complaints)
    for tab in tabs:
        tab.close()  # in the middle of whatever it loads
    assert found == []


@pytest.fixture(scope="module")
def address(served, montezuma, mazes, training):
    return served(montezuma, mazes, training)


def pane(tab, expression, number=0):
    """Return what the page itself knows of a run's pane."""
    return tab.evaluate(
        f"""import(document.querySelector("script[type=module]").src)
        .then(({{ views }}) => {{ const pane = views[{number}].pane; return {expression}; }})"""
    )


def wait_for_pane(tab, condition, seconds=90):
    """Wait until the page knows something of the first run's pane."""
    deadline = time.monotonic() + seconds
    while not pane(tab, condition):
        assert time.monotonic() < deadline, condition
        time.sleep(0.05)


def middle(tab, entry):
    """Return where a cell is on the screen."""
    x, y = pane(tab, f"pane.stage.toScreen(pane.places[{3 * entry}], pane.places[{3 * entry + 1}])")
    box = tab.locator(".stage").first.bounding_box()
    return box["x"] + x, box["y"] + y


def pixels(tab):
    """Return how many pixels of the map are coloured by cells."""
    return pane(
        tab,
        """(() => {
            pane.stage.ondraw();
            const canvas = pane.stage.layers[1], gl = pane.scatter.gl;
            const all = new Uint8Array(4 * canvas.width * canvas.height);
            gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, all);
            let count = 0;
            for (let i = 3; i < all.length; i += 4) count += all[i] > 60;
            return count;
        })()""",
    )


def test_cells_are_drawn_moved_and_zoomed(opened, address):
    tab = opened(address)
    assert pixels(tab) > 500
    assert "montezuma-2021" in tab.locator(".pane h2").first.inner_text()
    before = pane(tab, "({...pane.stage.camera})")
    box = tab.locator(".stage").first.bounding_box()
    tab.mouse.move(box["x"] + 300, box["y"] + 200)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 360, box["y"] + 170, steps=4)
    tab.mouse.up()
    moved = pane(tab, "({...pane.stage.camera})")
    assert (moved["x"] - before["x"]) * before["zoom"] == pytest.approx(-60)
    assert (moved["y"] - before["y"]) * before["zoom"] == pytest.approx(30)
    under = pane(tab, "pane.stage.toMap(200, 150)")
    tab.mouse.move(box["x"] + 200, box["y"] + 150)
    tab.mouse.wheel(0, -500)
    wait_for_pane(tab, f"pane.stage.camera.zoom > {1.5 * moved['zoom']}")
    assert pane(tab, "pane.stage.toMap(200, 150)") == pytest.approx(under, abs=1), (
        "what is under the pointer stays"
    )
    tab.locator("#fit").click()
    assert pane(tab, "pane.stage.camera.zoom") == pytest.approx(before["zoom"])


def test_a_click_shows_the_cell_and_the_video_of_how_it_was_reached(opened, address, montezuma):
    archive = SavedRun.open(montezuma).archive
    tab = opened(address)
    entry = archive.best
    tab.mouse.click(*middle(tab, entry))
    tab.wait_for_selector("#details h2")
    shown = int(re.search(r"[\d,]+", tab.locator("#details h2").inner_text())[0].replace(",", ""))
    assert pane(tab, f"[pane.places[{3 * shown}], pane.places[{3 * shown + 1}]]") == pane(
        tab, f"[pane.places[{3 * entry}], pane.places[{3 * entry + 1}]]"
    )
    assert f"score {archive[shown].score:,g}" in tab.locator("#details h2").inner_text()
    wait_for(tab, "document.querySelector('video').poster.startsWith('blob:')", 60)
    size = """new Promise(done => {
        const image = new Image();
        image.onload = () => done([image.naturalWidth, image.naturalHeight]);
        image.src = document.querySelector("video").poster;
    })"""
    assert tab.evaluate(size) == [280, 210]
    wait_for(tab, "document.querySelector('video').readyState >= 2", 60)
    assert tab.evaluate("document.querySelector('video').duration") == pytest.approx(
        (4 * archive[shown].length + 1) / 60, abs=0.02
    )
    tab.locator(".player button[aria-label='Play the video']").click()
    wait_for(tab, "document.querySelector('video').currentTime > 0.3", 60)
    wait_for(tab, "/training frame [1-9]/.test(document.querySelector('.player p').textContent)")
    tab.locator(".player button[aria-label='Pause the video']").click()
    steps = archive[shown].length
    tab.locator(".scrub").fill(str(steps))
    wait_for(tab, f"document.querySelector('video').currentTime > {(4 * steps - 5) / 60}")
    wait_for(
        tab, f"document.querySelector('.player p').textContent.startsWith('training frame {steps:,} ')", 60
    )
    way = pane(tab, "Array.from(pane.way)")
    assert (way[0], way[-1]) == (0, shown)
    tab.locator("#details button", has_text="Show ancestors").click()
    assert pane(tab, "pane.selected[0] + pane.selected[" + str(shown) + "]") == 2
    commands = tab.locator(".command code").all_inner_texts()
    assert any(
        re.fullmatch(rf"goexplore video \S+ --cell {shown} --out cell-{shown}.mp4", each) for each in commands
    )


def test_the_copied_command_explores_from_the_cell(opened, served, earlier, tmp_path):
    run = Path(shutil.copytree(earlier, tmp_path / 'the "first" one\'s run'))
    config = json.loads((run / "config.json").read_text())
    limits = ["--until-score", "1", "--game-frames", "4K", "--exploration.batch-size", "10"]
    config["command"] = ["goexplore", "explore", "montezuma-2021", "--engine", ENGINE, *limits]
    (run / "config.json").write_text(json.dumps(config))
    tab = opened(served(run), permissions=["clipboard-read", "clipboard-write"])
    tab.locator("#best").click()
    label = tab.locator("#details p.label", has_text="Explore from here")
    label.wait_for()
    label.locator("+ .command button").click()
    wait_for(tab, "document.querySelector('#details').textContent.includes('Copied')")
    copied = tab.evaluate("navigator.clipboard.readText()")
    path = f"{Path(COMMAND[0]).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        copied, shell=True, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    archive = SavedRun.open(run).archive
    entry = int(re.search(r"--cell (\d+)", copied)[1])
    further = SavedRun.open(run.with_name(f"{run.name}-from-{entry}"))
    assert further.archive.trajectory(0) == archive.trajectory(entry)
    assert further.archive.cell(0) == archive.cell(entry)
    assert further.status.game_frames >= 4000


def test_a_search_that_started_from_a_demonstration(opened, served, tmp_path):
    import goexplore

    run = tmp_path / "run"
    goexplore.explore(
        "montezuma-2021",
        start_from="montezuma-first-key-00",
        engine=ENGINE,
        run_dir=run,
        game_frames=20_000,
        workers=0,
    )
    tab = opened(served(run))
    assert pane(tab, "pane.rows") > 20
    tab.locator("#best").click()
    tab.wait_for_selector("#details h3")
    archive = SavedRun.open(run).archive
    best = archive[archive.best]
    assert f"{best.length} training frames" in tab.locator("#details").inner_text()
    wait_for_pane(tab, f"pane.way && pane.way.length === {best.length + 1}", 60)
    assert pane(tab, "Array.from(pane.way.slice(0, 3))") == [-1, -1, -1], "what was before the start"


def test_a_demonstration_is_saved(opened, address, tmp_path):
    from goexplore.demos import read_demonstration

    tab = opened(address)
    tab.locator("#best").click()
    with tab.expect_download(timeout=60_000) as download:
        tab.locator("a", has_text="Save as demonstration").click()
    assert re.fullmatch(r"montezuma_revenge-cell-\d+\.demo\.json", download.value.suggested_filename)
    download.value.save_as(tmp_path / "it.demo.json")
    assert len(read_demonstration(tmp_path / "it.demo.json").actions) > 0


def test_the_page_says_why_a_demonstration_cannot_be_saved(opened, address):
    tab = opened(address)
    tab.route(
        "**/demonstration", lambda route: route.fulfill(status=503, json={"error": "it does not replay"})
    )
    tab.locator("#best").click()
    tab.locator("a", has_text="Save as demonstration").click()
    wait_for(tab, "document.querySelector('#details .row .wrong')?.textContent === 'it does not replay'")
    opened.complaints.clear()  # Chromium's own line about the answer


def test_cells_are_filtered_and_a_mistake_is_told(opened, address, montezuma):
    archive = SavedRun.open(montezuma).archive
    tab = opened(address)
    before = pixels(tab)
    places = (tab.locator("#tools").bounding_box(), tab.locator(".stage").bounding_box())
    tab.keyboard.press("/")
    tab.keyboard.type("length > 30")
    tab.keyboard.press("Enter")
    count = int((archive.values("length") > 30).sum())
    wait_for(tab, f"document.getElementById('found').textContent === '{count:,} of {len(archive):,} cells'")
    assert pixels(tab) < before
    tab.locator("#filter").fill("roam == 1")
    tab.keyboard.press("Enter")
    wait_for(tab, "document.getElementById('said').textContent.includes('Did you mean room?')")
    assert tab.locator("#filter").get_attribute("aria-invalid") == "true"
    assert (tab.locator("#tools").bounding_box(), tab.locator(".stage").bounding_box()) == places
    tab.locator("#filter").fill("room =")
    tab.keyboard.press("Enter")
    wait_for(tab, "document.getElementById('said').textContent.includes('expected a condition such as')")
    assert "unknown" not in tab.locator("#said").inner_text()
    tab.locator("#filter").fill("")
    tab.keyboard.press("Enter")
    wait_for(tab, "document.getElementById('said').textContent === ''")
    assert pixels(tab) == before


def test_a_run_that_is_switched_on_joins_the_others(opened, address, montezuma, mazes):
    """Filter, lasso and time are those of all runs that are shown."""
    first, second = (SavedRun.open(run).archive for run in (montezuma, mazes))
    tab = opened(address)

    def counts(condition, *archives):
        matching = sum(int((archive.values("length") > condition).sum()) for archive in archives)
        text = f"{matching:,} of {sum(map(len, archives)):,} cells"
        wait_for(tab, f"document.getElementById('found').textContent === '{text}'")

    tab.locator("#lasso").click()
    tab.locator("#filter").fill("length > 30")
    tab.keyboard.press("Enter")
    counts(30, first)
    tab.locator("#runs button").nth(1).click()
    counts(30, first, second)
    assert pane(tab, "pane.stage.lassoing", 1)
    tab.locator("#runs button").nth(0).click()
    counts(30, second)
    now = f"now: {SavedRun.open(mazes).status.game_frames / 1000:.3g}K game frames"
    wait_for(tab, f"document.getElementById('now').textContent === '{now}'")
    tab.locator("#filter").fill("length > 20")
    tab.keyboard.press("Enter")
    counts(20, second)
    tab.locator("#lasso").click()
    tab.locator("#runs button").nth(0).click()
    counts(20, first, second)
    assert not pane(tab, "pane.stage.lassoing")
    tab.locator("#filter").fill("keys == 0")
    tab.keyboard.press("Enter")
    wait_for(tab, "document.getElementById('said').textContent.includes('expected a column')")
    assert tab.locator("#found").inner_text() == "", "the filter is not applied to all that is shown"


def test_a_lasso_selects_and_lists_cells(opened, address):
    tab = opened(address)
    tab.locator("#lasso").click()
    box = tab.locator(".stage").first.bounding_box()
    corners = [(4, 4), (box["width"] - 4, 4), (box["width"] - 4, box["height"] - 4), (4, box["height"] - 4)]
    tab.mouse.move(box["x"] + 4, box["y"] + 4)
    tab.mouse.down()
    for x, y in corners[1:]:
        tab.mouse.move(box["x"] + x, box["y"] + y, steps=3)
    tab.mouse.up()
    rows = pane(tab, "pane.rows")
    assert f"{rows:,} cells selected" in tab.locator("#details h2").inner_text()
    first = tab.locator("#details tbody tr").first
    best = pane(tab, "Math.max(...pane.scores)")
    assert first.locator("td").nth(1).inner_text() == f"{best:,g}"
    first.locator("button").click()
    wait_for(tab, "document.querySelector('#details h2')?.textContent.startsWith('Cell')")
    tab.keyboard.press("Escape")
    assert pane(tab, "pane.selected") is None


@pytest.mark.parametrize("name", ["score", "times_seen", "keys", "probability"])
def test_cells_are_coloured_by_any_column(opened, address, name):
    tab = opened(address)
    tab.locator("#colour").select_option(name)
    wait_for_pane(tab, f"pane.colour === '{name}' && pane.raw.length === pane.rows", 60)
    meaning = {
        "score": "best search score",
        "times_seen": "passed through",
        "keys": "keys",
        "probability": "chosen next",
    }
    wait_for(tab, f"document.querySelector('.scale').textContent.includes('{meaning[name]}')", 60)
    if name == "probability":
        assert pane(tab, "pane.raw.reduce((sum, each) => sum + each, 0)") == pytest.approx(1)


def test_cells_lie_by_trajectory_or_by_two_columns(opened, address):
    tab = opened(address)
    for layout in ("tree", "columns"):
        tab.locator("#layout").select_option(layout)
        wait_for_pane(tab, f"pane.layout.name === '{layout}'")
        wait_for(tab, "document.querySelector('#layout').value === '" + layout + "'")
        assert pixels(tab) > 100
    wait_for(tab, "document.getElementById('across').checkVisibility()")


def test_the_slider_replays_the_growth(opened, address, montezuma):
    found = np.sort(SavedRun.open(montezuma).archive.values("found_at_game_frame"))
    tab = opened(address)
    all_of_them = pixels(tab)
    tab.locator("#slider").fill("300")
    frames = pane(tab, "pane.frames")
    count = int((found <= 0.3 * frames).sum())
    assert 0 < count < len(found)
    assert f"{count:,} cells" in tab.locator(".facts").first.inner_text()
    assert pixels(tab) < all_of_them
    assert "found just before" in tab.locator(".scale").first.inner_text(), "what another colour means"
    tab.locator("#slider").fill("1000")
    assert "found just before" not in tab.locator(".scale").first.inner_text()
    assert pixels(tab) == all_of_them
    tab.locator("h1").click()
    tab.keyboard.press("Space")
    wait_for(tab, "Number(document.getElementById('slider').value) < 900")
    tab.keyboard.press("Space")
    wait_for(tab, "document.querySelectorAll('#curves .uplot').length >= 3")


def test_everything_works_with_the_keyboard(opened, address):
    tab = opened(address)
    reached = set()
    for _ in range(40):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"layout", "colour", "filter", "lasso", "fit", "best", "stage", "play", "slider"} <= reached
    tab.locator(".stage").first.focus()
    before = pane(tab, "({...pane.stage.camera})")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("+")
    after = pane(tab, "({...pane.stage.camera})")
    assert after["x"] > before["x"]
    assert after["zoom"] == pytest.approx(1.4 * before["zoom"])
    tab.keyboard.press("0")
    tab.keyboard.press("Enter")
    wait_for(tab, "document.querySelector('#details h2')?.textContent.startsWith('Cell')")
    tab.keyboard.press("?")
    assert tab.locator("#keys").is_visible()
    tab.keyboard.press("l")
    assert tab.locator("#lasso").get_attribute("aria-pressed") == "true"
    tab.keyboard.press("Escape")
    assert tab.locator("#lasso").get_attribute("aria-pressed") == "false"
    assert pane(tab, "pane.current") is None


@pytest.mark.parametrize(
    "width", [320, 1600, *(pytest.param(each, marks=pytest.mark.slow) for each in (390, 768))]
)
def test_no_screen_is_too_narrow(opened, address, width):
    tab = opened(address, viewport={"width": width, "height": 800})
    tab.locator("#best").click()
    tab.wait_for_selector("#details h2")
    tab.locator("#layout").select_option("columns")
    for button in tab.locator("#runs button").all()[1:]:
        button.click()
    wait_for(tab, "document.querySelectorAll('.training .uplot').length >= 3")
    wait_for(tab, "document.querySelectorAll('.pane[data-painted]').length === 3")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    stages = tab.locator(".stage:visible").all()
    assert all(stage.bounding_box()["height"] >= 150 for stage in stages)
    boxes = "[...document.querySelectorAll('.pane')].map(pane => pane.getBoundingClientRect().toJSON())"
    one, two, three = tab.evaluate(boxes)
    for above, below in ((one, two), (two, three), (one, three)):
        assert above["bottom"] <= below["top"] + 2 or above["right"] <= below["left"] + 2, "panes overlap"
    inside = """[...document.querySelectorAll(".pane")].every(({ children }) => {
        const boxes = [...children].map((child) => child.getBoundingClientRect());
        return boxes.every((box, i) => !i || boxes[i - 1].bottom <= box.top + 1);
    })"""
    assert tab.evaluate(inside), "a stage covers its legend"


def test_a_phone_shows_the_way_on_the_map_above_the_video(opened, address):
    tab = opened(address, viewport={"width": 390, "height": 844})
    tab.locator("#best").click()
    tab.wait_for_selector("#details video")
    inside = """(() => {
        const map = document.querySelector(".stage").getBoundingClientRect();
        const video = document.querySelector("#details video").getBoundingClientRect();
        return (map.top + map.bottom) / 2 > 0 && video.bottom <= innerHeight;
    })()"""
    wait_for(tab, f"scrollY > 0 && {inside}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_dark(opened, address, scheme):
    tab = opened(address, color_scheme=scheme)
    brightness = """name => getComputedStyle(document.body)[name]
        .match(/[0-9]+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"""
    ink, paper = (tab.evaluate(brightness, name) for name in ("color", "backgroundColor"))
    assert (ink < 250 and paper > 700) if scheme == "light" else (ink > 600 and paper < 120)


def test_several_runs_are_side_by_side_with_their_curves(opened, address):
    tab = opened(address)
    tab.locator("#runs button").nth(1).click()
    wait_for(tab, "document.querySelectorAll('.pane[data-painted]').length === 2")
    first, second = (each.bounding_box() for each in tab.locator(".pane").all())
    assert first["y"] == second["y"]
    assert first["x"] < second["x"]
    wait_for(tab, "document.title.includes('two-mazes')")
    tab.locator("#runs button").nth(0).click()
    assert not tab.locator(".pane").first.is_visible()


def test_a_training_shows_its_curves_deaths_and_episodes(opened, address):
    tab = opened(address)
    tab.locator("#runs button").nth(2).click()
    wait_for(tab, "document.querySelectorAll('.training .charts .uplot').length >= 3", 60)
    assert "Starting points" in tab.locator(".charts").inner_text()
    wait_for(tab, "document.querySelectorAll('.episodes button:enabled').length === 31")
    assert "training frames, until 100 points" in tab.locator("select[aria-label='Evaluation']").inner_text()
    assert "of first lives reach it" in tab.locator("#details").inner_text()
    wait_for(tab, "document.querySelector('#details').textContent.includes('Where lives end')")
    wait_for(tab, "document.querySelector('#details').textContent.includes('Rollouts that ended last')")
    wait_for(tab, "document.querySelectorAll('.rollouts tbody tr').length === 15")
    shows = """(() => {
        const canvas = document.querySelector(".training").closest(".pane").querySelectorAll("canvas")[2];
        const copy = document.createElement("canvas");
        [copy.width, copy.height] = [canvas.width, canvas.height];
        const context = copy.getContext("2d", { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        const all = context.getImageData(0, 0, copy.width, copy.height).data;
        return all.some((value, at) => at % 4 === 3 && value > 0);
    })()"""
    wait_for(tab, shows)
    tab.locator("select[aria-label='On the map']").select_option("lives")
    wait_for(tab, f"!{shows}")
    tab.locator(".episodes button:enabled").nth(2).click()
    wait_for(tab, "document.querySelector('video')?.currentTime > 0.1", 90)


def test_no_text_of_any_file_becomes_part_of_the_page(opened, served, earlier, tmp_path):
    run = tmp_path / f"run {MARKUP.replace('/', '')}"
    shutil.copytree(earlier, run)
    config = json.loads((run / "config.json").read_text())
    config["command"] = ["goexplore", "explore", MARKUP]
    (run / "config.json").write_text(json.dumps(config))
    tab = opened(served(run))
    tab.locator("#best").click()
    tab.wait_for_selector("#details .command")
    assert MARKUP in tab.locator("#runs").inner_text()
    assert tab.locator("img[src=x]").count() == 0
    assert "taken" not in tab.title().replace(MARKUP, "")


def test_the_page_follows_a_run_that_grows_vanishes_and_comes_back(
    opened, served, montezuma, earlier, tmp_path
):
    run = Path(shutil.copytree(earlier, tmp_path / "run"))
    tab = opened(served(run, eager=True))
    rows = pane(tab, "pane.rows")
    tab.locator("#filter").fill("length >= 0")
    tab.keyboard.press("Enter")
    newer = checkpoint(montezuma)
    shutil.copytree(newer, tmp_path / newer.name)
    (tmp_path / newer.name).rename(run / "checkpoints" / newer.name)
    wait_for_pane(tab, f"pane.rows > {rows}", 90)
    rows = len(SavedRun.open(montezuma).archive)
    wait_for_pane(tab, f"pane.places.length === {3 * rows}")
    wait_for(tab, f"document.getElementById('found').textContent === '{rows:,} of {rows:,} cells'")
    run.rename(tmp_path / "elsewhere")
    wait_for(tab, "document.getElementById('notices').textContent.includes('not there any more')")
    assert pixels(tab) > 500, "what was read is still shown"
    (tmp_path / "elsewhere").rename(run)
    wait_for(tab, "document.getElementById('notices').textContent === ''")


def test_runs_of_different_kinds_are_laid_out_by_their_own_columns(opened, address):
    tab = opened(address)
    tab.locator("#runs button").nth(1).click()
    wait_for(tab, "document.querySelectorAll('.pane[data-painted]').length === 2")
    tab.locator("#runs button").nth(0).focus()
    tab.locator(".stage").first.focus()
    tab.locator("#layout").select_option("columns")
    tab.locator("#across").select_option("found_at_game_frame")
    tab.locator("#across").select_option("keys")
    wait_for_pane(tab, "pane.layout.across === 'keys'")
    assert pane(tab, "pane.layout.name", 1) == "columns"
    assert pane(tab, "pane.layout.across", 1) == "found_at_game_frame", "it has no such column"
    assert tab.locator("#said").inner_text() == ""
    assert pane(tab, "pane.element.classList.contains('active')"), "the pane that the tools are about"


def test_the_tools_stay_while_a_training_is_active(opened, address):
    tab = opened(address)
    top = tab.locator(".pane").first.bounding_box()["y"]
    tab.locator("#runs button").nth(2).click()
    wait_for(tab, "document.querySelectorAll('.training .uplot').length >= 3", 60)
    assert tab.locator("#tools").is_visible()
    assert tab.locator(".pane").first.bounding_box()["y"] == top, "nothing jumps"
    tab.locator("#best").click()
    wait_for(tab, "document.querySelector('#details h2')?.textContent.startsWith('Cell')")
    for button in (0, 2):
        tab.locator("#runs button").nth(button).click()
    assert tab.locator("#none").is_visible()
    assert not tab.locator("#tools").is_visible()
    assert "Cell" not in tab.locator("#details").inner_text()


def test_escape_leaves_the_filter_as_it_was(opened, address):
    tab = opened(address)
    tab.locator("#best").click()
    wait_for_pane(tab, "pane.current !== null")
    tab.keyboard.press("/")
    tab.keyboard.type("length >")
    tab.keyboard.press("Escape")
    assert tab.locator("#filter").input_value() == ""
    assert pane(tab, "pane.current !== null && pane.matches === null")
    assert tab.evaluate("document.activeElement.className") == "stage"
    tab.locator("h1").click()
    before = pane(tab, "pane.stage.camera.x")
    tab.keyboard.press("ArrowRight")
    assert pane(tab, "pane.stage.camera.x") > before, "keys move the map wherever the focus is"


def test_a_picture_is_drawn_in_parts_and_all_of_it_when_it_rests(opened, address):
    """With parts of 10 cells, a few frames draw what one frame draws otherwise."""
    tab = opened(address)
    whole, cells = pixels(tab), pane(tab, "pane.scatter.drawn")
    assert cells > 100
    slow = """(() => {
        Object.defineProperty(pane.scatter, "part", { get: () => 10, set: () => {} });
        pane.stage.panBy(1, 0);
        pane.stage.panBy(-1, 0);
        pane.stage.zoomBy(1.01);
        return new Promise((next) => requestAnimationFrame(() => next(pane.scatter.drawn)));
    })()"""
    assert pane(tab, slow) <= 20
    wait_for_pane(tab, f"pane.scatter.drawn === {cells}")
    tab.locator("#fit").click()
    wait_for_pane(tab, f"pane.scatter.drawn === {cells}")
    assert abs(pixels(tab) - whole) < 0.02 * whole


def test_the_tree_shows_the_lineage_of_a_cell(opened, address):
    tab = opened(address)
    tab.locator("#layout").select_option("tree")
    wait_for_pane(tab, "pane.isTree && pane.parents?.length === pane.rows")
    tab.locator("#best").click()
    wait_for_pane(tab, "pane.way && pane.lineage")
    lineage = pane(tab, "Array.from(pane.lineage)")
    assert all(pane(tab, f"pane.parents[{b}]") == a for a, b in itertools.pairwise(lineage))


def test_what_was_not_found_yet_is_not_shown(opened, address, montezuma):
    tab = opened(address)
    rooms = pane(tab, "pane.rooms.places.filter(({ found }) => found).map(({ found_at }) => found_at)")
    archive = SavedRun.open(montezuma).archive
    assert sorted(rooms)[0] == 0
    assert len(rooms) == len(archive.locations)
    tab.locator("#slider").fill("500")
    assert "best score" in tab.locator(".facts").first.inner_text()
    assert "room" in tab.locator(".facts").first.inner_text()


@pytest.fixture(scope="module")
def others(served, tmp_path_factory):
    """Runs of pixels without positions, and of a grid of fields without rooms."""
    import goexplore

    folder = tmp_path_factory.mktemp("runs")
    runs = [explore("pitfall-pixels", folder, engine=ENGINE, game_frames=20_000)]
    if importlib.util.find_spec("minigrid"):
        grid = goexplore.explore(
            "MiniGrid-DoorKey-8x8-v0",
            cell="grid(agent_pos, agent_dir, carrying.type)",
            run_dir=folder / "minigrid",
            game_frames=3_000,
            workers=0,
        )
        runs.append(grid.path)
    return served(*runs), len(runs)


@pytest.mark.slow
def test_other_kinds_of_runs_are_shown_with_their_videos(opened, others):
    address, runs = others
    tab = opened(address)
    for number in range(runs):
        if number:
            tab.locator("#runs button").nth(number).click()
            wait_for(tab, f"document.querySelectorAll('.pane[data-painted]').length === {number + 1}")
            tab.locator(".stage").nth(number).focus()
        assert pane(tab, "pane.scatter.drawn", number) > 5
        tab.locator("#best").click()
        wait_for(tab, "document.querySelector('video')?.readyState >= 2", 90)
        tab.locator("#details video").evaluate("video => video.remove()")
    assert pane(tab, "pane.layout.name", 0) == "map"
    if runs > 1:
        assert pane(tab, "[pane.layout.name, pane.layout.across]", 1) == ["columns", "agent_pos_0"]


@pytest.mark.slow
def test_another_run_in_the_same_folder_is_shown_anew(opened, served, earlier, mazes, tmp_path):
    run = Path(shutil.copytree(earlier, tmp_path / "run"))
    tab = opened(served(run, eager=True))
    tab.locator("#best").click()
    wait_for(tab, "document.querySelector('#details h2')?.textContent.startsWith('Cell')")
    shutil.copytree(mazes, tmp_path / "other")
    run.rename(tmp_path / "before")
    (tmp_path / "other").rename(run)
    wait_for_pane(tab, "pane && pane.data.about && pane.data.about.problem === 'two-mazes'")
    assert "Cell" not in tab.locator("#details").inner_text()
    assert tab.locator(".pane").count() == 1
    assert "stopped" not in tab.locator("#notices").inner_text()


def test_a_run_says_how_it_ended_or_that_it_has_no_checkpoint_yet(opened, served, earlier, tmp_path):
    run = Path(shutil.copytree(earlier, tmp_path / "run"))
    (run / "checkpoints").rename(tmp_path / "aside")
    (run / "outcome.json").write_text('{"outcome": "failed: the disk is full"}')
    tab = opened(served(run, eager=True), wait=".empty")
    wait_for(tab, "document.querySelector('.state').textContent === 'failed'")
    wait_for(tab, "document.getElementById('notices').textContent.includes('the disk is full')")
    assert "To resume it" in tab.locator("#notices").inner_text()
    wait_for(tab, "document.querySelector('.empty').textContent.includes('has not written a checkpoint')")
    (run / "outcome.json").write_text('{"outcome": "ended"}')
    (tmp_path / "aside").rename(run / "checkpoints")
    wait_for(tab, "document.querySelector('.state').textContent === 'ended'")
    wait_for(tab, "document.querySelector('.pane[data-painted]') !== null")
    wait_for(tab, "document.getElementById('notices').textContent === ''")


class _Proxy(http.server.BaseHTTPRequestHandler):
    """Passes on what is below a path, and removes that path."""

    target = ""
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        path = self.path.removeprefix("/lab/explorer")
        request = urllib.request.Request(f"{self.target}{path}", headers={"Host": "127.0.0.1"})
        with urllib.request.urlopen(request) as answer:
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                if name.lower() not in ("connection", "transfer-encoding"):
                    self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError):
                while part := answer.read1():
                    self.wfile.write(part)
                    self.wfile.flush()

    def log_message(self, *_):
        pass


def test_the_page_works_below_any_path_of_a_reverse_proxy(opened, address):
    origin, token = re.match(r"(http://[^/]+)/([^/]+)/", address).groups()
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Proxy", (_Proxy,), {"target": origin})
    ) as proxy:
        proxy.daemon_threads, proxy.block_on_close = True, False
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        tab = opened(f"http://127.0.0.1:{proxy.server_port}/lab/explorer/{token}/")
        tab.locator("#best").click()
        wait_for(tab, "document.querySelector('video')?.readyState >= 2", 90)
        wait_for(tab, "document.querySelector('.state').textContent === 'ended'")
        tab.close()
        proxy.shutdown()


@pytest.mark.slow
def test_the_page_says_when_the_server_was_started_again_with_another_token(opened, earlier):
    def start(*more):
        command = [*COMMAND, "serve", str(earlier), *more]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        return process, process.stdout.readline().split()[0]

    process, address = start()
    tab = opened(address)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    process, _ = start("--port", re.search(r":([0-9]+)/", address)[1])
    wait_for(tab, "document.getElementById('connection').textContent.includes('new address')")
    tab.close()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    opened.complaints.clear()  # Chromium's own lines about the refusals


def test_the_page_says_when_the_server_is_gone(opened, earlier):
    command = [*COMMAND, "serve", str(earlier)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        tab = opened(process.stdout.readline().split()[0])
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert time.monotonic() - began < 15, "an open page does not keep it"
    wait_for(tab, "document.getElementById('connection').textContent.includes('does not answer')")
    tab.close()
    opened.complaints.clear()  # Chromium's own lines about the connection, at every attempt


@pytest.mark.slow
def test_a_live_run_is_followed_for_a_minute_killed_and_resumed(opened, served, tmp_path):
    """The run's process is killed with a page open, and the page sees it stop and go on."""
    run = tmp_path / "live"
    command = [*COMMAND, "explore", "montezuma-2021", "--run-dir", str(run), "--checkpoint-minutes", "0.05"]
    command += ["--engine", ENGINE, "--workers", "1"]

    def start(*more):
        return subprocess.Popen([*command, *more], stdout=subprocess.DEVNULL, start_new_session=True)

    process = start()
    try:
        deadline = time.monotonic() + 120
        while not (run / "checkpoints" / "000001").exists():
            assert time.monotonic() < deadline
            time.sleep(0.2)
        tab = opened(served(run))
        wait_for(tab, "document.querySelector('.state').textContent === 'running'")
        seen, began = {pane(tab, "pane.rows")}, time.monotonic()
        while time.monotonic() - began < 60:
            time.sleep(2)
            seen.add(pane(tab, "pane.rows"))
        assert len(seen) >= 3, "the archive grows before our eyes"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        wait_for(tab, "document.querySelector('.state').textContent === 'killed'")
        wait_for(tab, "document.getElementById('notices').textContent.includes('To resume it')")
        frames = pane(tab, "pane.frames")
        process = start("--resume")
        wait_for(tab, "document.querySelector('.state').textContent === 'running'", 60)
        wait_for_pane(tab, f"pane.frames > {frames}", 120)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
