"""What a trajectory brings, played from the initial state, and a digest of everything that it shows."""

import dataclasses

import numpy as np
import pytest

from goexplore.cells import End
from goexplore.envs import NOWHERE
from goexplore.errors import DemonstrationError
from goexplore.games import AtariGame
from goexplore.replay import TrajectoryDigest, record, shared_length, survey
from tests.fields import Corridor, Field, Lock

RIGHT, DOWN = 0, 2


def digest(*observations, action=0, action_count=4):
    made = TrajectoryDigest(action_count)
    for observation in observations:
        made.add(action, observation)
    return made.text()


def test_rewards_come_training_frame_by_training_frame():
    recording = record(Field(), bytes([RIGHT] * 6))
    assert recording.rewards == (0, 0, 0, 0, 10, 0)
    assert (recording.location, recording.end) == (NOWHERE, End.NONE)


def test_the_location_is_the_one_at_the_end():
    game = AtariGame(game="montezuma_revenge")()
    assert record(game, bytes(3)).location == (0, 1)


def test_it_begins_at_the_initial_state_whatever_was_played_before():
    env = Field()
    env.step(DOWN)
    assert record(env, bytes([RIGHT] * 5)) == record(Field(), bytes([RIGHT] * 5))


def test_nothing_played_brings_nothing():
    recording = record(Field(), b"")
    assert (recording.rewards, recording.end) == ((), End.NONE)


@pytest.mark.parametrize(
    ("actions", "end"),
    [([1] * 3, End.NONE), ([1] * 4, End.TERMINATED), ([0] * 255, End.TRUNCATED)],
)
def test_how_the_episode_ended_is_recorded(actions, end):
    recording = record(Corridor(), bytes(actions))
    assert recording.end == end
    assert sum(recording.rewards) == -len(actions)


def test_an_episode_that_ends_too_early_is_refused():
    with pytest.raises(DemonstrationError, match="of 5 training frames, got one that ends after 4"):
        record(Corridor(), bytes([1] * 5))


def test_actions_that_the_environment_does_not_have_are_refused():
    with pytest.raises(DemonstrationError, match="expected actions below 4, got 9 at training frame 1"):
        record(Field(), bytes([RIGHT, 9]))


def test_actions_above_255_are_recorded():
    recording = record(Lock(), (950, 0, 899))
    assert recording.rewards == (1, 0, 1)
    assert recording.digest != record(Lock(), (951, 0, 899)).digest, "although both open and show the same"


# ---- digests ----------------------------------------------------------------------------------------------


def test_a_digest_is_the_same_every_time():
    assert record(Field(), bytes([RIGHT, DOWN])).digest == record(Field(), bytes([RIGHT, DOWN])).digest


@pytest.mark.parametrize("changed", [[DOWN, RIGHT], [RIGHT, RIGHT], [RIGHT], [RIGHT, DOWN, DOWN]])
def test_any_other_action_changes_it(changed):
    assert record(Field(), bytes(changed)).digest != record(Field(), bytes([RIGHT, DOWN])).digest


def test_an_action_that_shows_nothing_new_changes_it():
    """Left and up do nothing in the corner."""
    assert record(Field(), bytes([1])).digest != record(Field(), bytes([3])).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, 23), (12, 3)),
        ((1, (2, 3)), ((1, 2), 3)),
        ((1, 2), (1, 2, 0)),
        ((), ((),)),
        ((1.0, 2), (1, 2)),
        (("ab", "c"), ("a", "bc")),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
        ({"a": 1}, {"b": 1}),
        ({"a": (1, 2)}, {"a": (1,), "b": 2}),
        ((np.array([1, 2]), 3), (np.array([1, 3]), 3)),
        ((np.array([1]), np.array([2, 3])), (np.array([1, 2]), np.array([3]))),
        (np.float32(0.1), np.float64(0.1)),
        (0.0, -0.0),
    ],
)
def test_any_change_of_an_observation_changes_it(one, other):
    assert digest(one) == digest(one)
    assert digest(one) != digest(other)


def test_the_order_in_which_a_dictionary_was_made_does_not():
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})


def test_neither_do_numbers_that_numpy_has_made_plain():
    assert digest((np.int64(3), np.True_)) == digest((3, True))


@dataclasses.dataclass
class Seen:
    x: int
    lamps: list[int]


def test_an_object_is_known_by_its_attributes():
    assert digest(Seen(1, [2])) == digest(Seen(1, [2]))
    assert len({digest(Seen(1, [2])), digest(Seen(1, [3])), digest(Seen(2, [2]))}) == 3


# ---- surveys ----------------------------------------------------------------------------------------------


class Counting(Field):
    """Counts its steps over all episodes."""

    played = 0

    def step(self, action):
        self.played += 1
        return super().step(action)


def test_what_trajectories_share_is_played_once():
    trunk = bytes([RIGHT, 1] * 500)
    env = Counting()
    trajectories = [trunk + bytes([RIGHT] * 5 + [tip]) for tip in range(4)]
    found = {number: sum(each.rewards) for number, each in survey(env, trajectories)}
    assert found == {0: 10, 1: 10, 2: 10, 3: 10}
    assert env.played <= 1006 + 3 * 101


def test_trajectories_of_large_actions_are_surveyed():
    found = {number: list(each.rewards) for number, each in survey(Lock(), [(950,), (950, 850), (0, 950)])}
    assert found == {0: [1], 1: [1, 1], 2: [0, 1]}


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (b"", b"", 0),
        (b"", b"a", 0),
        (b"ab", b"abc", 2),
        (b"abc", b"abd", 2),
        ((), (), 0),
        ((1, 999), (1, 999, 3), 2),
        ((1, 999), (1, 231), 1),
    ],
)
def test_how_much_two_trajectories_share(one, other, shared):
    assert shared_length(one, other) == shared_length(other, one) == shared
