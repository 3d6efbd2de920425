"""What the server answers about a search, compared with the search's own files."""

import io
import json
import shutil
import struct

import av
import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from goexplore.archive import select
from goexplore.demos import read_demonstration
from goexplore.report import ArchiveView
from goexplore.runs import SavedRun
from goexplore.serve._columns import pack_change
from tests.cli.commands import checkpoint


@pytest.fixture(scope="module")
def run(montezuma):
    return SavedRun.open(montezuma)


@pytest.fixture(scope="module")
def client(serving, montezuma):
    return serving(montezuma)


def about(client, number=0):
    return client.get(f"api/runs/{number}").json()


def at(client, path):
    return f"api/runs/0/{about(client)['version']}/{path}"


def column(client, name):
    kind = next(each["type"] for each in about(client)["columns"] if each["name"] == name)
    return np.frombuffer(client.get(at(client, f"columns/{name}")).content, f"<{kind}")


def bits(content, count):
    return np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little")[:count].astype(bool)


def test_a_run_says_what_it_is(client, run):
    shown = about(client)
    assert shown["rows"] == len(run.archive)
    assert shown["problem"] == "montezuma-2021"
    assert shown["status"]["game_frames"] == run.status.game_frames
    assert shown["best"] == run.archive.best
    assert {"map", "tree"} == set(shown["layouts"])
    (sight,) = client.get("api/runs").json()
    assert (sight["name"], sight["kind"], sight["state"]) == (run.name, "search", "stopped")
    assert sight["resume"].startswith("goexplore explore montezuma-2021 --run-dir ")


def test_columns_are_arrays_with_the_values_of_the_file(client, montezuma):
    table = pq.read_table(checkpoint(montezuma) / "archive.parquet")
    for name in ("score", "length", "room", "times_seen", "found_at_game_frame", "x"):
        assert column(client, name).tolist() == table[name].to_pylist()
    keys = next(each for each in about(client)["columns"] if each["name"] == "keys")
    assert [keys["texts"][code] for code in column(client, "keys")] == table["keys"].to_pylist()


def test_only_what_changed_is_sent_to_a_page_that_knows_an_earlier_checkpoint(
    serving, montezuma, earlier, tmp_path
):
    path = shutil.copytree(earlier, tmp_path / "run")
    client = serving(path)
    before, old = about(client)["version"], column(client, "times_seen")
    shutil.copytree(checkpoint(montezuma), path / "checkpoints" / checkpoint(montezuma).name)
    client.sources[0]._next_load = 0.0
    client.sources[0].look()
    answer = client.get(f"{at(client, 'columns/times_seen')}?since={before}")
    assert answer.headers["X-Change"] == "1"
    new = column(client, "times_seen")
    assert applied(old, answer.content).tolist() == new.tolist()
    assert len(answer.content) < new.nbytes + 8 * np.count_nonzero(old != new[: len(old)]) + 32
    unknown = client.get(f"{at(client, 'columns/times_seen')}?since=000099-abc")
    assert unknown.headers["X-Change"] == "0"
    assert unknown.content == new.tobytes()


def applied(old, change):
    """Do what the page does with a change."""
    before, now, count, _ = struct.unpack_from("<4I", change)
    numbers = np.frombuffer(change, "<u4", count, 16)
    begin = 16 + 4 * count + (4 * count) % 8
    values = np.frombuffer(change, old.dtype, offset=begin)
    new = np.empty(now, old.dtype)
    new[:before] = old
    new[numbers] = values[:count]
    new[before:] = values[count:]
    return new


@pytest.mark.parametrize("kind", ["<i2", "<i4", "<f8"])
def test_a_change_brings_any_column_up_to_date(kind):
    chance = np.random.default_rng(1)
    for _ in range(50):
        old = chance.integers(0, 5, chance.integers(0, 9)).astype(kind)
        new = np.concatenate([old, chance.integers(0, 5, chance.integers(0, 4)).astype(kind)])
        new[: len(old)][chance.random(len(old)) < 0.3] += 7
        assert applied(old, pack_change(old, new)).tolist() == new.tolist()


def test_a_condition_selects_what_goexplore_cells_selects(client, montezuma):
    table = pq.read_table(checkpoint(montezuma) / "archive.parquet")
    condition = "room == 1 and times_seen > 3"
    expected = select(table.append_column("n", [range(len(table))]), condition, sort=None, descending=False)[
        "n"
    ]
    found = bits(client.get(at(client, "filter"), params={"where": condition}).content, len(table))
    assert np.flatnonzero(found).tolist() == expected.to_pylist()
    cell = client.get(at(client, "cells/3")).json()["values"]["cell"]
    found = bits(client.get(at(client, "filter"), params={"where": f"cell == '{cell}'"}).content, len(table))
    assert 3 in np.flatnonzero(found)


