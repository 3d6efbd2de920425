"""Every environment keeps the contract of `goexplore.Environment`."""

import pickle

import numpy as np
import pytest

from goexplore.checks import check_env, require_env
from goexplore.envs import Environment
from goexplore.random import SplitMix64
from tests.conformance.lists import ENVIRONMENTS

each_environment = pytest.mark.parametrize("problem", ENVIRONMENTS)


def walk(env, count, seed=0):
    """Yield an action, what it brought and the state after it, with a reset after each end of an episode."""
    for action in SplitMix64(seed).below(env.action_count, count).tolist():
        step = env.step(action)
        yield action, tuple(step), env.snapshot(), np.array(env.observation()).tobytes()
        if step.ended:
            env.reset()


@each_environment
def test_check_env_passes(problem):
    report = check_env(problem, steps=200)
    assert report.passed, report.text()
    assert not report.skipped
    require_env(problem)


@each_environment
def test_the_initial_state_is_always_the_same(problem):
    env = problem.env()
    assert isinstance(env, Environment)
    env.reset()
    initial = env.snapshot(), np.array(env.observation()).tobytes()
    list(walk(env, 50))
    env.reset()
    assert (env.snapshot(), np.array(env.observation()).tobytes()) == initial


@each_environment
def test_a_restored_state_goes_on_as_before_in_any_environment(problem):
    env, other = problem.env(), problem.env()
    env.reset()
    other.reset()
    list(walk(env, 20))
    snapshot = env.snapshot()
    future = list(walk(env, 40, seed=1))
    list(walk(other, 30, seed=2))
    for each in (other, env, other):
        each.restore(snapshot)
        assert each.snapshot() == snapshot
        assert list(walk(each, 40, seed=1)) == future


@each_environment
def test_play_is_step_by_step(problem):
    env, other = problem.env(), problem.env()
    env.reset()
    other.reset()
    actions = SplitMix64(3).below(env.action_count, 100).tolist()
    reward, step = 0.0, None
    for action in actions:
        step = other.step(action)
        reward += step.reward
        if step.ended:
            break
    assert env.play(actions) == (reward, step.terminated, step.truncated)
    assert env.snapshot() == other.snapshot()


@each_environment
def test_frame_by_frame_is_the_same_game(problem):
    env = problem.env()
    frames = env.frame_by_frame()
    assert frames.action_count == env.action_count
    assert env.frame_skip % frames.frame_skip == 0
    if frames is env:
        return
    env.reset()
    frames.reset()
    for action in SplitMix64(4).below(env.action_count, 30).tolist():
        step = env.step(action)
        assert frames.play([action] * (env.frame_skip // frames.frame_skip)).reward == step.reward
        if step.ended:
            return
        assert np.array_equal(env.observation(), frames.observation())
        assert env.location() == frames.location()
        assert env.lives() == frames.lives()


@each_environment
def test_a_problem_survives_pickling_and_its_settings(problem):
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert problem.with_settings(problem.settings()) == problem
