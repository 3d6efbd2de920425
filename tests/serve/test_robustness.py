"""Runs that die, are resumed, vanish or are damaged while they are served, and environments that do."""

import json
import os
import random
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

import goexplore
from goexplore.errors import EngineError, EnvironmentContractError
from goexplore.runs import SearchDirectory, SearchMetrics
from goexplore.serve._forest import Forest
from goexplore.serve._helper import Helper
from goexplore.serve._metrics import Tail
from tests.cli.commands import checkpoint
from tests.test_hostile_files import mutated


@pytest.fixture
def copy(earlier, tmp_path):
    return Path(shutil.copytree(earlier, tmp_path / "run"))


def look(client):
    """Look as if the time to read another checkpoint had come."""
    (source,) = client.sources
    source._next_load = 0.0
    return source.look()


def test_a_run_that_vanishes_is_gone_and_comes_back(serving, copy):
    client = serving(copy)
    assert look(client)["state"] == "stopped"
    version = client.get("api/runs/0").json()["version"]
    copy.rename(copy.with_name("elsewhere"))
    assert look(client)["state"] == "gone"
    assert client.get(f"api/runs/0/{version}/columns/score").status_code == 200, (
        "what was read is still there"
    )
    assert client.get(f"api/runs/0/{version}/cells/3").status_code == 200
    for what in ("picture", "way", "video/0", "demonstration"):
        assert client.get(f"api/runs/0/{version}/cells/3/{what}").status_code == 200, what
    copy.with_name("elsewhere").rename(copy)
    assert look(client)["state"] == "stopped"
    assert look(client)["version"] == version


def test_another_run_in_the_same_folder_is_read_anew(serving, copy, mazes):
    client = serving(copy)
    look(client)
    shutil.rmtree(copy)
    assert look(client)["state"] == "gone"
    shutil.copytree(mazes, copy)
    assert look(client)["version"] is not None
    assert client.get("api/runs/0").json()["problem"] == "two-mazes"
    assert look(client)["run"] == 2, "pages forget what they know"


def test_a_run_is_running_while_a_process_holds_it_and_is_never_locked_by_the_page(serving, copy):
    client = serving(copy)
    with SearchDirectory.open(copy).locked():
        os.utime(copy / "metrics.jsonl")
        assert look(client)["state"] == "running"
        assert look(client)["resume"] is None
    assert look(client)["state"] == "stopped"
    with SearchDirectory.open(copy).locked():  # the page holds nothing
        pass


def test_a_checkpoint_that_is_deleted_after_it_was_read_is_still_shown(serving, copy):
    client = serving(copy)
    version = look(client)["version"]
    shutil.rmtree(copy / "checkpoints")
    for what in ("columns/score", "cells/3", "cells/3/way", "cells/3/picture"):
        assert client.get(f"api/runs/0/{version}/{what}").status_code == 200, what


def test_a_cell_that_was_opened_can_be_watched_when_its_checkpoint_is_not_kept(serving, copy):
    client = serving(copy)
    version = look(client)["version"]
    assert client.get(f"api/runs/0/{version}/cells/3").status_code == 200
    (source,) = client.sources
    source._tables.pop().close()
    assert client.get(f"api/runs/0/{version}/cells/4").status_code == 410
    for what in ("picture", "video/0", "demonstration"):
        assert client.get(f"api/runs/0/{version}/cells/3/{what}").status_code == 200, what


def test_probabilities_are_those_of_the_checkpoint_that_is_shown(serving, copy, montezuma):
    """A live search has newer ones, and deletes the one that is shown."""
    client = serving(copy)
    version, rows = look(client)["version"], client.get("api/runs/0").json()["rows"]
    shutil.rmtree(copy / "checkpoints")
    shutil.copytree(montezuma / "checkpoints", copy / "checkpoints")
    content = client.get(f"api/runs/0/{version}/columns/probability").content
    assert len(content) == 8 * rows
    assert np.frombuffer(content, "<f8").sum() == pytest.approx(1)


