"""From a run to demonstrations, videos and a page, as a user does it on the command line."""

import csv
import io
import json

import pytest

from goexplore.cli import main
from goexplore.demos import write_demonstration
from tests.cli.commands import goexplore_here
from tests.training.mazes import demonstrate


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = tmp_path_factory.mktemp("looking") / "run"
    short = ["--game-frames", "16K", "--exploration.batch-size", "20", "--engine", "ale"]
    result = goexplore_here("explore", "montezuma-2021", "--run-dir", run, *short)
    assert result.returncode == 0, result.stderr
    return run


def test_the_whole_chain(run, tmp_path):
    """Each step is one command; each says what it wrote."""
    result = goexplore_here("demos", run, "--out", tmp_path / "demos", "--cell", "5")
    assert result.returncode == 0, result.stderr
    (demo,) = (tmp_path / "demos").iterdir()
    assert f"{demo}: score 0 (search score)" in result.stdout
    result = goexplore_here("verify", demo)
    assert result.returncode == 0, result.stderr
    assert "all rewards and observations as it says" in result.stdout
    for source, name in ((demo, "demo.gif"), (run, "best.mp4")):
        result = goexplore_here("video", source, "--out", tmp_path / name, "--scale", "1")
        assert result.returncode == 0, result.stderr
        assert (tmp_path / name).stat().st_size > 1000
    assert goexplore_here("verify", run, "--sample", "5").returncode == 0
    result = goexplore_here("report", run)
    assert result.returncode == 0, result.stderr
    assert f"{run}/report.html" in result.stdout
    assert "5 of " in (run / "report.html").read_text()
    result = goexplore_here("map", run, "--out", tmp_path / "map.png", "--colour", "seen")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "map.png").stat().st_size > 1000


@pytest.mark.parametrize(
    "forged",
    [
        {"training": {"network": {"kind": "recurrent"}}},
        {"training": 5},
        {"training": {"seed": 0, "network": {"kind": "\x1b[2J"}}},
        {"training": {"seed": 0, "network": []}},
        {"demonstrations": None},
        {"demonstrations": 7},
        {"format": 1, "command": None},
    ],
)
def test_a_training_with_other_settings_is_told_in_one_line(tmp_path, complaint, forged):
    whole = {"format": 2, "training": {"seed": 0, "network": {"kind": "recurrent"}}, "demonstrations": []}
    whole |= {"command": ["goexplore"], "versions": {}}
    (tmp_path / "config.json").write_text(json.dumps(whole))
    assert main(["info", str(tmp_path)]) == 0
    (tmp_path / "config.json").write_text(json.dumps(whole | forged))
    assert "expected a training's settings in" in complaint("info", tmp_path)


def test_cells_are_listed(run):
    result = goexplore_here("cells", run, "--where", "room == 1 and length > 3", "--sort", "length", "--csv")
    assert result.returncode == 0, result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert 1 < len(rows) <= 20
    assert all(row["room"] == "1" and int(row["length"]) > 3 for row in rows)
    assert [int(row["length"]) for row in rows] == sorted(int(row["length"]) for row in rows)
    shown = goexplore_here("cells", run, "--limit", "3").stdout
    assert "3 of " in shown
    assert "times_seen" in shown


def test_demonstrations_are_not_overwritten(run, tmp_path):
    arguments = ["demos", run, "--out", tmp_path, "--cell", "3"]
    assert goexplore_here(*arguments).returncode == 0
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    result = goexplore_here(*arguments)
    assert result.returncode == 2
    assert "expected a folder without demonstrations" in result.stderr
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_demonstration_that_was_changed_is_refused_everywhere(run, tmp_path):
    assert goexplore_here("demos", run, "--out", tmp_path, "--cell", "3").returncode == 0
    (demo,) = tmp_path.iterdir()
    written = json.loads(demo.read_text())
    written["content"]["training_frames"] += 1
    demo.write_text(json.dumps(written))
    result = goexplore_here("verify", demo, "montezuma-first-key-00")
    assert result.returncode == 1
    bad, good = result.stdout.splitlines()
    assert bad.startswith(f"{demo.name}: expected the content that the checksum")
    assert good.startswith("montezuma-first-key-00.demo.json: replayed 288 game frames on ale: score 100")
    result = goexplore_here("video", demo, "--out", tmp_path / "a.mp4")
    assert result.returncode == 2
    assert "expected the content that the checksum" in result.stderr
    assert not (tmp_path / "a.mp4").exists()


def test_mazes_need_no_emulator_to_be_verified(tmp_path):
    file = tmp_path / "mazes.demo.json"
    write_demonstration(demonstrate(), file)
    assert "replayed 63 game frames on python: score 200" in goexplore_here("verify", file).stdout


def test_a_folder_of_demonstrations_is_verified(run, tmp_path):
    assert goexplore_here("demos", run, "--out", tmp_path, "--cell", "3").returncode == 0
    assert "as it says" in goexplore_here("verify", tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demos", "--out", "x"], "expected at least one run directory"),
        (
            ["demos", "RUN", "--out", "x", "--until-score", "1e9"],
            "that can be cut where a score of 1000000000.0",
        ),
        (["demos", "RUN", "--out", "x", "--count", "0"], "expected --count to be 1 or more"),
        (["demos", "nowhere", "--out", "x"], "expected a run directory with a config.json"),
        (["video", "nothing"], "expected a demonstration's file, a folder of them or a sample"),
        (["video", "RUN", "--out", "a.avi"], "expected --out to be a file name that ends in .mp4 or .gif"),
        (["video", "RUN", "--cell", "999999"], "expected --cell to be an entry's number below"),
        (["video", "montezuma-first-key-00", "--cell", "1"], "expected a run for --cell"),
        (["report"], "expected at least one run directory"),
        (["verify"], "expected a run directory or demonstrations"),
        (["verify", "RUN", "RUN"], "expected one run at a time"),
        (["verify", "."], "expected *.demo.json files in the folder ., got none"),
        (["report", "RUN", "--videos", "-1"], "expected --videos to be 0 or more"),
        (["report", "RUN", "--out", "/proc/report.html"], "choose another --out"),
        (["map", "RUN", "--out", "map.txt"], "expected --out to be a file name that ends in .png"),
        (["video", "RUN", "--out", "/proc/a.mp4"], "choose another --out"),
        (["video", "RUN", "--scale", "99"], "expected --scale to be between 1 and 16"),
        (["demos", "RUN", "--out", "/proc/demos"], "choose another --out"),
        (
            ["demos", "RUN", "--out", "x", "--until-score", "nan"],
            "expected --until-score to be a finite number",
        ),
        (["cells", "RUN", "--where", "rooom == 1"], "Did you mean room?"),
        (["cells", "RUN", "--limit", "-1"], "expected --limit to be 0 or more"),
    ],
)
def test_mistakes_are_one_clear_line(run, arguments, message, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in complaint(*(run if each == "RUN" else each for each in arguments))
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def test_a_video_says_how_far_it_is(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("goexplore.cli._video._SECONDS_BETWEEN_LINES", 0.0)
    file = tmp_path / "key.gif"
    assert main(["video", "montezuma-first-key-00", "--out", str(file), "--scale", "1", "--speed", "16"]) == 0
    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if line.startswith("rendered ")]
    assert lines[0] == "rendered 0 of 72 training frames"
    assert lines[-1] == "rendered 72 of 72 training frames"
    assert f"{file}: " in said.out
