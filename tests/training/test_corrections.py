"""Corrections: where the clone errs, the expert takes over in time, and the recording replays."""

import torch

from goexplore.planning import ExpertConfig, ExpertPlayer, guide
from goexplore.problems import DefaultCells, FactorySpec, find_problem
from goexplore.training import NetworkConfig, Policy, StateBankConfig
from goexplore.training._corrections import Corrector
from goexplore.training._recording_buffer import LabelledFrames, RecordingBuffer
from goexplore.training._state_bank import REAL_START, StateBank
from tests.fields import Field
from tests.generators import result_of
from tests.training.mazes import PREPROCESSING, demonstrate
from tests.training.recordings import recording as recorded

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
    found = [each for each in (result_of(correct.correct(seed)) for seed in range(6)) if each is not None]
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
    assert result_of(corrector()[0].correct(3)) == result_of(corrector()[0].correct(3))


def test_only_what_the_expert_chose_is_learnt_and_begun_from():
    correct, buffer = corrector()
    recording = next(
        each for each in (result_of(correct.correct(seed)) for seed in range(6)) if each is not None
    )
    buffer.add(recording)
    last = len(buffer.recordings) - 1
    assert list(LabelledFrames(buffer, [last])) == [
        (last, point) for point in range(recording.taught_from, recording.taught_until)
    ]
    assert len(buffer.observation(last, recording.taught_from)) == buffer.shape[0]
    starts = [
        each for each in StateBank(buffer, StateBankConfig(every=1))._bin_of if each.demonstration == last
    ]
    assert min(starts).point >= recording.taught_from


def test_the_last_moment_that_is_not_too_late_is_corrected():
    """On the field, right into the pit: one step before it, the expert still knows a way."""
    way = bytes([2] * 5 + [0] * 5)  # down, then right, under the pit
    spec = FactorySpec(Field)
    make_game = guide([demonstrate(way, Field)], spec, DefaultCells(), repeat_action_probability=0.0)
    buffer = RecordingBuffer(make_game, PREPROCESSING)
    buffer.add(recorded(way, spec))
    correct = Corrector(ExpertPlayer(make_game, EXPERT, no_ops=0), None, buffer)
    correct._draw = lambda random: REAL_START
    into_the_pit = iter([0, 0, 0, 2, 2, 2])
    correct._act = lambda random: next(into_the_pit)
    found = result_of(correct.correct(0))
    assert found.taught_from == 2, "four steps before the pit is the last moment that is tried"
    assert found.rewards == tuple([0.0] * found.training_frames)
