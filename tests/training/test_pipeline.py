"""The whole way on the two mazes: explore, demonstrate, robustify, evaluate."""

import functools

import pytest

import goexplore
from goexplore.evaluation import EvaluationConfig, OpenLoopPlayer, PolicyPlayer, evaluate
from goexplore.training import TrainingLimits, robustify, training_preset

EPISODES = EvaluationConfig(repetitions=7, until_score=200.0)  # 217 episodes


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    run = tmp_path_factory.mktemp("search") / "run"
    limits = goexplore.Limits(game_frames=500_000)
    goexplore.explore(goexplore.preset("two-mazes"), run_dir=run, limits=limits)
    return goexplore.Source.open(run)


@pytest.fixture(scope="module")
def demonstration(search):
    (best,) = goexplore.extract([search], goexplore.Rules())
    return best


def test_exploration_finds_all_gold(demonstration):
    assert demonstration.score == 200


def test_a_cut_is_found_by_playing_all_trajectories(search, demonstration):
    (half,) = goexplore.extract([search], goexplore.Rules(truncation=goexplore.Truncation(until_score=100)))
    assert half.score == half.rewards[-1] == 100
    assert len(half.actions) < len(demonstration.actions)


def test_its_actions_alone_fail_in_the_stochastic_game(demonstration):
    blind = evaluate(functools.partial(OpenLoopPlayer, demonstration), EPISODES)
    assert blind.reached(200).value < 0.5


def test_the_policy_that_learns_from_it_succeeds(demonstration, tmp_path):
    outcome = robustify(
        [demonstration],
        training_preset("two-mazes"),
        run_dir=tmp_path / "training",
        limits=TrainingLimits(success=0.97, training_frames=800_000),
    )
    player = functools.partial(PolicyPlayer, outcome.run.last_policy(), sharpness=2.0)
    assert evaluate(player, EPISODES).reached(200).value >= 0.95