def test_a_run_tells_how_its_last_process_ended(serving, copy):
    client = serving(copy)
    assert (look(client)["outcome"], look(client)["run"]) == ("ended", 1)
    (copy / "outcome.json").write_text('{"outcome": "failed: two\\nlines"}')
    assert look(client)["outcome"] == "failed: two lines"
    (copy / "outcome.json").unlink()
    assert look(client)["outcome"] == "killed"


def test_a_damaged_checkpoint_is_told_and_the_one_before_is_shown(serving, copy, montezuma):
    client = serving(copy)
    version = look(client)["version"]
    newer = checkpoint(montezuma)
    shutil.copytree(newer, copy / "checkpoints" / newer.name)
    (copy / "checkpoints" / newer.name / "archive.parquet").write_bytes(b"PAR1")
    assert look(client)["version"] == version
    assert client.get("api/runs/0").json()["version"] == version


def test_a_run_without_a_checkpoint_waits_for_one(serving, copy):
    aside = copy / "aside"
    (copy / "checkpoints").rename(aside)
    client = serving(copy)
    answer = client.get("api/runs/0")
    assert answer.status_code == 404
    assert "no checkpoint yet" in answer.json()["error"]
    aside.rename(copy / "checkpoints")
    assert look(client)["version"] is not None
    assert client.get("api/runs/0").status_code == 200


def test_pages_are_told_what_is_wrong_with_a_configuration(serving, copy):
    client = serving(copy)
    look(client)
    (copy / "config.json").write_text("{")
    sight = look(client)
    assert "config.json" in sight["message"]
    assert "\n" not in sight["message"]


def test_no_configuration_is_too_strange_to_look_at(serving, copy):
    """Whatever the file says, the page gets one line, or the run."""
    client, chance = serving(copy), random.Random(3)
    written = json.loads((copy / "config.json").read_text())
    for _ in range(40):
        (copy / "config.json").write_text(json.dumps(mutated(written, chance)))
        assert isinstance(look(client)["state"], str)
        answer = client.get("api/runs/0")
        assert answer.status_code in (200, 404, 503)
        if answer.status_code != 200:
            assert "\n" not in answer.json()["error"]


def test_metrics_are_read_once_each_and_anew_when_a_run_is_resumed(tmp_path):
    file = tmp_path / "metrics.jsonl"
    tail = Tail(file, SearchMetrics)
    tail.read()
    assert tail.lines == []
    file.write_text('{"game_frames": 1}\n{"game_frames": 2}\n{"game_fr')
    tail.read()
    assert [line.game_frames for line in tail.lines] == [1, 2]
    with file.open("a") as opened:
        opened.write('ames": 3}\nnonsense\n{"game_frames": 4}\n')
    tail.read()
    assert [line.game_frames for line in tail.lines] == [1, 2, 3, 4]
    assert tail.epoch == 0
    (tmp_path / "other").write_text('{"game_frames": 1}\n')
    (tmp_path / "other").replace(file)
    tail.read()
    assert [line.game_frames for line in tail.lines] == [1]
    assert tail.epoch == 1
    assert tail.since(0)["game_frames"] == [1]


def crash():
    os._exit(3)


def fail():
    raise RuntimeError("the world is flat")


def test_an_environment_that_hangs_crashes_or_fails_costs_one_answer():
    helper = Helper(timeout_seconds=60)
    try:
        with pytest.raises(EnvironmentContractError, match="RuntimeError: the world is flat"):
            helper.call(fail)
        with pytest.raises(EngineError, match="the end of its process"):
            helper.call(crash)
        assert helper.call(os.getpid) != os.getpid()
        helper._timeout = 0.2
        with pytest.raises(EngineError, match=r"within 0\.2 seconds"):
            helper.call(time.sleep, 60)
        helper._timeout = 60
        assert helper.call(len, "abc") == 3
    finally:
        helper.close()


def test_checkpoints_are_read_rarely_enough_to_cost_little(serving, copy):
    client = serving(copy)
    (source,) = client.sources
    source.look()
    source.forget()
    began, spent = time.monotonic(), time.thread_time()
    source.look()
    spent = time.thread_time() - spent
    assert source._next_load - began > 20 * spent, "at most a few hundredths of one core"


