"""Recorded episodes: on the disk and back, through crashes, and played again."""

import dataclasses
import json

import numpy as np
import pytest

from goexplore.errors import CheckpointError
from goexplore.games.two_mazes import TWO_MAZES, TwoMazes
from goexplore.planning import (
    ExpertConfig,
    ExpertPlayer,
    Recording,
    append_recording,
    drop_torn_line,
    read_recordings,
)
from goexplore.play import Preprocessor, StochasticGame
from goexplore.problems import DefaultCells, FactorySpec
from goexplore.training._recording_buffer import RecordingBuffer
from tests.training.mazes import PREPROCESSING, demonstrate, first_key, native

ACTIONS = TwoMazes.action_count


def episode(seed=1, *, rewards=(0.0, 2.5, 0.0, -1.0), **changes):
    made = Recording(
        no_ops=17,
        played=bytes([1, 1, 2, 3]),
        chosen=bytes([1, 4, 2, 3]),
        rewards=rewards,
        taught_from=1,
        taught_until=3,
        ending="death",
        simulated=1234,
        seed=seed,
    )
    return dataclasses.replace(made, **changes)


@pytest.fixture
def file(tmp_path):
    """Three recordings."""
    for seed in range(3):
        append_recording(tmp_path / "expert.jsonl", episode(seed), ACTIONS)
    return tmp_path / "expert.jsonl"


def read(file, actions=ACTIONS):
    return list(read_recordings([file], actions))


class TestFile:
    def test_what_was_appended_is_read(self, file):
        assert read(file) == [episode(seed) for seed in range(3)]

    def test_files_are_read_one_after_the_other(self, file, tmp_path):
        append_recording(tmp_path / "more.jsonl", episode(9), ACTIONS)
        found = read_recordings([file, tmp_path / "more.jsonl"], ACTIONS)
        assert [each.seed for each in found] == [0, 1, 2, 9]

    def test_actions_above_255(self, tmp_path):
        many = episode(played=(950, 0, 899, 256), chosen=(950, 1, 899, 256))
        append_recording(tmp_path / "many.jsonl", many, 1000)
        assert read(tmp_path / "many.jsonl", 1000) == [many]

    def test_seeds_of_64_bits(self, tmp_path):
        append_recording(tmp_path / "expert.jsonl", episode(2**64 - 1), ACTIONS)
        assert read(tmp_path / "expert.jsonl") == [episode(2**64 - 1)]

    def test_an_empty_file_has_none(self, tmp_path):
        (tmp_path / "expert.jsonl").touch()
        assert read(tmp_path / "expert.jsonl") == []

    def test_score_and_length(self):
        assert (episode().score, episode().training_frames) == (1.5, 4)


class TestCrash:
    @pytest.mark.parametrize("left", [1, 20, -1])
    def test_a_torn_last_line_is_skipped_and_dropped(self, file, left):
        whole = file.read_bytes()
        last = whole.splitlines(keepends=True)[-1]
        file.write_bytes(whole[: -len(last)] + last[:left])
        assert read(file) == [episode(0), episode(1)]
        drop_torn_line(file)
        assert file.read_bytes() == whole[: -len(last)]
        append_recording(file, episode(2), ACTIONS)
        assert file.read_bytes() == whole

    def test_whole_lines_stay(self, file):
        whole = file.read_bytes()
        drop_torn_line(file)
        assert file.read_bytes() == whole

    def test_there_may_be_no_file_yet(self, tmp_path):
        drop_torn_line(tmp_path / "expert.jsonl")
        assert not (tmp_path / "expert.jsonl").exists()

    def test_a_torn_first_line_leaves_nothing(self, tmp_path):
        (tmp_path / "expert.jsonl").write_bytes(b'{"recor')
        drop_torn_line(tmp_path / "expert.jsonl")
        assert (tmp_path / "expert.jsonl").read_bytes() == b""


