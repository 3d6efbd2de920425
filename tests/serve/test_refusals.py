"""What the server refuses, and that it says so in one line."""

import re
from pathlib import Path

import pytest

import goexplore.serve
from tests.serve.conftest import TOKEN

ASSETS = Path(goexplore.serve.__file__).parent / "assets"


@pytest.fixture(scope="module")
def montezuma_version(montezuma):
    from goexplore.runs import SearchDirectory
    from goexplore.serve._columns import Table

    table = Table(SearchDirectory.open(montezuma).newest_files())
    table.close()
    return table.version


@pytest.fixture(scope="module")
def client(serving, montezuma, training):
    return serving(montezuma, training, hosts=("localhost", "lab.example.org"))


def test_the_page_may_load_nothing_from_elsewhere(client):
    answer = client.get("")
    assert answer.status_code == 200
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    for file in ASSETS.glob("*.*"):
        text = file.read_text()
        found = set(re.findall(r"https?://[^\s\"'`)]+", text)) - {"http://www.w3.org/2000/svg"}
        assert not found, file
        assert "innerHTML" not in text, "text from files becomes text"
        assert not re.search(r"(src|href)=\"/", text), "addresses are relative, for proxies"


def test_all_parts_of_the_page_are_in_the_package():
    """A wheel holds what the package data of pyproject.toml names."""
    tomllib = pytest.importorskip("tomllib", reason="Python has it since 3.11")
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    patterns = settings["tool"]["setuptools"]["package-data"]["goexplore"]
    package = ASSETS.parents[1]
    packed = {file for pattern in patterns for file in package.glob(pattern) if file.is_file()}
    assert {file for file in ASSETS.rglob("*") if file.is_file()} <= packed


@pytest.mark.parametrize(
    "path",
    ["/", "/wrong/", "/wrong/api/runs", f"/{TOKEN}x/", f"/{TOKEN[:-1]}/", "//", "/%00/", f"/x/{'9' * 5000}"],
)
def test_who_does_not_know_the_token_sees_nothing(client, path):
    answer = client.get(f"http://localhost{path}")
    assert answer.status_code == 403
    assert TOKEN not in answer.text


def test_an_address_without_its_last_slash_leads_to_the_page(client):
    answer = client.get(f"http://localhost/{TOKEN}", follow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (307, f"{TOKEN}/")


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "10.0.0.7",
        "",
        "localhost@evil.example",
        "evil.example@localhost",
        "localhost#.evil.example",
        "localhost/.evil.example",
        "[::1",
    ],
)
def test_other_hosts_are_refused(client, host):
    """Somebody's name may be made to point to this computer."""
    assert client.get("", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "LOCALHOST:1", "lab.example.org", "lab.example.org:443"]
)
def test_own_and_allowed_hosts_are_served(client, host):
    assert client.get("", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example", "file://"]
)
def test_pages_of_others_are_refused(client, origin):
    assert client.get("api/runs", headers={"Origin": origin}).status_code == 403


def test_the_own_page_is_served(client):
    assert client.get("api/runs", headers={"Origin": "http://localhost:4000"}).status_code == 200
    assert client.get("api/runs", headers={"Origin": "https://lab.example.org"}).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(client, method):
    assert client.request(method, "api/runs").status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "assets/../_app.py",
        "assets/%2e%2e/_app.py",
        "assets/..%2f_app.py",
        "assets//etc/passwd",
        "assets/%2fetc%2fpasswd",
        "assets/vendor/%2e%2e/%2e%2e/%2e%2e/cli/__init__.py",
        "assets/uPlot.LICENSE",
        "assets/",
        "nothing",
        "api/nothing",
    ],
)
def test_only_parts_of_the_page_are_sent(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert "import" not in answer.text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("runs/9", 404),
        ("runs/-1", 404),
        ("runs/x", 404),
        ("runs/1/V/columns/score", 404),  # a training
        ("runs/0/evaluations/0/episodes/0/0/video/0", 404),  # a search
        ("runs/0/000001-nothing/columns/score", 410),
        ("runs/0/%2e%2e/columns/score", 410),
        ("runs/0/V/columns/nothing", 404),
        ("runs/0/V/columns/snapshot", 404),
        ("runs/0/V/columns/..", 404),
        ("runs/0/V/layouts/nothing", 404),
        ("runs/0/V/cells/99999999", 404),
        ("runs/0/V/cells/-1", 404),
        ("runs/0/V/cells/1e3", 404),
        ("runs/0/V/cells/99999999/picture", 404),
        ("runs/0/V/cells/99999999/way", 404),
        ("runs/0/V/cells/99999999/descendants", 404),
        ("runs/0/V/cells/99999999/video/0", 404),
        ("runs/0/V/cells/99999999/demonstration", 404),
        ("runs/0/V/cells/3/video/99999", 404),
        ("runs/0/V/filter?where=" + "x" * 3000, 200),
        ("runs/0/metrics?since=x", 400),
        ("runs/0/metrics?since=-1", 400),
        ("runs/0/metrics?since=99999999999999999999", 400),
        ("runs/" + "9" * 900, 404),
    ],
)
def test_what_is_not_there_is_told_in_one_line(client, montezuma_version, path, status):
    client.get("api/runs")
    answer = client.get(f"api/{path.replace('V', montezuma_version)}")
    assert answer.status_code == status
    if "error" in answer.text:
        assert "Traceback" not in answer.text
        assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize("path", ["runs/N", "runs/0/rooms/0/N", "runs/0/V/cells/N"])
def test_numbers_of_thousands_of_digits_are_refused(client, montezuma_version, path):
    """Python raises an error for them."""
    answer = client.get(f"api/{path.replace('V', montezuma_version).replace('N', '9' * 5000)}")
    assert answer.status_code == 414
    assert "\n" not in answer.text
