"""The expert plays stochastic games: it reaches what demonstrations reach, where replaying them does not."""

import dataclasses

import pytest

from goexplore.errors import ConfigError, DemonstrationError
from goexplore.games.two_mazes import TWO_MAZES
from goexplore.planning import Decision, ExpertConfig, ExpertPlayer
from goexplore.planning._simulator import FOREVER
from goexplore.play import StochasticGame
from goexplore.problems import DefaultCells, FactorySpec
from goexplore.random import SplitMix64, stream_state
from tests.fields import Field
from tests.training.mazes import ACTIONS, demonstrate, first_key, native

QUICK = ExpertConfig(horizon=12, tries=2, random_plans=4)
SEEDS = [stream_state(0, number) for number in range(12)]


def mazes(*demonstrations, config=QUICK, **settings):
    return ExpertPlayer(
        list(demonstrations or [demonstrate()]), config, TWO_MAZES.env, TWO_MAZES.cells, **settings
    )


def open_loop(seed):
    """Return the score of the demonstration's actions in the stochastic game, with twice the time."""
    random = SplitMix64(stream_state(seed, 0))
    game = StochasticGame(TWO_MAZES.env)
    game.reset(random.index(31))
    return sum(game.step(action, random).reward for action in (*ACTIONS, *ACTIONS))


class TestMazes:
    def test_it_reaches_all_gold_where_replaying_does_not(self):
        player = mazes()
        recordings = [player.play(seed) for seed in SEEDS]
        reached = [each for each in recordings if each.ending == "goal"]
        assert len(reached) >= 11
        assert all(each.score == 200 for each in reached)
        assert all(each.taught_until == each.training_frames for each in reached)
        assert sum(open_loop(seed) == 200 for seed in SEEDS) <= 3

    def test_equal_seeds_give_equal_recordings(self):
        player = mazes()
        first, second = player.play(SEEDS[0]), player.play(SEEDS[1])
        assert first != second
        assert player.play(SEEDS[0]) == first, "whatever was played before"
        assert mazes().play(SEEDS[1]) == second

    def test_it_plays_bit_by_bit(self):
        *before, last = mazes().episode(SEEDS[0])
        assert before == [None] * last.training_frames
        assert last == mazes().play(SEEDS[0])

    def test_what_was_played_has_sticky_actions_and_what_was_chosen_has_none(self):
        recording = mazes().play(SEEDS[0])
        assert len(recording.played) == len(recording.chosen) == recording.training_frames
        pairs = list(zip(recording.played, recording.chosen, strict=True))
        stuck = [step for step, (played, chosen) in enumerate(pairs) if played != chosen]
        assert 0 < len(stuck) < 0.4 * len(pairs)
        assert all(recording.played[step] == (recording.played[step - 1] if step else 0) for step in stuck)

    def test_without_sticky_actions_it_follows_the_demonstration(self):
        recording = mazes(repeat_action_probability=0.0, no_ops=0).play(7)
        assert (recording.ending, recording.no_ops, recording.score) == ("goal", 0, 200)
        assert recording.played == recording.chosen
        assert recording.training_frames <= len(ACTIONS)

    def test_of_several_demonstrations_any_will_do(self):
        waiting = demonstrate(bytes(10) + ACTIONS)
        recording = mazes(waiting, demonstrate()).play(SEEDS[0])
        assert (recording.ending, recording.score) == ("goal", 200)

    def test_it_counts_what_it_tried_out(self):
        player = mazes()
        recordings = [player.play(seed) for seed in SEEDS[:2]]
        assert all(each.simulated >= QUICK.horizon * QUICK.tries for each in recordings)
        assert sum(each.simulated for each in recordings) == player.expert.simulator.played

    def test_a_demonstration_that_does_not_replay_is_refused(self):
        tampered = dataclasses.replace(demonstrate(), actions=bytes([1]) + ACTIONS[1:])
        with pytest.raises(DemonstrationError, match="it does not replay"):
            mazes(tampered)


def test_on_montezuma_it_gets_the_key():
    demonstration = first_key()
    player = ExpertPlayer([demonstration], ExpertConfig(tries=4), native(demonstration.env), DefaultCells())
    recordings = [player.play(seed) for seed in SEEDS[:3]]
    reached = [each for each in recordings if each.ending == "goal"]
    assert len(reached) >= 2
    assert all(each.score == 100 for each in reached)
    assert all(len(each.played) == 4 * each.training_frames for each in recordings)
    assert all(0 <= each.no_ops <= 30 for each in recordings)


class Watched:
    """A simulator that remembers the plans."""

    def __init__(self, simulator):
        self._simulator, self.plans = simulator, []

    @property
    def played(self):
        return self._simulator.played

    def judge(self, situation, plans, streams):
        self.plans += plans
        return self._simulator.judge(situation, plans, streams)


class TestNoOps:
    """Nothing can be done only where there is an action for it."""

    def play(self, player, episodes=3):
        """Return all plans, and the decisions of some episodes."""
        expert = player.expert
        expert.simulator = watched = Watched(expert.simulator)
        decisions, decide = [], expert.decide

        def remember(situation):
            decisions.append(decide(situation))
            return decisions[-1]

        expert.decide = remember
        for seed in SEEDS[:episodes]:
            player.play(seed)
        assert all(isinstance(each, Decision) for each in decisions)
        return watched.plans, {each.kind for each in decisions}

    def test_without_one_there_is_no_waiting(self):
        spec = FactorySpec(Field)
        past_the_pit = bytes([2] * 3 + [0] * 2 + [2] + [0] * 9 + [2] * 7)
        demonstration = demonstrate(past_the_pit, Field)
        plans, kinds = self.play(ExpertPlayer([demonstration], QUICK, spec, DefaultCells()))
        assert "try" in kinds, "a step to the right that sticks leads into the pit"
        assert not kinds & {"wait", "go"}
        assert {(plan.delay, plan.stop) for plan in plans} == {(0, FOREVER)}

    def test_with_one_there_is(self):
        plans, _ = self.play(mazes())
        assert any(plan.delay for plan in plans)
        assert any(plan.stop != FOREVER for plan in plans)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("horizon", 0),
        ("ceiling", 0),
        ("tries", 0),
        ("commitment", -1),
        ("random_plans", -1),
        ("survival", -1),
    ],
)
def test_impossible_settings_are_refused(setting, value):
    with pytest.raises(ConfigError, match=f"expected `{setting}`"):
        ExpertConfig(**{setting: value})
