"""Plans tried out: what the native simulator says is what the reference says, to the last bit."""

import numpy as np
import pytest

from goexplore.demos import find_demonstrations
from goexplore.envs import NativeAtariEnv
from goexplore.errors import EngineError
from goexplore.games.two_mazes import TWO_MAZES
from goexplore.planning import (
    FOLLOW,
    Judgement,
    MemoryPlaces,
    NativeSimulator,
    Plan,
    PythonSimulator,
    guide,
    make_simulator,
)
from goexplore.planning._simulator import FOREVER
from goexplore.problems import DefaultCells
from goexplore.random import SplitMix64
from tests.training.mazes import demonstrate

HORIZON, CEILING = 30, 20


class Games:
    """Guided games of one or several demonstrations on the native engine."""

    def __init__(self, *names, repeat=0.25, deficit=0.0):
        self.demonstrations = [each for name in names for each in find_demonstrations(name, verify=False)]
        env = self.demonstrations[0].env.with_engine("native").env
        self.make = guide(
            self.demonstrations, env, DefaultCells(), repeat_action_probability=repeat, deficit=deficit
        )
        self.reference = self.make().reference

    def simulators(self, horizon=HORIZON, ceiling=CEILING):
        native = make_simulator(self.make(), horizon=horizon, ceiling=ceiling)
        game = self.make()
        game._planner = None  # so that nothing but the engine is native
        return native, PythonSimulator(game, horizon=horizon, ceiling=ceiling)


def random_plans(random, count, actions):
    """Return plans of all kinds: delays, stops, sequences, and several of these together."""

    def one():
        delay = random.index(8) if random.happens(0.5) else 0
        stop = random.index(HORIZON) if random.happens(0.5) else FOREVER
        length = random.index(10) if random.happens(0.5) else 0
        return Plan(delay, stop, bytes(random.index(actions) for _ in range(length)))

    return [FOLLOW, Plan(0, 0), *(one() for _ in range(count))]


GAMES = {
    "the first key": Games("montezuma-first-key-00"),
    "several ways to the key": Games("montezuma-first-key-00", "montezuma-first-key-01", repeat=0.5),
    "three rooms": Games("pitfall-three-rooms-right"),
    "points behind": Games("pitfall-three-rooms-right", deficit=250.0),
}