@pytest.mark.parametrize(
    "condition", ["room = 1", "roam == 1", "score == 'x'", "__import__('os')", "", "(" * 1000]
)
def test_a_wrong_condition_is_told_in_one_line(client, condition):
    answer = client.get(at(client, "filter"), params={"where": condition})
    assert answer.status_code == 200, "browsers would log a failure for each mistyped condition"
    assert answer.json()["error"].startswith("expected")
    assert "\n" not in answer.json()["error"]
    assert "unknown" not in answer.json()["error"]
    assert "kernel" not in answer.json()["error"]


def test_cells_lie_in_their_rooms(client):
    places = np.frombuffer(client.get(at(client, "layouts/map")).content, "<f4").reshape(-1, 3)
    boxes = {(each["level"], each["room"]): each["box"] for each in about(client)["rooms"]}
    levels, rooms = column(client, "level"), column(client, "room")
    for (x, y, _), level, room in zip(places, levels.tolist(), rooms.tolist(), strict=True):
        left, top, right, bottom = boxes[level, room]
        assert left <= x <= right
        assert top <= y <= bottom


def test_probabilities_are_those_of_the_selection(client, run):
    content = client.get(at(client, "columns/probability")).content
    probabilities = np.frombuffer(content, "<f8")
    assert probabilities.sum() == pytest.approx(1)
    assert probabilities.tolist() == ArchiveView(run.archive, run.problem).values("probability").tolist()


def test_a_cell_tells_where_it_came_from_and_what_grew_from_it(client, run):
    trajectories = [run.archive.trajectory(entry) for entry in range(len(run.archive))]
    for entry in (0, 7, run.archive.best):
        shown = client.get(at(client, f"cells/{entry}")).json()
        assert shown["values"]["score"] == run.archive[entry].score
        lineage = shown["lineage"]
        assert lineage[0] == 0
        assert lineage[-1] == entry
        for ancestor in lineage:
            assert trajectories[entry].startswith(trajectories[ancestor])
        mask = bits(client.get(at(client, f"cells/{entry}/descendants")).content, len(run.archive))
        assert mask.sum() == shown["descendants"]
        for descendant in np.flatnonzero(mask).tolist():
            assert trajectories[descendant].startswith(trajectories[entry])


def test_the_way_to_a_cell_is_replayed(client, run):
    best = run.archive.best
    way = client.get(at(client, f"cells/{best}/way")).json()
    assert len(way["entries"]) == len(way["scores"]) == run.archive[best].length + 1
    assert (way["entries"][0], way["entries"][-1]) == (0, best)
    assert way["scores"][-1] == run.archive[best].score
    assert -1 not in way["entries"]


def test_a_state_is_a_picture_in_the_shape_of_a_screen(client):
    answer = client.get(at(client, "cells/5/picture"))
    assert answer.headers["Content-Type"] == "image/png"
    assert Image.open(io.BytesIO(answer.content)).size == (280, 210)


def test_the_parts_of_a_video_show_every_game_frame(client):
    lengths = column(client, "length")
    entry = int(np.flatnonzero(lengths > 90)[0])
    film = client.get(at(client, f"cells/{entry}")).json()["film"]
    assert film["pictures"] == 4 * lengths[entry] + 1
    parts = -(-film["pictures"] // film["pictures_per_part"])
    assert parts > 1
    pictures = []
    for part in reversed(range(parts)):  # in any order
        content = client.get(at(client, f"cells/{entry}/video/{part}")).content
        with av.open(io.BytesIO(content)) as container:
            pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)] + pictures
    assert len(pictures) == film["pictures"]
    still = np.asarray(Image.open(io.BytesIO(client.get(at(client, f"cells/{entry}/picture")).content)))
    assert np.abs(pictures[-1].astype(int) - still).mean() < 6, "the last picture is the cell's state"
    again = client.get(at(client, f"cells/{entry}/video/1")).content
    assert again.startswith(b"\0\0\0")


def test_a_demonstration_is_downloaded_and_replays(client, run, tmp_path):
    best = run.archive.best
    answer = client.get(at(client, f"cells/{best}/demonstration"))
    assert "attachment" in answer.headers["Content-Disposition"]
    (tmp_path / "x.demo.json").write_bytes(answer.content)
    demonstration = read_demonstration(tmp_path / "x.demo.json")
    assert demonstration.score == run.archive[best].score
    assert demonstration.actions == run.archive.trajectory(best)
    assert demonstration.provenance.entry == best
    assert client.get(at(client, "cells/0/demonstration")).status_code == 404, "the start is no trajectory"


