"""The report in a real browser."""

import copy
import json
import re
import shutil
from pathlib import Path

import pytest

from goexplore.errors import GoExploreError
from goexplore.files import json_sha256
from goexplore.report import write_report
from goexplore.report._page import write_page
from goexplore.runs import SavedRun, SearchDirectory, Verification
from tests.report.conftest import ENGINE, explore, wait_for


@pytest.fixture(scope="module")
def page(montezuma, tmp_path_factory):
    SearchDirectory.open(montezuma).write_verification(
        Verification(checkpoint="000001", checked=5, entries=9, game_frames=1234, mismatches=[])
    )
    file = tmp_path_factory.mktemp("page") / "report.html"
    write_report([montezuma], file)
    return file


def test_plots_map_and_videos_are_there(opened, page):
    tab = opened(page)
    assert tab.locator("#curves svg").count() == 6
    assert tab.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    videos = tab.evaluate(
        "[...document.querySelectorAll('video')].map(video => [video.videoWidth, video.duration])"
    )
    assert videos
    assert all(width == 280 and duration > 0.5 for width, duration in videos)
    assert tab.locator("nav a").count() == tab.locator("section").count() == 8
    assert "5 of 9 entries" in tab.locator("#verification").inner_text()
    assert "no mismatch" in tab.locator("#verification .good").inner_text()
    assert "montezuma-2021" in tab.locator(".legend").inner_text()


def test_a_video_plays(opened, page):
    tab = opened(page)
    tab.evaluate("document.querySelector('video').play()")
    wait_for(tab, "document.querySelector('video').currentTime > 0.2")


def test_cells_are_coloured_by_what_is_chosen_with_the_keyboard(opened, page):
    tab = opened(page)
    shown = """[...document.querySelectorAll('img.layer')]
        .filter(each => each.checkVisibility()).map(each => each.className)"""
    assert tab.evaluate(shown) == ["layer layer-found"]
    tab.locator("#colour-found").focus()
    tab.keyboard.press("ArrowLeft")
    assert tab.evaluate(shown) == ["layer layer-score"]
    assert "best search score" in tab.locator(".scale:visible").inner_text()


def test_everything_can_be_reached_with_the_keyboard(opened, page):
    tab = opened(page)
    reached = set()
    for _ in range(60):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.tagName"))
    assert {"A", "INPUT", "VIDEO", "SUMMARY", "DIV"} <= reached


