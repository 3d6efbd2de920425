"""A search with a run directory, in this process."""

import dataclasses
import os
import signal

import pytest

from goexplore.errors import ConfigError
from goexplore.exploration import Status
from goexplore.presets import preset
from goexplore.running import Limits, Silence, explore

CONFIG = dataclasses.replace(
    preset("montezuma"), exploration=dataclasses.replace(preset("montezuma").exploration, batch_size=5)
)


@pytest.mark.parametrize(
    ("limits", "status", "seconds", "reached"),
    [
        (Limits(), Status(game_frames=10**12), 1e9, False),
        (Limits(game_frames=100), Status(game_frames=99), 0, False),
        (Limits(game_frames=100), Status(game_frames=100), 0, True),
        (Limits(minutes=2), Status(), 119, False),
        (Limits(minutes=2), Status(), 120, True),
        (Limits(level=1), Status(level=0), 0, False),
        (Limits(level=1), Status(level=1), 0, True),
        (Limits(score=400), Status(best_score=399), 0, False),
        (Limits(score=400), Status(best_score=400), 0, True),
    ],
)
def test_a_search_stops_at_the_first_limit(limits, status, seconds, reached):
    assert limits.reached(status, seconds) is reached


@pytest.mark.parametrize("limits", [{"game_frames": 0}, {"minutes": -1}, {"level": 0}])
def test_limits_that_make_no_sense_are_refused(limits):
    with pytest.raises(ConfigError, match="more than 0"):
        Limits(**limits)


def test_progress_tells_frames_rate_memory_and_time_left(tmp_path):
    heard = []

    class OnResult(Silence):
        def progress(self, progress):
            heard.append(progress)

    explore(CONFIG, run_dir=tmp_path / "run", limits=Limits(game_frames=4000), reporter=OnResult())
    assert heard[0].status.batches == 0
    assert {progress.status.batches for progress in heard} == set(range(heard[-1].status.batches + 1))
    assert heard[-1].status.game_frames >= 4000
    assert heard[-1].game_frames_per_second > 0
    assert heard[-1].memory_bytes > 10**7
    assert heard[1].seconds_left > 0
    assert heard[-1].seconds_left == 0


class Impatient(Silence):
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


def test_one_interrupt_saves_what_was_found(tmp_path):
    outcome = explore(CONFIG, run_dir=tmp_path / "run", limits=Limits(), reporter=Impatient(1))
    assert outcome.interrupted
    assert outcome.run.read_checkpoint().status.batches == 1


def test_a_second_interrupt_stops_at_once(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        explore(CONFIG, run_dir=tmp_path / "run", limits=Limits(), reporter=Impatient(2))
    assert list((tmp_path / "run" / "checkpoints").iterdir()) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_anew(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        explore(CONFIG, run_dir=tmp_path / "run", limits=Limits(), reporter=Impatient(2))
    outcome = explore(CONFIG, run_dir=tmp_path / "run", limits=Limits(game_frames=2000), resume=True)
    assert outcome.search.status.game_frames >= 2000


def test_damage_to_the_newest_checkpoint_is_told_and_survived(tmp_path):
    lines = []

    class OnResult(Silence):
        def log(self, line):
            lines.append(line)

    for frames in (2000, 4000):
        outcome = explore(
            CONFIG, run_dir=tmp_path / "run", limits=Limits(game_frames=frames), resume=frames > 2000
        )
    reference = [entry.score_length for entry in outcome.search.archive]
    (tmp_path / "run" / "checkpoints" / "000002" / "archive.parquet").write_bytes(b"damaged")
    outcome = explore(
        CONFIG, run_dir=tmp_path / "run", limits=Limits(game_frames=4000), resume=True, reporter=OnResult()
    )
    assert len(lines) == 2
    assert lines[0].startswith("engine: ")
    assert "checkpoint 000002 is not used" in lines[1]
    assert [entry.score_length for entry in outcome.search.archive] == reference
