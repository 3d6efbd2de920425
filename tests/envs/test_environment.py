"""The contract of environments: what is required, and what the rest is by default."""

import numpy as np
import pytest

from goexplore.envs import NOWHERE, Environment, Location, Step
from tests.fields import Corridor, Field

REQUIRED = ("reset", "step", "observation", "snapshot", "restore")


@pytest.mark.parametrize("missing", REQUIRED)
def test_a_method_that_is_missing_is_named_when_the_environment_is_made(missing):
    methods = {name: lambda self: None for name in REQUIRED if name != missing}
    with pytest.raises(TypeError, match=f"abstract method '?{missing}'?"):
        type("Incomplete", (Environment,), methods)()


def test_all_methods_that_are_missing_are_named():
    with pytest.raises(TypeError) as caught:
        Environment()
    assert all(name in str(caught.value) for name in REQUIRED)


def test_five_methods_and_the_number_of_actions_are_enough():
    field = Field()
    assert field.location() == field.location_after(Location(1, 2)) == NOWHERE
    assert not field.has_rooms
    assert not field.has_levels
    assert field.lives() is None
    assert field.no_op is None
    assert field.palette is None
    assert field.picture() is None
    assert field.frame_by_frame() is field
    assert field.close() is None
    assert Corridor().frame_skip == 1


@pytest.mark.parametrize(
    ("step", "ended"),
    [
        (Step(1.0), False),
        (Step(1.0, terminated=True), True),
        (Step(1.0, truncated=True), True),
        (Step(1.0, terminated=True, truncated=True), True),
    ],
)
def test_an_episode_is_over_however_it_ended(step, ended):
    assert step.ended is ended


# ---- several steps at once --------------------------------------------------------------------------------


class Timed(Corridor):
    limit = 3


def test_playing_several_steps_sums_their_rewards():
    corridor = Corridor()
    assert corridor.play([1, 0, 1]) == Step(-3.0)
    assert corridor.x == 1
    assert corridor.play([]) == Step(0.0)


@pytest.mark.parametrize(
    ("env", "expected"),
    [(Corridor(), Step(-4.0, terminated=True)), (Timed(), Step(-3.0, truncated=True))],
    ids=["terminated", "truncated"],
)
def test_playing_stops_where_the_episode_ends_and_says_how(env, expected):
    assert env.play([1] * 10) == expected
    assert env.steps == -expected.reward


def test_rewards_of_single_precision_are_summed_in_double_precision():
    class Rich(Field):
        def step(self, action):
            return Step(np.float32(2**24) if action == 0 else np.float32(1))

    total = Rich().play([0, 1, 1]).reward
    assert total == 2**24 + 2
    assert type(total) is float


# ---- pictures ---------------------------------------------------------------------------------------------


def seeing(seen):
    class Seeing(Field):
        def observation(self):
            return seen

    return Seeing()


def test_grey_observations_are_pictures():
    grey = np.array([[0, 255], [7, 8], [9, 10]], np.uint8)
    picture = seeing(grey).picture()
    assert picture.shape == (3, 2, 3)
    assert (picture == grey[:, :, None]).all()


def test_colour_observations_are_pictures_and_a_picture_is_a_copy():
    colours = np.arange(18, dtype=np.uint8).reshape(3, 2, 3)
    picture = seeing(colours).picture()
    assert (picture == colours).all()
    picture[:] = 0
    assert colours.sum() == 153


@pytest.mark.parametrize(
    "seen",
    [
        np.zeros((3, 2), np.float32),
        np.zeros((3, 2, 4), np.uint8),
        np.zeros(6, np.uint8),
        np.zeros((2, 3, 2, 3), np.uint8),
        [[0, 255]],
    ],
)
def test_other_observations_are_no_pictures(seen):
    assert seeing(seen).picture() is None


def test_palette_indices_are_no_pictures():
    env = seeing(np.zeros((3, 2), np.uint8))
    env.palette = object()
    assert env.picture() is None
