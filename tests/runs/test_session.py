"""A search with a run directory, in this process: limits, progress, interrupts, damage."""

import json
import logging
import os
import signal
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goexplore.cli._progress import show_search
from goexplore.errors import CheckpointError, ConfigError
from goexplore.exploration import ExplorationConfig, Search, SerialExecutor, Status
from goexplore.files import file_sha256, json_sha256
from goexplore.problems import Problem, find_problem
from goexplore.runs import Limits, LoggingReporter, SavedRun, SearchDirectory, on_interrupt, run_search
from tests.fields import Corridor, itself

MONTEZUMA = find_problem("montezuma")
PROBLEM = replace(MONTEZUMA, exploration=replace(MONTEZUMA.exploration, batch_size=5))


def search(path, *, problem=PROBLEM, game_frames=None, **settings):
    return run_search(problem, run_dir=path, limits=Limits(game_frames=game_frames), **settings)


@pytest.mark.parametrize(
    ("limits", "status", "seconds", "reached"),
    [
        (Limits(), Status(game_frames=10**12), 1e9, False),
        (Limits(game_frames=100), Status(game_frames=99), 0, False),
        (Limits(game_frames=100), Status(game_frames=100), 0, True),
        (Limits(minutes=2), Status(), 119, False),
        (Limits(minutes=2), Status(), 120, True),
        (Limits(until_level=1), Status(level=0), 0, False),
        (Limits(until_level=1), Status(level=1), 0, True),
        (Limits(until_score=400), Status(best_score=399, has_result=True), 0, False),
        (Limits(until_score=400), Status(best_score=400, has_result=True), 0, True),
    ],
)
def test_a_search_stops_at_the_first_limit(limits, status, seconds, reached):
    assert limits.reached(status, seconds) is reached


@pytest.mark.parametrize("score", [-50, 0])
def test_a_score_that_the_start_has_is_reached_by_a_result_alone(score):
    limits = Limits(until_score=score)
    assert not limits.reached(Status(best_score=0), 0)
    assert limits.reached(Status(best_score=0, has_result=True), 0)


@pytest.mark.parametrize("limits", [{"game_frames": 0}, {"minutes": -1}, {"until_level": 0}])
def test_limits_that_make_no_sense_are_refused(limits):
    (name,) = limits
    with pytest.raises(ConfigError, match=f"expected `{name}` to be more than 0"):
        Limits(**limits)


class Listener(LoggingReporter):
    """Remembers what it was told."""

    def __init__(self):
        self.heard, self.lines = [], []

    def progress(self, progress):
        self.heard.append(progress)

    def log(self, line):
        self.lines.append(line)


def test_progress_tells_frames_rate_memory_and_time_left(tmp_path, monkeypatch):
    monkeypatch.setattr("goexplore.runs._search_session._TICK_SECONDS", 0.0)
    listener = Listener()
    search(tmp_path / "run", game_frames=4000, reporter=listener)
    heard = listener.heard
    assert heard[0].status.batches == 0
    assert {progress.status.batches for progress in heard} == set(range(heard[-1].status.batches + 1))
    assert heard[-1].status.game_frames >= 4000
    assert heard[-1].game_frames_per_second > 0
    assert heard[-1].memory_bytes > 10**7
    assert heard[2].seconds_left > 0  # before the first exploration there is no rate yet
    assert heard[-1].seconds_left == 0


def test_progress_is_shown_now_and_then_and_at_the_end(tmp_path):
    listener = Listener()
    outcome = search(tmp_path / "run", game_frames=4000, reporter=listener)
    assert len(listener.heard) < 2 + 4 * listener.heard[-1].session_seconds
    assert listener.heard[-1].status == outcome.search.status
    assert (listener.heard[-1].batch_size, listener.heard[-1].workers) == (5, 1)


@pytest.mark.parametrize(("workers", "size"), [(None, 100), (2, 100), (5, 125)])
def test_an_automatic_batch_size_is_settled_when_a_run_begins(workers, size, tmp_path):
    exploration = ExplorationConfig(batch_size="auto", training_frames=5)
    problem = Problem(env=Corridor, cells=itself, exploration=exploration)
    begun = search(tmp_path / "run", problem=problem, game_frames=1, workers=workers)
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["search"]["problem"]["exploration"]["batch_size"] == size
    resumed = search(tmp_path / "run", problem=problem, game_frames=2000, workers=None, resume=True)
    assert begun.search.batch_size == resumed.search.batch_size == size
    other = replace(problem, exploration=replace(exploration, batch_size=7))
    with pytest.raises(ConfigError, match=f"exploration.batch_size is {size}, not 7"):
        search(tmp_path / "run", problem=other, game_frames=1, resume=True)


