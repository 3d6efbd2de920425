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
    guide,
    read_recordings,
)
from goexplore.play import Preprocessor
from goexplore.problems import DefaultCells, FactorySpec
from goexplore.training._recording_buffer import LabelledFrames, RecordingBuffer
from tests.training.mazes import PREPROCESSING, demonstrate, first_key, native

ACTIONS = TwoMazes.action_count
GUIDED = guide([demonstrate()], TWO_MAZES.env, TWO_MAZES.cells)


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
        drop_torn_line(file, ACTIONS)
        assert file.read_bytes() == whole[: -len(last)]
        append_recording(file, episode(2), ACTIONS)
        assert file.read_bytes() == whole

    def test_whole_lines_stay(self, file):
        whole = file.read_bytes()
        drop_torn_line(file, ACTIONS)
        assert file.read_bytes() == whole

    def test_there_may_be_no_file_yet(self, tmp_path):
        drop_torn_line(tmp_path / "expert.jsonl", ACTIONS)
        assert not (tmp_path / "expert.jsonl").exists()

    def test_a_torn_first_line_leaves_nothing(self, tmp_path):
        (tmp_path / "expert.jsonl").write_bytes(b'{"recor')
        drop_torn_line(tmp_path / "expert.jsonl", ACTIONS)
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

    def test_and_then_the_next_one_does_not_make_it_an_error(self, file):
        self.damage(file, 2, self.other_reward)
        drop_torn_line(file, ACTIONS)
        append_recording(file, episode(3), ACTIONS)
        assert read(file) == [episode(0), episode(1), episode(3)]


@pytest.fixture(scope="module")
def recorded():
    """Episodes of the expert in the two mazes."""
    player = ExpertPlayer(GUIDED, ExpertConfig(horizon=12, tries=2))
    return [player.play(seed) for seed in (5, 3, 4)]


def replayed(recordings, make_game=GUIDED, preprocessing=PREPROCESSING):
    buffer = RecordingBuffer(make_game, preprocessing)
    for each in recordings:
        buffer.add(each)
    return buffer


class TestReplay:
    def test_the_same_progress_comes_again(self, recorded, tmp_path):
        """Through the file, as when a training is resumed."""
        for each in recorded:
            append_recording(tmp_path / "expert.jsonl", each, ACTIONS)
        buffer = replayed(read(tmp_path / "expert.jsonl"))
        assert buffer.recordings == recorded
        for progress, each in zip(buffer.progress, recorded, strict=True):
            game = GUIDED()
            game.reset(each.no_ops)
            seen = [game.progress]
            for action in each.played:
                game.repeat(bytes([action]))
                seen.append(game.progress)
            assert progress.tolist() == seen
            assert (progress[-1] == buffer.goal == 63) == (each.ending == "goal")
        assert any(each.ending == "goal" for each in recorded)

    def test_with_sticky_actions_within_training_frames(self):
        demonstration = first_key()
        make = guide([demonstration], native(demonstration.env), DefaultCells())
        player = ExpertPlayer(make, ExpertConfig())
        recording = next(each for each in map(player.play, range(4)) if each.ending == "goal")
        buffer = replayed([recording], make)
        assert len(recording.played) == 4 * recording.training_frames
        assert recording.score == 100
        assert buffer.progress[0][-1] == buffer.goal == len(demonstration.actions)

    def test_any_point_is_as_it_was(self, recorded):
        """The state, the action that would stick, where along the way it is and what is seen."""
        buffer = replayed(recorded)
        first = recorded[0]
        game, other = GUIDED(), GUIDED()
        seen = Preprocessor(game.game.env, PREPROCESSING)
        game.reset(first.no_ops)
        seen.reset()
        for point in range(first.training_frames):
            np.testing.assert_array_equal(buffer.observation(0, point), seen.observation)
            buffer.restore(other, 0, point)
            assert other.situation() == game.situation()
            assert other.progress == buffer.progress[0][point]
            game.repeat(first.played[point : point + 1])
            seen.observe()

    def test_they_are_sorted_by_seed(self, recorded):
        buffer = replayed(recorded)
        before = buffer.observation(0, 30).tobytes()
        buffer.sort()
        assert [each.seed for each in buffer.recordings] == [3, 4, 5]
        assert buffer.observation(2, 30).tobytes() == before
        assert len(buffer.progress[2]) == recorded[0].training_frames + 1
        buffer.restore(game := GUIDED(), 2, 30)
        assert game.progress == buffer.progress[2][30]

    def test_what_is_taught_are_the_chosen_actions(self, recorded):
        half = [dataclasses.replace(each, taught_from=2, taught_until=12) for each in recorded[:2]]
        frames = list(LabelledFrames(replayed(half), range(2)))
        assert frames == [(number, point) for number in range(2) for point in range(2, 12)]
        observations, actions = replayed(half).batch(frames)
        assert actions.tolist() == [*half[0].chosen[2:12], *half[1].chosen[2:12]]
        np.testing.assert_array_equal(observations[13], replayed(half).observation(1, 5))

    def test_a_recording_of_another_version_is_refused(self, recorded):
        with pytest.raises(CheckpointError, match="another version of the environment; start a new run"):
            replayed(recorded, guide([demonstrate(env=Richer)], FactorySpec(Richer), TWO_MAZES.cells))


class TestLongestPause:
    """The median, over all recordings, of the most training frames without further progress."""

    def pause(self, *progress, until=None):
        buffer = RecordingBuffer(GUIDED, PREPROCESSING)
        for each in progress:
            last = len(each) - 1
            made = episode(taught_until=last if until is None else until, rewards=(0.0,) * last)
            buffer.recordings.append(made)
            buffer.progress.append(np.array(each))
        return buffer.longest_pause()

    def test_by_hand(self):
        assert self.pause([0, 1, 2, 3]) == 1
        assert self.pause([0, 1, 1, 1, 2, 3, 3]) == 3

    def test_back_and_forth_is_no_progress(self):
        assert self.pause([5, 6, 4, 5, 6, 6, 7]) == 5

    def test_what_is_not_to_be_learnt_does_not_count(self):
        assert self.pause([0, 1, 2, 2, 2, 2, 3], until=3) == 1

    def test_of_several_it_is_the_median(self):
        assert self.pause([0, 1, 2], [0, 0, 0, 1], [0] * 50 + [1]) == 3

    def test_no_progress_at_all(self):
        assert self.pause([4, 4, 4, 4]) == 1


class Richer(TwoMazes):
    """The next version: gold is worth more."""

    points = 150.0

    def frame_by_frame(self):
        return Richer()
