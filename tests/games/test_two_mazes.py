import pytest

from goexplore.envs import Step
from goexplore.errors import SnapshotError
from goexplore.games.two_mazes import TwoMazes, TwoMazesConfig

NOTHING, RIGHT, LEFT, DOWN, UP = range(5)

# From between the mazes to the gold on the left, run by run.
TO_THE_GOLD = [(LEFT, 3), (UP, 6), (LEFT, 2), (DOWN, 2), (LEFT, 2), (UP, 2), (LEFT, 2), (DOWN, 2)]


def walk(env, runs):
    return [env.step(action) for action, count in runs for _ in range(count)]


def test_gold_gives_a_hundred_points_once():
    mazes = TwoMazes()
    rewards = [step.reward for step in walk(mazes, TO_THE_GOLD)]
    assert rewards == [0.0] * 20 + [100.0]
    assert mazes.step(NOTHING).reward == 0.0


def test_walls_stop():
    mazes = TwoMazes()
    walk(mazes, [(UP, 5)])
    before = mazes.observation()
    walk(mazes, [(UP, 1)])
    assert (mazes.observation() == before).all()


def test_an_episode_is_cut_off_after_400_game_frames():
    mazes = TwoMazes()
    steps = walk(mazes, [(NOTHING, 400)])
    assert not any(step.ended for step in steps[:-1])
    assert steps[-1] == Step(0.0, truncated=True)
    skipping = TwoMazes(frame_skip=7)
    assert [step.ended for step in walk(skipping, [(NOTHING, 58)])] == [False] * 57 + [True]


def test_a_training_frame_walks_as_many_fields_as_it_has_game_frames():
    one, other = TwoMazes(frame_skip=3), TwoMazes()
    one.step(LEFT)
    walk(other, [(LEFT, 3)])
    assert one.snapshot() == other.snapshot()
    assert one.frame_by_frame().frame_skip == 1


def test_a_snapshot_has_where_the_player_is_what_is_taken_and_the_time():
    one, other = TwoMazes(), TwoMazes()
    walk(one, TO_THE_GOLD)
    other.restore(one.snapshot())
    assert other.snapshot() == one.snapshot()
    assert (other.observation() == one.observation()).all()
    assert other.observation().max() == 255
    assert len(walk(other, [(NOTHING, 379)])) == 379
    assert other.snapshot() != one.snapshot()


def test_bytes_that_are_no_state_are_refused():
    with pytest.raises(SnapshotError, match="expected a state of the two mazes, got 3 other bytes"):
        TwoMazes().restore(b"abc")


def test_pictures_have_the_size_of_an_atari_screen():
    assert TwoMazesConfig()().picture().shape == (210, 160, 3)