@pytest.mark.parametrize("name", GAMES)
def test_the_native_simulator_says_what_the_reference_says(name):
    games = GAMES[name]
    native, python = games.simulators()
    assert isinstance(native, NativeSimulator)
    assert MemoryPlaces.are_known(games.make().game.env)
    game, random = games.make(), SplitMix64(5)
    actions = games.demonstrations[0].actions
    seen = []
    game.reset(7)
    for step in range(len(actions)):
        if step % (len(actions) // 8) == 3:
            situation = game.situation()
            plans, streams = random_plans(random, 12, game.game.action_count), random.words(3)
            judged = native.judge(situation, plans, streams)
            assert judged == python.judge(situation, plans, streams)
            assert native.played == python.played
            seen += judged
        played = game.step(game.reference.action(game.tracker), random)
        if played.lost_life or played.ended:
            game.reset(step % 30)
    assert {judgement.survival for judgement in seen} >= {0.0, 1.0}, "lives were lost, and were not"
    assert len({judgement.gain for judgement in seen}) > 20


def test_they_agree_where_levels_begin():
    """There gains begin anew, and a game may have won none of the treasures before."""
    games = Games("montezuma-three-levels")
    native, python = games.simulators()
    (_, second, third), game = games.reference.stretches, games.make()
    random, judged = SplitMix64(9), []
    game.reset()
    for step, action in enumerate(games.demonstrations[0].actions[: third.rows.start + 40]):
        if step in {begin + shift for begin in (second.rows.start, third.rows.start) for shift in (-6, 25)}:
            plans, streams = random_plans(random, 6, game.game.action_count), random.words(2)
            situation, tracker = game.situation(), game.tracker
            for won in (tracker.won, bytes(len(tracker.won))):
                situation = situation._replace(tracker=tracker._replace(won=won))
                judged += native.judge(situation, plans, streams)
                assert judged[-len(plans) :] == python.judge(situation, plans, streams)
        game.step(action, None)
    assert len({judgement.gain for judgement in judged}) > 10


def test_a_life_that_a_level_brings_makes_up_for_no_lost_one():
    """Montezuma's Revenge gives a life for a level. Who dies soon after that has died all the same."""
    games = Games("montezuma-three-levels", repeat=0.0)
    game, last = games.make(), games.demonstrations[0].actions[1738:1743]
    game.reset()
    for action in games.demonstrations[0].actions[:1738]:
        game.step(action, None)
    situation, lives = game.situation(), game.game.lives
    for action in last:
        game.step(action, None)
    assert game.game.lives == lives + 1
    at_the_beginning, random = game.situation(), SplitMix64(0)
    deadly: list[int] = []
    while not deadly:  # random play in the first room of the next level, until a life is lost
        game.restore(at_the_beginning)
        tried, action = [], 0
        for step in range(300):
            if step == 0 or random.happens(0.1):
                action = random.index(18)
            tried.append(action)
            if game.step(action, None).lost_life:
                deadly = tried
                break
    assert game.game.lives == lives
    plan = Plan(sequence=bytes([*last, *deadly]))
    for simulator in games.simulators(horizon=len(last) + len(deadly) + 2):
        assert simulator.judge(situation, [plan], random.words(2)) == [Judgement(0.0, 0.0)]


def test_they_agree_at_the_end_of_a_demonstration():
    """The goal ends a try: what is left of the horizon counts as spent there."""
    games = GAMES["the first key"]
    native, python = games.simulators()
    game = games.make()
    game.reset()
    for action in games.demonstrations[0].actions[:-8]:
        game.step(action, None)
    plans, streams = [FOLLOW, Plan(3), Plan(20), Plan(0, 2), Plan(HORIZON)], SplitMix64(0).words(8)
    judged = native.judge(game.situation(), plans, streams)
    assert judged == python.judge(game.situation(), plans, streams)
    assert judged[0].survival == 1.0
    assert judged[0].gain > judged[1].gain > judged[2].gain > judged[4].gain == 0.0


def test_without_sticky_actions_following_is_replaying():
    games = Games("montezuma-first-key-00", repeat=0.0)
    native, python = games.simulators(horizon=20, ceiling=100)
    game = games.make()
    game.reset()
    streams = SplitMix64(0).words(2)
    for action in games.demonstrations[0].actions[:15]:
        game.step(action, None)
    replayed = Plan(sequence=games.demonstrations[0].actions[15:35])
    follow, replay = native.judge(game.situation(), [FOLLOW, replayed], streams)
    assert [follow, replay] == python.judge(game.situation(), [FOLLOW, replayed], streams)
    assert replay.survival == 1.0
    assert replay.gain > 5


@pytest.mark.parametrize("kind", ["native", "python"])
def test_judging_changes_no_game(kind):
    games = GAMES["the first key"]
    simulator = games.simulators()[kind == "python"]
    game = games.make()
    game.reset(3)
    for _ in range(20):
        game.step(game.reference.action(game.tracker), SplitMix64(1))
    situation, streams = game.situation(), SplitMix64(2).words(4)
    once = simulator.judge(situation, [FOLLOW, Plan(4)], streams)
    assert simulator.judge(situation, [Plan(4), FOLLOW], streams) == once[::-1], "plans do not affect others"
    assert game.situation() == situation


class TestPlans:
    def actions(self, plan, steps=8):
        return [plan.action(step, no_op=0) for step in range(steps)]

    def test_wait_then_a_sequence_then_the_demonstration_then_stop(self):
        assert self.actions(Plan(2, 4, bytes([7, 8]))) == [0, 0, 7, 8, None, None, 0, 0]
        assert self.actions(FOLLOW) == [None] * 8
        assert self.actions(Plan(0, 0)) == [0] * 8
        assert self.actions(Plan(0, 1, bytes([7, 8]))) == [7, *[0] * 7]

    @pytest.mark.parametrize(
        "plan",
        [FOLLOW, Plan(0, 0), Plan(3), Plan(2, 4, bytes([7, 8])), Plan(0, 3, bytes(6)), Plan(1, 2)],
    )
    def test_what_is_left_of_a_plan_is_its_rest(self, plan):
        actions, later = self.actions(plan, 12), plan
        for done in range(6):
            assert self.actions(later, 12 - done) == actions[done:]
            later = later.later()


class TestAnyEnvironment:
    """Cells tell the places of the two mazes apart."""

    @pytest.fixture
    def make(self):
        return guide([demonstrate()], TWO_MAZES.env, TWO_MAZES.cells)

    def test_it_is_judged_by_the_reference_simulator(self, make):
        simulator = make_simulator(make(), horizon=10, ceiling=60)
        assert isinstance(simulator, PythonSimulator)
        game = make()
        game.reset()
        follow, stay = simulator.judge(game.situation(), [FOLLOW, Plan(0, 0)], SplitMix64(0).words(6))
        assert stay.survival == 1.0
        assert stay.gain == pytest.approx((1 + 9 * 2) / 10), "the demonstration walks against walls twice"
        assert follow.survival == 1.0
        assert follow.gain > 2
        assert simulator.played == 2 * 6 * 10

    def test_the_end_of_an_episode_before_the_goal_is_no_survival(self, make):
        """Their time limit is 400 game frames."""
        game = make()
        game.reset()
        for _ in range(395):
            game.step(0, None)
        simulator = make_simulator(make(), horizon=10, ceiling=60)
        (judged,) = simulator.judge(game.situation(), [FOLLOW], np.array([1, 2], np.uint64))
        assert judged == Judgement(0.0, 0.0)

    def test_so_is_an_engine_that_cannot_go_on(self, make, monkeypatch):
        """For any other game on the native engine; one try must not end a training."""
        game = make()
        game.reset()
        situation = game.situation()

        def fail(action, random):
            raise EngineError("expected an opcode that is known, got another")

        monkeypatch.setattr(game, "step", fail)
        simulator = make_simulator(game, horizon=10, ceiling=60)
        (judged,) = simulator.judge(situation, [FOLLOW], SplitMix64(0).words(2))
        assert (judged, simulator.played) == (Judgement(0.0, 0.0), 2)


def test_the_native_environment_is_what_memory_places_need():
    assert isinstance(GAMES["the first key"].make().game.env, NativeAtariEnv)
