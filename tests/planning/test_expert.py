"""The expert plays stochastic games: it reaches what demonstrations reach, where replaying them does not."""

import dataclasses
from itertools import chain, repeat

import pytest

from goexplore.errors import ConfigError, DemonstrationError
from goexplore.games.two_mazes import TWO_MAZES
from goexplore.planning import (
    FOLLOW,
    Decision,
    Expert,
    ExpertConfig,
    ExpertPlayer,
    Judgement,
    Place,
    Plan,
    Reference,
    Situation,
    Tracker,
    Trajectory,
    guide,
)
from goexplore.planning._simulator import FOREVER
from goexplore.play import GameState, StochasticGame
from goexplore.problems import DefaultCells, FactorySpec
from goexplore.random import SplitMix64, stream_state
from tests.fields import Field
from tests.training.mazes import ACTIONS, demonstrate, first_key, native

QUICK = ExpertConfig(horizon=12, tries=2, random_plans=4, search=0)
SEEDS = [stream_state(0, number) for number in range(12)]


def mazes(*demonstrations, config=QUICK, no_ops=30, **settings):
    make = guide(demonstrations or [demonstrate()], TWO_MAZES.env, TWO_MAZES.cells, **settings)
    return ExpertPlayer(make, config, no_ops=no_ops)


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
    make = guide([demonstration], native(demonstration.env), DefaultCells())
    player = ExpertPlayer(make, ExpertConfig(tries=4))
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
        plans, kinds = self.play(ExpertPlayer(guide([demonstration], spec, DefaultCells()), QUICK))
        assert "try" in kinds, "a step to the right that sticks leads into the pit"
        assert not kinds & {"wait", "go"}
        assert {(plan.delay, plan.stop) for plan in plans} == {(0, FOREVER)}

    def test_with_one_there_is(self):
        plans, _ = self.play(mazes())
        assert any(plan.delay for plan in plans)
        assert any(plan.stop != FOREVER for plan in plans)


class TestEndings:
    """Episodes of an expert that has been told what to do."""

    def play(self, player, *actions):
        told = chain(actions, repeat(0))
        judgement = Judgement(1.0, 0.0)
        player.expert.decide = lambda situation: Decision(next(told), "try", judgement)
        return player.play(SEEDS[0])

    def test_stuck_without_progress(self):
        """The demonstration itself takes two training frames to leave the first cell."""
        recording = self.play(mazes(repeat_action_probability=0.0, no_ops=0))
        assert recording.ending == "stuck"
        assert recording.taught_until <= 2
        assert recording.training_frames == recording.taught_until + 300

    def test_progress_before_that_is_to_be_learnt(self):
        recording = self.play(mazes(repeat_action_probability=0.0, no_ops=0), *ACTIONS[:40])
        assert recording.ending == "stuck"
        assert 38 <= recording.taught_until <= 42
        assert recording.training_frames == recording.taught_until + 300

    def test_game_over_where_the_episode_ends(self):
        around = demonstrate(bytes([2] * 7 + [0] * 60), Field)
        player = ExpertPlayer(
            guide([around], FactorySpec(Field), DefaultCells(), repeat_action_probability=0.0), QUICK
        )
        recording = self.play(player, *[2] * 7, *[0] * 60, *[3] * 4, *[1] * 8)
        assert (recording.ending, recording.training_frames) == ("goal", 67)
        recording = self.play(player, *[2, 3] * 30, *[2] * 3, *[0] * 3)
        assert (recording.ending, recording.training_frames) == ("game over", 66)
        assert recording.taught_until == 66 - QUICK.horizon, "what led there is not to be learnt"
        assert max(recording.lessons()) < 20, "nor what it did in between, without getting on"

    def test_death_where_a_life_is_lost(self):
        demonstration = first_key()
        make = guide([demonstration], native(demonstration.env), DefaultCells())
        recording = self.play(ExpertPlayer(make, QUICK), *[0] * 60, *[3] * 15)
        assert recording.ending == "death"
        assert recording.taught_until == recording.training_frames - QUICK.horizon


class Told:
    """A simulator that knows what comes of plans; it remembers how many it was asked for."""

    played = 0

    def __init__(self, others, **known):
        self.others, self.known, self.asked = others, known, []

    def judge(self, situation, plans, streams):
        self.asked.append(len(plans))
        names = {FOLLOW: "follow", Plan(0, 0): "stay"}
        return [self.known.get(names.get(plan), self.others) for plan in plans]


