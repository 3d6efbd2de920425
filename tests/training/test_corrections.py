"""Corrections: where the clone errs, the expert takes over in time, and the recording replays."""

import torch

from goexplore.planning import ExpertConfig, ExpertPlayer, guide
from goexplore.problems import find_problem
from goexplore.training import NetworkConfig, Policy
from goexplore.training._corrections import Corrector
from goexplore.training._recording_buffer import RecordingBuffer
from tests.training.mazes import PREPROCESSING, demonstrate

EXPERT = ExpertConfig(horizon=20, tries=4, random_plans=12)


def corrector() -> tuple[Corrector, RecordingBuffer]:
    """Return one for a policy that knows nothing."""
    make_game = guide([demonstrate()], demonstrate().env, find_problem("two-mazes").cells)
    buffer = RecordingBuffer(make_game, PREPROCESSING)
    player = ExpertPlayer(make_game, EXPERT)
    for seed in range(2):
        buffer.add(player.play(seed))
    torch.manual_seed(0)
    policy = Policy(NetworkConfig(channels=(), hidden=16), shape=buffer.shape, actions=buffer.action_count)
    return Corrector(player, policy, buffer, sharpen=1.0), buffer


def test_the_expert_takes_over_where_the_policy_is_stuck():
    correct, buffer = corrector()
    found = [each for each in map(correct.correct, range(6)) if each is not None]
    assert found
    for each in found:
        assert each.ending == "cut"
        assert 0 < each.taught_from < each.taught_until == each.training_frames
        assert each.taught_until - each.taught_from <= 60
        assert each.simulated > 0
        buffer.add(each)  # which replays it, and compares the rewards
        progress = buffer.progress[-1]
        assert progress[-1] > progress[each.taught_from]


def test_equal_seeds_give_equal_corrections():
    assert corrector()[0].correct(3) == corrector()[0].correct(3)


def test_only_what_the_expert_chose_is_learnt_and_begun_from():
    correct, buffer = corrector()
    whole = len(buffer.taught()[0])
    recording = next(each for each in map(correct.correct, range(6)) if each is not None)
    buffer.add(recording)
    numbers, points = buffer.taught()
    new = points[numbers == len(buffer.recordings) - 1]
    assert len(points) == whole + len(new)
    assert (new.min(), new.max()) == (recording.taught_from, recording.taught_until - 1)
    assert len(buffer.observation(len(buffer.recordings) - 1, int(new[0]))) == buffer.shape[0]
