"""The whole way: explore, demonstrate, robustify, evaluate. In the two mazes, and in a user's environment."""

import dataclasses
import functools

import pytest

import goexplore
from goexplore.demos import Rules, extract
from goexplore.evaluation import EvaluationConfig, OpenLoopPlayer, PolicyPlayer, RandomPlayer, evaluate
from goexplore.planning import read_recordings
from goexplore.problems import Problem
from goexplore.runs import SavedRun
from goexplore.training import TrainingLimits, run_training, training_preset
from tests.training.combination import Combination, by_digits
from tests.training.driving import WAY, Driving
from tests.training.mazes import demonstrate

EPISODES = EvaluationConfig(repetitions=7, until_score=200.0)  # 217 episodes
TINY = training_preset("tiny", "backward")


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    run = tmp_path_factory.mktemp("search") / "run"
    goexplore.explore("two-mazes", run_dir=run, until_score=200.0, game_frames=500_000)
    return SavedRun.open(run)


@pytest.fixture(scope="module")
def demonstration(search):
    (best,) = extract([search], Rules())
    return best


def test_exploration_finds_all_gold(demonstration):
    assert demonstration.score == 200


def test_a_cut_is_found_by_playing_all_trajectories(search, demonstration):
    (half,) = extract([search], Rules(truncation=goexplore.Truncation(until_score=100)))
    assert half.score == half.rewards[-1] == 100
    assert len(half.actions) < len(demonstration.actions)


def test_its_actions_alone_fail_in_the_stochastic_game(demonstration):
    blind = evaluate(functools.partial(OpenLoopPlayer, demonstration), EPISODES)
    assert blind.reached(200).value < 0.5


@pytest.mark.slow
def test_the_policy_that_learns_from_it_succeeds(demonstration, tmp_path):
    outcome = run_training(
        [demonstration],
        TINY,
        run_dir=tmp_path / "training",
        limits=TrainingLimits(until_success=0.97, training_frames=800_000),
    )
    player = functools.partial(PolicyPlayer, outcome.run.last_policy(), temperature=0.5)
    assert evaluate(player, EPISODES).reached(200).value >= 0.95


# ---- a user's environment ---------------------------------------------------------------------------------

COMBINATION = Problem(env=Combination, cells=by_digits)
DRIVING = Problem(env=Driving)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A search that opens the lock: the end of the episode, for which every step costs a point."""
    run = goexplore.explore(
        COMBINATION, run_dir=tmp_path_factory.mktemp("lock") / "run", game_frames=100_000, seed=1
    )
    return SavedRun.open(run.path, COMBINATION)


def test_the_way_to_open_the_lock_is_the_demonstration(opened):
    (found,) = extract([opened], Rules())
    assert found.actions == bytes(Combination.digits)
    assert found.score == -len(Combination.digits)
    assert found.end


def test_a_policy_learns_to_open_it_from_a_vector(opened, tmp_path):
    """A sticky action is a wrong digit: only who sees where the lock stands opens it, after some tries."""
    demonstrations = extract([opened], Rules())
    rollout = dataclasses.replace(TINY.rollout, allowed_deficit=100.0, allowed_lag=120)
    outcome = run_training(
        demonstrations,
        dataclasses.replace(TINY, rollout=rollout),
        run_dir=tmp_path / "training",
        limits=TrainingLimits(until_success=0.95, training_frames=200_000),
        problem=COMBINATION,
    )
    config = EvaluationConfig(repetitions=1, max_game_frames=300)
    make = functools.partial(PolicyPlayer, outcome.run.last_policy(), problem=COMBINATION, temperature=0.5)

    def opened_share(make):
        episodes = evaluate(make, config).episodes
        return sum(not each.truncated for each in episodes) / len(episodes)

    assert opened_share(make) >= 0.95
    assert opened_share(functools.partial(RandomPlayer, COMBINATION.env)) < 0.1


# ---- real numbers -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def driving(tmp_path_factory):
    """A training by search where there are no cells: only observations of real numbers."""
    return goexplore.robustify(
        [demonstrate(WAY, Driving)],
        run_dir=tmp_path_factory.mktemp("driving") / "run",
        method="search",
        preset="tiny",
        until_success=0.95,
        training_frames=100_000,
    )


class TestRealNumbers:
    """Who accelerates once too often is too fast for the gate."""

    CONFIG = EvaluationConfig(repetitions=3, max_game_frames=100, until_score=2.0)

    def arrived(self, make):
        return evaluate(make, self.CONFIG).reached(2.0).value

    def test_replaying_is_not_enough(self):
        assert self.arrived(functools.partial(OpenLoopPlayer, demonstrate(WAY, Driving))) < 0.75

    @pytest.mark.slow
    def test_the_expert_gets_through_the_gate(self, driving):
        recordings = list(read_recordings([driving.path / "expert.jsonl"], Driving.action_count))
        assert len(recordings) == training_preset("tiny").episodes
        assert sum(each.ending == "goal" for each in recordings) >= 0.9 * len(recordings)
        assert all(each.score == 2 for each in recordings if each.ending == "goal")

    @pytest.mark.slow
    def test_the_policy_learns_it(self, driving):
        make = functools.partial(PolicyPlayer, driving.outcome.run.last_policy(), problem=DRIVING)
        assert self.arrived(make) >= 0.9

    @pytest.mark.slow
    def test_the_training_goes_on(self, driving):
        before = driving.outcome.status.training_frames
        again = goexplore.robustify(
            (), run_dir=driving.path, resume=True, training_frames=before + 1, problem=DRIVING
        )
        assert again.outcome.status.training_frames > before
