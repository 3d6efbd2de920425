"""What a policy observes: the last few images, or vectors of numbers."""

import numpy as np
import pytest

from goexplore.envs import Environment, Step
from goexplore.errors import ConfigError
from goexplore.games.two_mazes import TwoMazesConfig
from goexplore.play import PreprocessingConfig, Preprocessor, StochasticGame
from tests.fields import Field
from tests.training.mazes import MONTEZUMA


def montezuma(engine, **settings):
    game = StochasticGame(MONTEZUMA.with_engine(engine).env)
    game.reset()
    preprocessor = Preprocessor(game.env, PreprocessingConfig(**settings))
    preprocessor.reset()
    return game, preprocessor


def test_one_whole_image_is_forgotten_at_a_time():
    """Earlier code rolled colour stacks by one channel."""
    game, preprocessor = montezuma("native", width=16, height=20, stack=3, colour=True)
    assert preprocessor.shape == preprocessor.observation.shape == (9, 20, 16)
    for image in range(3):
        np.testing.assert_array_equal(
            preprocessor.observation[3 * image : 3 * image + 3], preprocessor.frame()
        )
    seen = [preprocessor.frame()]
    for action in (1, 3, 3, 4):
        game.step(action)
        preprocessor.observe()
        seen.append(preprocessor.frame())
    np.testing.assert_array_equal(preprocessor.observation, np.concatenate(seen[-3:]))


def test_both_engines_look_the_same():
    seen = []
    for engine in ("ale", "native"):
        game, preprocessor = montezuma(engine)
        for action in (1, 1, 3, 3, 3):
            game.step(action)
            preprocessor.observe()
        seen.append(preprocessor.observation)
    np.testing.assert_array_equal(*seen)


def test_an_image_smaller_than_asked_for_keeps_its_size():
    env = TwoMazesConfig()()
    preprocessor = Preprocessor(env, PreprocessingConfig(width=84, height=84, stack=1))
    assert preprocessor.shape == (1, 15, 20)
    np.testing.assert_array_equal(preprocessor.frame()[0], env.observation())


def test_each_side_of_an_image_is_shrunken_on_its_own():
    preprocessor = Preprocessor(TwoMazesConfig()(), PreprocessingConfig(width=10, height=84, stack=2))
    assert preprocessor.shape == (2, 15, 10)
    assert preprocessor.dtype == np.uint8


@pytest.mark.parametrize("setting", ["width", "height", "stack"])
def test_sizes_below_one_are_refused(setting):
    with pytest.raises(ConfigError, match=f"expected `{setting}` to be 1 or more, got 0"):
        PreprocessingConfig(**{setting: 0})


def test_a_stack_that_no_memory_holds_is_refused():
    with pytest.raises(ConfigError, match="expected `stack` to be 100 or less, got 10000"):
        PreprocessingConfig(stack=10_000)


# ---- vectors ----------------------------------------------------------------------------------------------


class Showing(Environment):
    """Shows what it was given."""

    action_count = 1

    def __init__(self, seen):
        self.seen = seen

    def reset(self):
        pass

    def step(self, action):
        return Step(0.0)

    def observation(self):
        return self.seen

    def snapshot(self):
        return b""

    def restore(self, snapshot):
        pass


@pytest.mark.parametrize(
    ("seen", "vector"),
    [
        (7, [7]),
        ((1, 2.5, True), [1, 2.5, 1]),
        ({"b": (2, 3), "a": 1}, [1, 2, 3]),
        (np.arange(6).reshape(2, 3), [0, 1, 2, 3, 4, 5]),
        ((np.array([0.5, 1.5]), [2]), [0.5, 1.5, 2]),
        (np.array([1, 255], np.uint8), [1, 255]),
    ],
)
def test_everything_but_an_image_is_a_vector_of_numbers(seen, vector):
    preprocessor = Preprocessor(Showing(seen), PreprocessingConfig(stack=1))
    assert not preprocessor.is_image
    preprocessor.reset()
    assert preprocessor.observation.dtype == np.float32
    assert preprocessor.observation.tolist() == vector


def test_vectors_are_stacked_like_images():
    env = Field()
    preprocessor = Preprocessor(env, PreprocessingConfig(stack=2))
    preprocessor.reset()
    assert preprocessor.observation.tolist() == [0, 0, 0, 0]
    env.step(0)
    preprocessor.observe()
    assert preprocessor.observation.tolist() == [0, 0, 1, 0]
    env.step(2)
    preprocessor.observe()
    assert preprocessor.observation.tolist() == [1, 0, 1, 1]


def test_a_text_is_nothing_that_a_policy_can_see():
    with pytest.raises(ConfigError, match=r"an image or numbers, got str: return one from the environment's"):
        Preprocessor(Showing(("here", "there")), PreprocessingConfig())