@pytest.mark.parametrize("width", [320, 390, 768, 1600])
def test_no_screen_is_too_narrow(opened, page, width):
    tab = opened(page, viewport={"width": width, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.locator("summary").first.click()
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_dark(opened, page, scheme):
    tab = opened(page, color_scheme=scheme)
    brightness = """name => getComputedStyle(document.body)[name]
        .match(/[0-9]+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"""
    ink, paper = (tab.evaluate(brightness, name) for name in ("color", "backgroundColor"))
    assert (ink < 250 and paper > 700) if scheme == "light" else (ink > 600 and paper < 120)
    text = tab.evaluate("getComputedStyle(document.querySelector('.plots svg text')).fill")
    assert text == tab.evaluate("getComputedStyle(document.body).color")


def test_on_paper_everything_is_there_but_the_controls(opened, page):
    tab = opened(page, viewport={"width": 718, "height": 1000}, color_scheme="dark")
    tab.emulate_media(media="print")
    assert not tab.locator("nav").is_visible()
    assert tab.locator(".map img").first.is_visible()
    assert tab.locator("#settings pre").first.is_visible()
    assert tab.evaluate("document.documentElement.scrollWidth") <= 718
    widths = "[...document.querySelectorAll('table')].map(table => table.getBoundingClientRect().right)"
    assert max(tab.evaluate(widths)) <= 718
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_a_game_without_a_map_shows_its_cells_and_trajectories(opened, freeway, tmp_path):
    write_report([freeway], tmp_path / "report.html", videos=1)
    tab = opened(tmp_path / "report.html")
    assert tab.locator(".gallery img").count() > 1
    assert tab.locator(".tree svg").is_visible()
    assert tab.locator(".plots svg").count() == 4  # no rooms, no levels
    assert tab.locator("video").count() == 1
    assert "Beside the paper" not in tab.locator("main").inner_text()


def test_the_page_asks_for_nothing_from_elsewhere(page):
    text = page.read_text()
    assert not re.search(r'(src|href|poster)="(?!data:|#)', text)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert "<script" not in text


def test_the_page_says_what_was_run(page, montezuma):
    text = page.read_text()
    config = json.loads((montezuma / "config.json").read_text())
    assert config["versions"]["ale-py"] in text
    assert "repeat_probability" in text
    assert "It is not the score of a policy" in text


def test_runs_that_differ_by_their_seed_share_a_line_with_a_band(montezuma, tmp_path):
    other = tmp_path / "other <b>run"
    explore("montezuma-2021", tmp_path, game_frames=60_000, engine=ENGINE, seed=5).rename(other)
    write_report([montezuma, other], tmp_path / "report.html", videos=0)
    text = (tmp_path / "report.html").read_text()
    assert "montezuma-2021, 2 runs" in text
    assert "percentile bootstrap" in text
    assert "other &lt;b&gt;run" in text
    assert "<b>run" not in text


def test_runs_of_the_same_name_are_told_apart(montezuma, tmp_path):
    copies = [Path(shutil.copytree(montezuma, tmp_path / folder / "run")) for folder in ("a", "b")]
    write_report(copies, tmp_path / "report.html", videos=0)
    text = (tmp_path / "report.html").read_text()
    assert "a/run" in text
    assert "b/run" in text


def test_the_same_run_twice_is_refused(montezuma, tmp_path):
    with pytest.raises(GoExploreError, match="expected each run once"):
        write_report([montezuma, montezuma / "."], tmp_path / "report.html")


def test_runs_of_different_games_are_refused(montezuma, pitfall, tmp_path):
    with pytest.raises(GoExploreError, match="expected runs of one environment"):
        write_report([montezuma, pitfall], tmp_path / "report.html")


@pytest.mark.parametrize("content", ["", "null\n", "[1]\n{\n"])
def test_a_run_without_metrics_shows_its_checkpoint(montezuma, content, tmp_path):
    run = Path(shutil.copytree(montezuma, tmp_path / "run"))
    (run / "metrics.jsonl").write_text(content)
    write_report([run], tmp_path / "report.html", videos=0)
    cells = len(SavedRun.open(run).archive)
    assert f"<b>{cells:,}</b>cells" in (tmp_path / "report.html").read_text()


def test_of_a_run_that_goes_on_the_page_shows_one_moment(montezuma, tmp_path):
    run = Path(shutil.copytree(montezuma, tmp_path / "run"))
    later = {**json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])}
    later.update(game_frames=later["game_frames"] * 2, max_score=99_999)
    with (run / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(later) + "\n")
    write_report([run], tmp_path / "report.html", videos=0)
    assert "99,999" not in (tmp_path / "report.html").read_text()


def test_a_run_without_points_shows_what_it_found_last(pitfall, tmp_path):
    write_report([pitfall], tmp_path / "report.html", videos=1)
    (frames,) = re.findall(
        r"search score [-0-9]+ in ([0-9,]+) training frames", (tmp_path / "report.html").read_text()
    )
    assert int(frames.replace(",", "")) > 20


def test_a_page_that_cannot_be_written_leaves_nothing(montezuma, tmp_path):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(GoExploreError, match=r"expected to write .*report\.html"):
        write_report([montezuma], tmp_path / "report.html", videos=0)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.slow
def test_a_page_about_a_hundred_thousand_cells_takes_seconds_and_a_few_megabytes(tmp_path):
    """Cells as fine as single pixels, in the time that the machine takes for a known piece of work."""
    from time import perf_counter

    run = explore("pitfall-pixels-fine", tmp_path, game_frames=14_000_000, engine=ENGINE, workers=2)
    cells = len(SavedRun.open(run).archive)
    began = perf_counter()
    write_report([run], tmp_path / "report.html")
    seconds, size = perf_counter() - began, (tmp_path / "report.html").stat().st_size
    print(f"\n{cells:,} cells: {seconds:.0f} s, {size / 1e6:.1f} MB")
    assert cells > 50_000
    assert size < 15e6
    assert seconds < 60


MARKUP = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"


def with_markup(values):
    """Put markup into every string of JSON values but those that we compare."""
    if isinstance(values, dict):
        return {name: with_markup(value) for name, value in values.items()}
    if isinstance(values, list):
        return [with_markup(value) for value in values]
    return values + MARKUP if isinstance(values, str) else values


