"""The pages: their links lead somewhere, all of them are on the site, and it builds without a warning."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import goexplore
from goexplore.cli import _VERBS
from tests.test_public_api import PACKAGES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SITE = [page for page in sorted(DOCS.rglob("*.md")) if "_build" not in page.parts]
PAGES = [
    *(page for where in ("*", ".github/*", "examples/*/*") for page in sorted(ROOT.glob(f"{where}.md"))),
    *SITE,
]


def without_code(text):
    text = re.sub(r"^(```+|~~~+).*?^\1\s*$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", text)


def links(page):
    """Yield the targets of a page's links to other pages and files."""
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(page):
    """Return the anchors that GitHub, and the site, give to a page's headings."""
    found: dict[str, int] = {}
    text = re.sub(r"^(```+|~~~+).*?^\1\s*$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        slug = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
        if found[slug]:
            found[f"{slug}-{found[slug]}"] = 0
    return set(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings_that_exist(page):
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / unquote(path)).resolve() if path else page
        assert file.is_file(), f"{page.name} links to {target}, but there is no such file"
        if anchor:
            assert anchor in anchors(file), f"{page.name} links to {target}, but there is no such heading"


def test_a_link_within_code_is_none(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "[a](one.md) `[b](two.md)`\n\n```sh\n[c](three.md)\n```\n\n[d](four.md#x)\n[e](https://f)\n"
    )
    assert list(links(page)) == ["one.md", "four.md#x"]


def test_headings_have_the_anchors_that_github_gives_them(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A `b.c`: d's\n## A [link](to.md)\n## Twice\n## Twice\n```\n# none\n```\n")
    assert anchors(page) == {"a-bc-ds", "a-link", "twice", "twice-1"}


def toctrees(page):
    for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.DOTALL):
        yield from (line for line in block.splitlines() if line and not line.startswith(":"))


def test_every_page_is_in_the_navigation_once():
    listed = [
        file.relative_to(DOCS).as_posix()
        for page in (DOCS / "index.md", DOCS / "api" / "index.md")
        for entry in toctrees(page)
        for file in page.parent.glob(f"{entry}.md")
    ]
    assert sorted(listed) == sorted({page.relative_to(DOCS).as_posix() for page in SITE} - {"index.md"})


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "api" / "index.md").read_text()
    named = re.findall(r"^\.\. auto\w+:: (\w+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(goexplore.__all__)


@pytest.mark.parametrize("package", [each for each in PACKAGES if each != "cli"])
def test_every_package_has_a_page_in_the_reference(package):
    assert f".. automodule:: goexplore.{package}\n" in (DOCS / "api" / f"{package}.md").read_text()


def test_every_command_is_in_the_reference():
    text = (DOCS / "commands.md").read_text()
    assert re.findall(r"^\| `goexplore ([a-z-]+)", text, re.MULTILINE) == list(_VERBS)


def test_the_readme_leads_to_the_pages_of_the_site():
    linked = {target.partition("#")[0] for target in links(ROOT / "README.md")}
    guides = {f"docs/{page.name}" for page in DOCS.glob("*.md")}
    in_the_root = {f"docs/{name}.md" for name in ("changelog", "conduct", "contributing")}
    assert guides - linked == {"docs/index.md", *in_the_root}


class Elements(HTMLParser):
    """Collects what a page of the site refers to, and what can be referred to in it."""

    def __init__(self, page):
        super().__init__()
        self.links, self.ids = set(), set()
        self.feed(page.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


@pytest.mark.slow
@pytest.mark.parametrize("url", ["", "https://example.org/goexplore/blob/main"], ids=["copies", "repository"])
def test_the_site_builds_without_a_warning_and_its_links_lead_somewhere(url, tmp_path, monkeypatch):
    monkeypatch.setenv("GOEXPLORE_SOURCE_URL", url)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    command += ["-d", str(tmp_path / "doctrees"), str(DOCS), str(tmp_path / "html")]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert (result.returncode, result.stderr) == (0, "")
    pages = {page.resolve(): Elements(page) for page in (tmp_path / "html").rglob("*.html")}
    outside = set()
    for page, elements in pages.items():
        for link in elements.links:
            if re.match(r"[a-z]+:", link):
                outside.add(link)
                continue
            path, _, anchor = link.partition("?")[0].partition("#")
            file = (page.parent / unquote(path)).resolve() if path else page
            assert file.is_file(), f"{page.name} links to {link}"
            if anchor and file in pages:
                assert unquote(anchor) in pages[file].ids, f"{page.name} links to {link}"
    source = f"{url}/src/goexplore/exploration/_search.py"
    assert (source in outside) is bool(url)