class TestSearches:
    """When the expert searches, and when it goes on without asking."""

    SAFE, LOST = Judgement(1.0, 0.0), Judgement(0.0, 0.0)

    def decide(self, simulator, count, config=QUICK, before=lambda number: None, row=20):
        """Return decisions, and the numbers of those for which many plans were tried, or any."""
        places = [Place("room", (3 * step,)) for step in range(200)]
        reference = Reference([Trajectory(bytes([2] * 199), [0.0] * 199, places)])
        expert = Expert(reference, simulator, config, action_count=5, no_op=0)
        situation = Situation(GameState(b"", None), b"", 0.0, Tracker(row))
        decisions, searched, asked = [], [], []
        for number in range(count):
            simulator.asked = []
            before(number)
            decisions.append(expert.decide(situation))
            if max(simulator.asked, default=0) > 1:
                searched.append(number)
            if simulator.asked:
                asked.append(number)
        return decisions, searched, asked

    def test_where_nothing_was_better_it_searches_less_and_less_often(self):
        decisions, searched, asked = self.decide(Told(self.SAFE), 40)
        assert searched == [0, 2, 6, 14, 22, 30, 38]
        assert asked == list(range(40)), "that it is safe to follow is seen every time"
        assert {each.kind for each in decisions} == {"follow"}

    def test_but_at_once_where_there_is_danger(self):
        simulator = Told(self.LOST)

        def before(number):
            simulator.known["follow"] = self.LOST if number == 4 else self.SAFE

        _, searched, _ = self.decide(simulator, 8, before=before)
        assert searched == [0, 2, 4, 5, 7]

    @pytest.mark.parametrize("left", [30, 1])
    def test_a_plan_that_leads_to_the_goal_is_taken(self, left):
        """Where following the demonstration leads nowhere, and nothing is dangerous."""
        simulator = Told(self.SAFE)
        going = Plan(sequence=bytes([4] * 6))
        judge = simulator.judge

        def reach(situation, plans, streams):
            gained = Judgement(1.0, 0.9 * min(left, QUICK.ceiling))
            judged = judge(situation, plans, streams)
            return [gained if plan == going else each for plan, each in zip(plans, judged, strict=True)]

        simulator.judge = reach
        (decision,), _, _ = self.decide(simulator, 1, row=199 - left)
        assert (decision.action, decision.kind) == (4, "try")

    @pytest.mark.parametrize("plans", [12, 40, 100])
    def test_few_plans_are_of_all_kinds(self, plans):
        """To wait, then to follow to the end, is what gets through most doors."""
        simulator, tried = Told(self.SAFE), []
        judge = simulator.judge

        def look(situation, plans, streams):
            tried.append(list(plans))
            return judge(situation, plans, streams)

        simulator.judge = look
        self.decide(simulator, 1, dataclasses.replace(QUICK, plans=plans))
        pool = next(each[2:] for each in tried if len(each) > 2)
        assert len(pool) == min(plans, 57)
        assert sum(each.delay > 0 and each.stop == FOREVER for each in pool) >= 3
        assert any(each.stop < FOREVER for each in pool)
        assert any(each.sequence for each in pool)

    @pytest.mark.parametrize("commitment", [0, 2, 5])
    def test_where_nothing_can_be_done_it_stays_for_a_while(self, commitment):
        simulator = Told(self.LOST, stay=self.SAFE)
        config = dataclasses.replace(QUICK, commitment=commitment)
        decisions, _, asked = self.decide(simulator, 3 * (commitment + 1), config)
        assert asked == [0, commitment + 1, 2 * (commitment + 1)]
        assert {(each.action, each.kind) for each in decisions} == {(0, "wait")}

    @pytest.mark.parametrize("commitment", [0, 2, 5])
    def test_what_is_safe_and_leads_on_is_followed_for_a_while(self, commitment):
        simulator = Told(self.LOST, follow=Judgement(1.0, 10.0))
        config = dataclasses.replace(QUICK, commitment=commitment)
        decisions, searched, asked = self.decide(simulator, 3 * (commitment + 1), config)
        assert asked == [0, commitment + 1, 2 * (commitment + 1)]
        assert not searched
        assert {(each.action, each.kind) for each in decisions} == {(2, "follow")}


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("horizon", 0),
        ("ceiling", 0),
        ("tries", 0),
        ("commitment", -1),
        ("random_plans", -1),
        ("survival", -1),
        ("horizon", 10**9),
        ("tries", 10**9),
        ("plans", 10**9),
        ("search", 10**9),
    ],
)
def test_impossible_settings_are_refused(setting, value):
    with pytest.raises(ConfigError, match=f"expected `{setting}`"):
        ExpertConfig(**{setting: value})
