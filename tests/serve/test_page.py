"""The explorer in a real browser, on real runs, served by the real command."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from goexplore.runs import SavedRun
from tests.cli.commands import COMMAND, checkpoint
from tests.report.conftest import CHROMIUM, ENGINE, wait_for

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
        origin = re.match(r"http://[^/]+/[^/]+/", address)[0]
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
    assert f"{best.length} training frames" in tab.locator("#details h3").first.inner_text()
    wait_for_pane(tab, f"pane.way && pane.way.length === {best.length + 1}", 60)
    assert pane(tab, "Array.from(pane.way.slice(0, 3))") == [-1, -1, -1], "what was before the start"


def test_a_demonstration_is_saved(opened, address, tmp_path):
    from goexplore.demos import read_demonstration

    tab = opened(address)
    tab.locator("#best").click()
    with tab.expect_download(timeout=60_000) as download:
        tab.locator("a", has_text="Save as demonstration").click()
    download.value.save_as(tmp_path / "it.demo.json")
    assert len(read_demonstration(tmp_path / "it.demo.json").actions) > 0


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
    wait_for(tab, "document.querySelector('#details h2').textContent.startsWith('Cell')")
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
    tab.locator("#slider").fill("1000")
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


@pytest.mark.parametrize("width", [320, 390, 768, 1600])
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
    inside = """[...document.querySelectorAll('.pane')].every(pane => [...pane.children].every((child, i, all) =>
        !i || all[i - 1].getBoundingClientRect().bottom <= child.getBoundingClientRect().top + 1))"""
    assert tab.evaluate(inside), "a stage covers its legend"


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
    newer = checkpoint(montezuma)
    shutil.copytree(newer, tmp_path / newer.name)
    (tmp_path / newer.name).rename(run / "checkpoints" / newer.name)
    wait_for_pane(tab, f"pane.rows > {rows}", 90)
    wait_for_pane(tab, f"pane.places.length === {3 * len(SavedRun.open(montezuma).archive)}")
    run.rename(tmp_path / "elsewhere")
    wait_for(tab, "document.getElementById('notices').textContent.includes('not there any more')")
    assert pixels(tab) > 500, "what was read is still shown"
    (tmp_path / "elsewhere").rename(run)
    wait_for(tab, "document.getElementById('notices').textContent === ''")


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
    explore = [*COMMAND, "explore", "montezuma-2021", "--run-dir", str(run), "--checkpoint-minutes", "0.05"]
    explore += ["--engine", ENGINE, "--workers", "1"]

    def start(*more):
        return subprocess.Popen([*explore, *more], stdout=subprocess.DEVNULL, start_new_session=True)

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