def random_forest(chance, segments, entries):
    parents = [0] + [int(chance.integers(0, number)) for number in range(1, segments)]
    lengths = [0, *chance.integers(1, 6, segments - 1).tolist()]
    offsets = [int(chance.integers(0, lengths[parent] + 1)) for parent in parents]
    on = chance.integers(0, segments, entries).tolist()
    ends = [int(chance.integers(0 if not segment else 1, lengths[segment] + 1)) for segment in on]
    return [np.array(each, np.int64) for each in (parents, offsets, on, ends)]


def test_lineage_and_descendants_are_what_following_every_segment_finds():
    chance = np.random.default_rng(0)
    for _ in range(30):
        parents, offsets, on, ends = random_forest(chance, 12, 25)
        forest = Forest(parents=parents, parent_offsets=offsets, entry_segments=on, entry_offsets=ends)

        def points(entry, forest=forest):
            """Return all places of the tree on the way to an entry."""
            found = {(0, 0)}
            for segment, end in forest.chain(entry):
                found |= {(segment, offset) for offset in range(1, end + 1)}
            return found

        def place(entry, forest=forest, parents=parents, offsets=offsets):
            segment, offset = int(forest.entry_segments[entry]), int(forest.entry_offsets[entry])
            while segment and not offset:
                segment, offset = int(parents[segment]), int(offsets[segment])
            return segment, offset

        parents = forest.entry_parents()
        for entry in range(25):
            *before, _ = forest.lineage(entry).tolist()
            others = [other for other in before if place(other) != place(entry)]
            if len({place(other) for other in range(25)}) == 25:
                assert parents[entry] == (others[-1] if others else -1)
            above = {other for other in range(25) if place(other) in points(entry)}
            same = {other for other in range(25) if place(other) == place(entry)}
            assert set(forest.lineage(entry).tolist()) == above
            below = {other for other in range(25) if place(entry) in points(other)}
            assert set(forest.descendants(entry).tolist()) == below - same


def test_the_tree_places_descendants_beside_each_other():
    parents, offsets, on, ends = random_forest(np.random.default_rng(4), 40, 60)
    forest = Forest(parents=parents, parent_offsets=offsets, entry_segments=on, entry_offsets=ends)
    lengths, branches = forest.places()
    assert lengths.tolist() == [sum(end for _, end in forest.chain(entry)) for entry in range(60)]
    assert ((branches > 0) & (branches <= 1)).all()


@pytest.mark.parametrize("parents", [[], [0, 1], [0, 0, 2], [0, -1]])
def test_segments_that_do_not_begin_at_earlier_ones_are_refused(parents):
    numbers, none = np.array(parents, np.int64), np.zeros(0, np.int64)
    with pytest.raises(ValueError, match="segments"):
        Forest(parents=numbers, parent_offsets=numbers, entry_segments=none, entry_offsets=none)


def test_without_its_problem_a_run_is_shown_without_pictures(serving, tmp_path):
    class Line(goexplore.Environment):
        action_count = 2

        def reset(self):
            self.at = 0

        def step(self, action):
            self.at = max(0, self.at + (1 if action else -1))
            return goexplore.Step(reward=0.0)

        def observation(self):
            return self.at

        def snapshot(self):
            return self.at.to_bytes(4, "little")

        def restore(self, snapshot):
            self.at = int.from_bytes(snapshot, "little")

    run = goexplore.explore(Line, cell=lambda at: at, run_dir=tmp_path / "line", game_frames=2_000, workers=0)
    client = serving(run.path)
    shown = client.get("api/runs/0").json()
    assert "only imported if you name it" in shown["unplayable"]
    assert not shown["has_probabilities"]
    version = shown["version"]
    assert client.get(f"api/runs/0/{version}/layouts/tree").status_code == 200
    assert client.get(f"api/runs/0/{version}/cells/1").json()["film"] is None
    assert client.get(f"api/runs/0/{version}/cells/1/picture").status_code == 404
