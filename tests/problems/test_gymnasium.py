"""Gymnasium environments as problems: what can be given, and what is written down of it."""

import functools

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import FlattenObservation

import goexplore
from goexplore.errors import ConfigError, ProblemError
from goexplore.exploration import NativeKernel, PythonKernel
from goexplore.problems import Gymnasium, Problem, find_problem, problem_from_file
from tests.envs.gymnasium import worlds


def make():
    return gymnasium.make("CartPole-v1")


@pytest.mark.parametrize(
    "target",
    [
        "CartPole-v1",
        "gymnasium:CartPole-v1",
        make,
        lambda: FlattenObservation(make()),
        functools.partial(worlds.Walk, render_mode=None),
        worlds.Walk,
        gymnasium.make("CartPole-v1"),
        Gymnasium(id="CartPole-v1", seed=3),
    ],
    ids=["id", "module and id", "function", "lambda", "partial", "class", "instance", "settings"],
)
def test_what_can_be_given(target):
    problem = find_problem(target)
    assert isinstance(problem.env, Gymnasium)
    env = problem.env()
    env.reset()
    assert env.action_count == 2
    env.close()
    assert problem.with_settings(problem.settings()).settings() == problem.settings()


def test_instances_that_were_made_otherwise_are_told_apart():
    small, large = (find_problem(gymnasium.make("FrozenLake-v1", map_name=name)) for name in ("4x4", "8x8"))
    assert small.settings() != large.settings()
    with pytest.raises(ConfigError, match="as the file says"):
        problem_from_file(large.settings(), small, "a file")
    with pytest.raises(ProblemError, match="whose code is only imported if you name it"):
        problem_from_file(large.settings(), None, "a file")


def test_an_instance_that_cannot_be_made_again_is_refused():
    with pytest.raises(ProblemError, match="which Gymnasium cannot make again"):
        find_problem(worlds.Walk())


def test_an_id_with_a_module_explores(tmp_path):
    grid = goexplore.Grid("observation", dims=(0, 2), size=0.2)
    run = goexplore.explore(
        "gymnasium:CartPole-v1", cell=grid, run_dir=tmp_path / "run", game_frames=2000, workers=0
    )
    assert run.verify().mismatches == ()


@pytest.mark.parametrize("no_op", [np.zeros(1, np.float32), (0.0,), [0.0]], ids=["array", "tuple", "list"])
def test_a_no_op_is_written_down_as_plain_numbers(no_op, tmp_path):
    problem = Gymnasium(id="Pendulum-v1", no_op=no_op)
    assert problem.settings()["no_op"] == [0.0]
    settings = {"cell": goexplore.Grid("observation", size=0.5), "workers": 0, "run_dir": tmp_path / "run"}
    goexplore.explore(problem, game_frames=1000, **settings)
    run = goexplore.explore(problem, game_frames=2000, resume=True, **settings)
    assert run.problem.env().no_op == 0


def test_an_unknown_id_says_what_may_be_meant():
    with pytest.raises(ProblemError, match=r"Did you mean CartPole-v1\?"):
        find_problem("CartPoles-v1")


def test_either_an_id_or_a_factory_is_needed():
    with pytest.raises(ConfigError, match="expected either `id` or `factory`"):
        Gymnasium()


def is_deep(observation, info):
    return False


@pytest.mark.parametrize(
    "more", [{"events": {"deep": is_deep}}, {"objective": is_deep}], ids=["events", "objective"]
)
def test_events_and_objectives_of_an_atari_game_are_judged_in_python(more):
    game = find_problem("ALE/MontezumaRevenge-v5")
    judged = Problem(env=game.env, cells=game.cells, exploration=game.exploration, **more)
    for problem, kernel in ((game, NativeKernel), (judged, PythonKernel)):
        bound, _ = problem.with_engine("auto")
        if bound.env.engine != "native":
            pytest.skip("there is no native engine here")
        made = bound.after_revisions(()).kernel_factory()()
        assert isinstance(made, kernel)
        made.close()