@pytest.mark.parametrize("size", [0, "automatic", 2.5, None])
def test_another_batch_size_is_refused(size):
    with pytest.raises(ConfigError, match="expected `batch_size` to be a whole number of 1 or more"):
        ExplorationConfig(batch_size=size)


@pytest.mark.parametrize(("batch", "workers", "few"), [(1, 1, False), (19, 2, True), (20, 2, False)])
def test_progress_says_when_a_batch_is_too_small_for_the_workers(batch, workers, few, tmp_path):
    listener = Listener()
    search(tmp_path / "run", game_frames=1, reporter=listener)
    shown = show_search(replace(listener.heard[-1], batch_size=batch, workers=workers))
    assert ("batch" in shown) is few
    assert not few or shown["batch"].startswith("19 explorations are few for 2 workers: a new run with")


def test_metrics_are_typed_and_end_with_the_status(tmp_path):
    outcome = search(tmp_path / "run", game_frames=4000)
    metrics = outcome.run.metrics()
    assert [line.game_frames for line in metrics] == sorted({line.game_frames for line in metrics})
    last, status = metrics[-1], outcome.search.status
    assert (last.batches, last.cells, last.rooms) == (status.batches, status.cells, status.rooms)
    assert last.max_score == status.best_score


def test_without_a_reporter_warnings_alone_are_seen(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        search(tmp_path / "run", game_frames=1000)
    assert caplog.records == []
    with caplog.at_level(logging.INFO):
        search(tmp_path / "other", game_frames=1000)
    assert any(record.message.startswith("engine: ") for record in caplog.records)


def test_ends_of_episodes_are_counted_and_the_goal_is_best(tmp_path):
    problem = Problem(env=Corridor, cells=itself, exploration=ExplorationConfig(batch_size=10))
    outcome = search(tmp_path / "run", problem=problem, game_frames=2000)
    status = outcome.search.status
    assert status.has_result
    assert status.ends > 0
    assert (status.best_score, status.best_length) == (-4, 4)
    assert outcome.run.metrics()[-1].ends == status.ends


class Impatient(LoggingReporter):
    """Presses Ctrl-C after the first batch, and again when told that a checkpoint is being written."""

    def __init__(self, times):
        self._times = times

    def progress(self, progress):
        if progress.status.batches > 0:
            self.log("")

    def log(self, line):
        if self._times and not line.startswith("engine: "):
            self._times -= 1
            os.kill(os.getpid(), signal.SIGINT)


def test_one_interrupt_saves_what_was_found(tmp_path, monkeypatch):
    monkeypatch.setattr("goexplore.runs._search_session._TICK_SECONDS", 0.0)
    outcome = search(tmp_path / "run", reporter=Impatient(1))
    assert outcome.interrupted
    assert outcome.run.read_checkpoint().status.batches == 1


def test_an_interrupt_while_cells_are_chosen_does_not_wait_for_the_batch(tmp_path, monkeypatch):
    select, explored = Search._select, []

    def choose(self):
        if self.status.batches == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return select(self)

    class Counting(SerialExecutor):
        def run(self, tasks, on_result):
            explored.append(len(tasks))
            return super().run(tasks, on_result)

    monkeypatch.setattr(Search, "_select", choose)
    monkeypatch.setattr("goexplore.problems._problem.SerialExecutor", Counting)
    outcome = search(tmp_path / "run", game_frames=100_000)
    assert outcome.interrupted
    assert len(explored) == 1
    assert outcome.run.read_checkpoint().status.batches == 1


def test_a_second_interrupt_stops_at_once(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        search(tmp_path / "run", reporter=Impatient(2))
    assert list((tmp_path / "run" / "checkpoints").iterdir()) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_terminal_that_closes_says_so_twice_and_is_heard_once():
    """The shell tells its jobs, and the kernel tells them again when the shell ends."""
    asked = []
    with on_interrupt(lambda: asked.append(1)):
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    assert asked == [1]


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_anew(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        search(tmp_path / "run", reporter=Impatient(2))
    outcome = search(tmp_path / "run", game_frames=2000, resume=True)
    assert outcome.search.status.game_frames >= 2000


def test_damage_to_the_newest_checkpoint_is_told_and_survived(tmp_path):
    listener = Listener()
    for game_frames in (2000, 4000):
        outcome = search(tmp_path / "run", game_frames=game_frames, resume=game_frames > 2000)
    reference = [entry.score_length for entry in outcome.search.archive]
    (tmp_path / "run" / "checkpoints" / "000002" / "archive.parquet").write_bytes(b"damaged")
    outcome = search(tmp_path / "run", game_frames=4000, resume=True, reporter=listener)
    engine, warning = listener.lines
    assert engine.startswith("engine: ")
    assert "checkpoint 000002 is not used" in warning
    assert [entry.score_length for entry in outcome.search.archive] == reference


def alter(run, name, change):
    """Change a column of a run's only archive; all checksums are right."""
    folder = run / "checkpoints" / "000001"
    table = pq.read_table(folder / "archive.parquet")
    values = pa.array(change(table[name].to_pylist()), table.schema.field(name).type)
    altered = table.slice(0, len(values))
    altered = altered.set_column(table.column_names.index(name), name, values)
    pq.write_table(altered, folder / "archive.parquet")
    meta = json.loads((folder / "meta.json").read_text())
    meta["sha256"]["archive.parquet"] = file_sha256(folder / "archive.parquet")
    (folder / "meta.json").write_text(json.dumps(meta))


def test_scores_that_somebody_altered_are_found_by_replaying_the_best(tmp_path):
    search(tmp_path / "run", game_frames=2000)
    alter(tmp_path / "run", "score", lambda scores: [*scores[:-1], 1e6])
    with pytest.raises(CheckpointError, match=r"expected score 1e\+06, got 0"):
        search(tmp_path / "run", game_frames=4000, resume=True)


def test_scores_of_others_that_somebody_altered_are_found_by_replaying_some(tmp_path):
    search(tmp_path / "run", game_frames=2000)
    alter(tmp_path / "run", "score", lambda scores: [scores[0], *(score - 1 for score in scores[1:])])
    with pytest.raises(CheckpointError, match=r"expected the trajectory of entry .* to replay"):
        search(tmp_path / "run", game_frames=4000, resume=True)


@pytest.mark.parametrize("count", [2**31 - 1, -5])
@pytest.mark.parametrize("name", ["times_seen", "times_chosen"])
def test_counts_that_nobody_can_have_counted_are_refused(tmp_path, name, count):
    search(tmp_path / "run", game_frames=2000)
    alter(tmp_path / "run", name, lambda counts: [*counts[:-1], count])
    with pytest.raises(CheckpointError, match=f"{name} {count}, which is no count"):
        search(tmp_path / "run", game_frames=4000, resume=True)


@pytest.mark.parametrize("score", [float("inf"), float("nan")])
def test_scores_that_nobody_can_have_won_are_refused(tmp_path, score):
    search(tmp_path / "run", game_frames=2000)
    alter(tmp_path / "run", "score", lambda scores: [*scores[:-1], score])
    with pytest.raises(CheckpointError, match="scores that are not finite"):
        SavedRun.open(tmp_path / "run")


def test_an_archive_without_entries_is_refused(tmp_path):
    search(tmp_path / "run", game_frames=2000)
    alter(tmp_path / "run", "score", lambda scores: [])
    with pytest.raises(CheckpointError, match="got one without entries"):
        SavedRun.open(tmp_path / "run")


@pytest.mark.parametrize("locations", [[[0, "a"]], [[0]], 7])
def test_locations_that_are_none_are_refused(tmp_path, locations):
    search(tmp_path / "run", game_frames=2000)
    file = tmp_path / "run" / "checkpoints" / "000001" / "meta.json"
    meta = json.loads(file.read_text())
    meta["content"]["locations"] = locations
    meta["sha256"]["content"] = json_sha256(meta["content"])
    file.write_text(json.dumps(meta))
    with pytest.raises(CheckpointError, match="a value of the wrong type"):
        search(tmp_path / "run", game_frames=4000, resume=True)


def test_what_is_wrong_with_the_settings_is_found_before_anything_is_written(tmp_path):
    mistakes = {"checkpoint_minutes": 0, "seed": -1, "engine": "native"}
    for name, value in mistakes.items():
        with pytest.raises(ConfigError, match=f"expected `{name}`"):
            search(tmp_path / "run", problem=Problem(env=Corridor), game_frames=10, **{name: value})
    assert not (tmp_path / "run").exists()


def test_a_run_remembers_problem_seed_and_engine(tmp_path):
    search(tmp_path / "run", game_frames=1000, seed=7, engine="ale")
    directory = SearchDirectory.open(tmp_path / "run")
    assert directory.problem() == PROBLEM
    assert directory.seed() == 7
    assert directory.engine() == directory.problem().env.engine == "ale"