class TestDamage:
    def damage(self, file, number, damage):
        lines = file.read_bytes().splitlines(keepends=True)
        lines[number] = damage(lines[number])
        file.write_bytes(b"".join(lines))

    def other_reward(self, line):
        content = json.loads(line)
        content["recording"]["rewards"][0][1] = 1000.0
        return json.dumps(content).encode() + b"\n"

    @pytest.mark.parametrize("number", [0, 1])
    def test_a_line_in_the_middle_that_is_no_json_is_told(self, file, number):
        self.damage(file, number, lambda line: line[:50] + b"\n")
        with pytest.raises(CheckpointError, match=f"line {number + 1} of .*jsonl, .*: delete the line"):
            read(file)

    def test_a_line_that_was_changed_is_told(self, file):
        self.damage(file, 1, self.other_reward)
        with pytest.raises(CheckpointError, match=r"line 2 of .*another checksum"):
            read(file)

    def test_so_is_something_else(self, file):
        self.damage(file, 0, lambda _: b"[]\n")
        with pytest.raises(CheckpointError, match="line 1 of"):
            read(file)

    def test_the_last_line_may_be_what_a_crash_left(self, file):
        self.damage(file, 2, self.other_reward)
        assert read(file) == [episode(0), episode(1)]

    @pytest.mark.xfail(strict=True, reason="drop_torn_line leaves it, and it is in the middle from then on")
    def test_and_then_the_next_one_does_not_make_it_an_error(self, file):
        self.damage(file, 2, self.other_reward)
        drop_torn_line(file)
        append_recording(file, episode(3), ACTIONS)
        assert read(file) == [episode(0), episode(1), episode(3)]


@pytest.fixture(scope="module")
def recorded():
    """Episodes of the expert in the two mazes."""
    player = ExpertPlayer([demonstrate()], ExpertConfig(horizon=12, tries=2), TWO_MAZES.env, TWO_MAZES.cells)
    return [player.play(seed) for seed in (5, 3, 4)]


def replayed(recordings, env=TWO_MAZES.env, preprocessing=PREPROCESSING):
    buffer = RecordingBuffer(env, preprocessing)
    for each in recordings:
        buffer.add(each)
    return buffer


class TestReplay:
    def test_the_same_rewards_come_again(self, recorded, tmp_path):
        """Through the file, as when a training is resumed."""
        for each in recorded:
            append_recording(tmp_path / "expert.jsonl", each, ACTIONS)
        buffer = replayed(read(tmp_path / "expert.jsonl"))
        assert buffer.recordings == recorded
        for won, each in zip(buffer.won, recorded, strict=True):
            assert won.tolist() == np.cumsum([0.0, *each.rewards]).tolist()

    def test_with_sticky_actions_within_training_frames(self):
        demonstration = first_key()
        env = native(demonstration.env)
        player = ExpertPlayer([demonstration], ExpertConfig(tries=2), env, DefaultCells())
        recording = player.play(2)
        buffer = replayed([recording], env)
        assert buffer.steps == 4
        assert buffer.won[0][-1] == recording.score == 100

    def test_any_point_is_as_it_was(self, recorded):
        """The state, the action that would stick and what is seen."""
        buffer = replayed(recorded)
        first = recorded[0]
        game, other = StochasticGame(TWO_MAZES.env), StochasticGame(TWO_MAZES.env)
        seen = Preprocessor(game.env, PREPROCESSING)
        game.reset(first.no_ops)
        seen.reset()
        for point in range(first.training_frames):
            np.testing.assert_array_equal(buffer.observation(0, point), seen.observation)
            buffer.restore(other, 0, point)
            assert other.snapshot() == game.snapshot()
            game.repeat(first.played[point : point + 1])
            seen.observe()

    def test_they_are_sorted_by_seed(self, recorded):
        buffer = replayed(recorded)
        before = buffer.observation(0, 30).tobytes()
        buffer.sort()
        assert [each.seed for each in buffer.recordings] == [3, 4, 5]
        assert buffer.observation(2, 30).tobytes() == before
        assert buffer.won[2][-1] == recorded[0].score

    def test_what_is_taught_are_the_chosen_actions(self, recorded):
        half = [dataclasses.replace(each, taught_from=2, taught_until=12) for each in recorded[:2]]
        numbers, points = replayed(half).taught()
        assert list(zip(numbers.tolist(), points.tolist(), strict=True)) == [
            (number, point) for number in range(2) for point in range(2, 12)
        ]
        observations, actions = replayed(half).batch(numbers, points)
        assert actions.tolist() == [*half[0].chosen[2:12], *half[1].chosen[2:12]]
        np.testing.assert_array_equal(observations[13], replayed(half).observation(1, 5))

    def test_a_recording_of_another_version_is_refused(self, recorded):
        with pytest.raises(CheckpointError, match="another version of the environment; start a new run"):
            replayed(recorded, FactorySpec(Richer))


class Richer(TwoMazes):
    """The next version: gold is worth more."""

    points = 150.0

    def frame_by_frame(self):
        return Richer()
