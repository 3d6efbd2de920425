"""The curriculum as a Gymnasium environment, for any learner."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from goexplore.errors import ConfigError
from goexplore.training import Curriculum, CurriculumConfig, DemonstrationEnv, RolloutConfig
from tests.fields import Field, Lock
from tests.training.mazes import ACTIONS, buffer, demonstrate

EAGER = CurriculumConfig(window=1, episodes_to_move=2, steps_between_moves=1, real_start_share=0.0)
STILL = RolloutConfig(repeat_action_probability=0.0, no_ops=0)


def make(*demonstrations, rollout=STILL, config=EAGER):
    demonstrated = buffer(*demonstrations)
    return DemonstrationEnv(demonstrated, Curriculum(demonstrated.lengths, config), rollout)


@pytest.mark.parametrize(
    ("demonstration", "space"),
    [
        (demonstrate(), gymnasium.spaces.Box(0, 255, (1, 15, 20), np.uint8)),
        (demonstrate(bytes([0] * 5), Field), gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)),
        (demonstrate((999, 899), Lock), gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)),
    ],
)
@pytest.mark.filterwarnings("ignore")  # of boxes without bounds, and of images that are no pictures
def test_gymnasium_finds_nothing_wrong_with_it(demonstration, space):
    env = make(demonstration)
    assert env.observation_space == space
    assert env.action_space.n == demonstration.action_count
    check_env(env, skip_render_check=True)


def test_a_rollout_begins_where_the_curriculum_says_and_moves_it():
    env = make()
    curriculum = env._curriculum
    assert curriculum.starting_points == [62]
    for _ in range(2):
        _, info = env.reset()
        for action in ACTIONS[info["point"] :]:
            _, reward, terminated, truncated, info = env.step(np.int64(action))
        assert (reward, terminated, truncated, info) == (1.0, True, False, {"success": True})
    assert curriculum.starting_points[0] < 62


def test_a_seed_decides_everything():
    def play():
        env = make(rollout=RolloutConfig())
        seen = [env.reset(seed=5), *(env.step(np.int64(action)) for action in ACTIONS[-3:])]
        return [(each[0].tobytes(), *each[1:]) for each in seen]

    assert play() == play()


def test_a_picture_can_be_looked_at():
    env = make()
    env.reset(seed=0)
    assert env.render().shape == (210, 160, 3)


def test_a_burn_in_would_need_a_learner_that_knows_of_it():
    with pytest.raises(ConfigError, match="expected no `burn_in`"):
        make(rollout=RolloutConfig(burn_in=3))