def plant(values, accepted):
    """Put markup into every text and every name of JSON values, as long as somebody still accepts them."""
    for path in list(texts(values)):
        for change in (add_text, rename):
            changed = copy.deepcopy(values)
            if change(changed, path) and accepted(changed):
                values = changed
                break
    return values


def texts(values, path=()):
    """Yield the places of all values that are texts, or that have a name."""
    for key in list(values) if isinstance(values, dict) else range(len(values)):
        yield (*path, key)
        if isinstance(values[key], dict | list):
            yield from texts(values[key], (*path, key))


def add_text(values, path):
    *above, key = path
    for each in above:
        values = values[each]
    if not isinstance(values[key], str):
        return False
    values[key] += MARKUP
    return True


def rename(values, path):
    *above, key = path
    for each in above:
        values = values[each]
    if not isinstance(key, str):
        return False
    values[key + MARKUP] = values.pop(key)
    return True


def accepts(read, write):
    """Return whether what is written can be read."""

    def accepted(values):
        write(values)
        try:
            read()
        except GoExploreError:
            return False
        return True

    return accepted


def test_no_text_of_any_file_becomes_part_of_the_page(opened, montezuma, tmp_path):
    run = tmp_path / f"run {MARKUP.replace('/', '')}"
    shutil.copytree(montezuma, run)
    found = {"checkpoint": "1", "checked": 5, "entries": 9, "game_frames": 12, "mismatches": []}
    found["mismatches"] = [{"number": 1, "reason": "other score"}]
    (run / "verification.json").write_text(json.dumps(with_markup(found)))
    (folder,) = (run / "checkpoints").iterdir()
    meta = json.loads((folder / "meta.json").read_text())

    def write_meta(content):
        sums = {**meta["sha256"], "content": json_sha256(content)}
        (folder / "meta.json").write_text(json.dumps({**meta, "content": content, "sha256": sums}))

    def write_config(config):
        (run / "config.json").write_text(json.dumps(config))

    def read():
        saved = SavedRun.open(run)
        saved.problem.make_cell_env().restore(saved.archive[0].snapshot)

    config = plant(json.loads((run / "config.json").read_text()), accepts(read, write_config))
    write_config(config)
    write_meta(plant(meta["content"], accepts(read, write_meta)))
    *lines, last = (run / "metrics.jsonl").read_text().splitlines()
    last = json.dumps({**json.loads(last), "events": {MARKUP: 1}, MARKUP: MARKUP})
    (run / "metrics.jsonl").write_text("\n".join([*lines, last, ""]))
    write_report([run], tmp_path / "report.html", videos=1)
    text = (tmp_path / "report.html").read_text()
    assert text.count("onerror=&quot;") >= 4, "it is all there, as text"
    tab = opened(tmp_path / "report.html")
    assert tab.locator("img[src=x], script").count() == 0
    assert "taken" not in tab.title().replace(MARKUP, "").replace(MARKUP.replace("/", ""), "")


def test_even_markup_that_got_in_could_do_nothing(browser, tmp_path):
    """What the page may load is written in its head."""
    write_page("Page", [("one", "One", MARKUP)], tmp_path / "page.html")
    tab = browser.new_page()
    tab.goto(f"file://{tmp_path / 'page.html'}")
    assert tab.locator("script").count() == 1
    assert tab.title() == "Page"


@pytest.mark.parametrize("field", ["checkpoint", "checked", "mismatches"])
def test_a_verification_of_wrong_types_counts_as_none(montezuma, tmp_path, field):
    run = tmp_path / "run"
    shutil.copytree(montezuma, run)
    found = {"checkpoint": "1", "checked": 5, "entries": 9, "game_frames": 12, "mismatches": []}
    (run / "verification.json").write_text(json.dumps(found | {field: {"a": MARKUP}}))
    assert SearchDirectory.open(run).verification() is None


def test_a_run_without_a_checkpoint_is_told(tmp_path):
    run = explore("montezuma-2021", tmp_path, engine=ENGINE, game_frames=1)
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(GoExploreError, match="expected a checkpoint"):
        write_report([run], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_damaged_verification_counts_as_none(montezuma, tmp_path):
    run = Path(shutil.copytree(montezuma, tmp_path / "run"))
    (run / "verification.json").write_text("{")
    write_report([run], tmp_path / "report.html", videos=0)
    assert "not verified yet" in (tmp_path / "report.html").read_text()