def test_rooms_are_photographed(client):
    found = next(each for each in about(client)["rooms"] if each["found"])
    answer = client.get(f"api/runs/0/rooms/{found['level']}/{found['room']}")
    assert Image.open(io.BytesIO(answer.content)).size == (280, 160)
    missing = next(each for each in about(client)["rooms"] if not each["found"])
    assert client.get(f"api/runs/0/rooms/{missing['level']}/{missing['room']}").status_code == 204


def test_a_run_without_rooms_has_a_tree(serving, mazes):
    client = serving(mazes)
    assert set(about(client)["layouts"]) == {"tree"}
    places = np.frombuffer(client.get(at(client, "layouts/tree")).content, "<f4").reshape(-1, 3)
    lengths = column(client, "length")
    assert places[:, 0].tolist() == pytest.approx((lengths / lengths.max() * 1.6).tolist())
    assert ((places[:, 1] >= 0) & (places[:, 1] <= 1)).all()
    assert client.get(at(client, "cells/3/picture")).status_code == 200


def test_metrics_come_line_by_line(client, montezuma):
    lines = [json.loads(line) for line in (montezuma / "metrics.jsonl").read_text().splitlines()]
    client.get("api/runs")
    answer = client.get("api/runs/0/metrics?epoch=0&since=1").json()
    assert answer["since"] == 1
    assert answer["fields"]["game_frames"] == [line["game_frames"] for line in lines[1:]]


def test_rollouts_of_a_training_are_told_with_their_places_on_the_map(serving, training):
    client = serving(training)
    rooms = {(each["level"], each["room"]): each["box"] for each in client.get("api/runs/0").json()["rooms"]}
    ended = client.get("api/runs/0/rollouts").json()
    lines = [json.loads(line) for line in (training / "rollouts.jsonl").read_text().splitlines()]
    assert len(lines) > 10
    assert ended["ending"] == [line["ending"] for line in lines]
    assert ended["start"] == [line["start"] for line in lines]
    for level, room, (x, y) in zip(ended["level"], ended["room"], ended["place"], strict=True):
        left, top, right, bottom = rooms[level, room]
        assert left <= x <= right
        assert top <= y <= bottom
    assert client.get("api/runs/1/rollouts").status_code == 404


def test_a_search_has_no_rollouts(client):
    assert client.get("api/runs/0/rollouts").status_code == 404


def test_a_training_has_demonstrations_evaluations_and_episodes(serving, training):
    client = serving(training)
    shown = about(client)
    assert shown["method"] == "backward"
    assert shown["demonstrations"][0]["score"] == 100
    (evaluation,) = shown["evaluations"]
    assert {each["no_ops"] for each in evaluation["episodes"]} == set(range(31))
    assert sum(each["lives"] for each in evaluation["deaths"]) == sum(
        each["lives_lost"] for each in evaluation["episodes"]
    )
    assert shown["rooms"]
    assert client.get("api/runs/0/rooms/0/1").headers["Content-Type"] == "image/png"
    assert client.get("api/runs/0/rooms/0/9").status_code == 204
    content = client.get("api/runs/0/evaluations/0/episodes/3/0/video/0").content
    with av.open(io.BytesIO(content)) as container:
        shown_frames = sum(1 for _ in container.decode(video=0))
    (episode,) = (each for each in evaluation["episodes"] if each["no_ops"] == 3)
    assert shown_frames == min(evaluation["film"]["pictures_per_part"], episode["game_frames"] - 3 + 1)
    for path in ("7/episodes/3/0", "0/episodes/40/0", "0/episodes/3/9"):
        assert client.get(f"api/runs/0/evaluations/{path}/video/0").status_code == 404


def test_nothing_is_written(serving, earlier, tmp_path):
    path = shutil.copytree(earlier, tmp_path / "run")
    before = {file: (file.stat().st_mtime_ns, file.stat().st_size) for file in path.rglob("*")}
    client = serving(path)
    for what in (
        "columns/score",
        "layouts/map",
        "cells/3",
        "cells/3/way",
        "cells/3/video/0",
        "cells/3/demonstration",
    ):
        assert client.get(at(client, what)).status_code == 200
    assert {file: (file.stat().st_mtime_ns, file.stat().st_size) for file in path.rglob("*")} == before
