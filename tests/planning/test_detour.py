"""Detours: where no plan leads on, a short search finds a way, and the expert takes it."""

import dataclasses
from itertools import chain, repeat
from types import SimpleNamespace

import numpy as np
import pytest

from goexplore.envs import Environment, Step
from goexplore.errors import EngineError
from goexplore.planning import Decision, ExpertConfig, ExpertPlayer, Judgement, Trajectory, guide
from goexplore.planning import _episode as episode
from goexplore.planning._detour import _cell_of as cell_of
from goexplore.planning._detour import find_detour
from goexplore.planning._places import VectorPlaces
from goexplore.problems import DefaultCells, FactorySpec
from goexplore.random import SplitMix64
from tests.fields import Field
from tests.generators import result_of
from tests.training.mazes import demonstrate, first_key, native

RIGHT, LEFT, DOWN, UP = 0, 1, 2, 3
ALONG = bytes([RIGHT] * 11)
SHORT = ExpertConfig(horizon=6, tries=2, plans=4, random_plans=0, search=3000)


def field(actions, repeat=0.0, env=Field):
    spec = FactorySpec(env)
    return guide([demonstrate(actions, env)], spec, DefaultCells(), repeat_action_probability=repeat)


class Bog(Field):
    """After a while, whoever steps on the fifth place of the first row sinks, and dies 20 steps later."""

    deep = (4, 0)

    def reset(self):
        super().reset()
        self.steps = self.sinking = 0

    def step(self, action):
        self.steps += 1
        if self.sinking:
            self.sinking += 1
            return Step(0.0, terminated=self.sinking > 20)
        step = super().step(action)
        self.sinking = int((self.x, self.y) == self.deep and self.steps > len(ALONG))
        return step

    def snapshot(self):
        return super().snapshot() + bytes([self.steps, self.sinking])

    def restore(self, snapshot):
        super().restore(snapshot[:3])
        self.steps, self.sinking = snapshot[3:]


class Numbers(Environment):
    """An observation of many numbers, of which the action decides the first."""

    action_count, numbers = 3, 2

    def reset(self):
        self.first = 0.0

    def step(self, action):
        self.first = float(action)
        return Step(0.0)

    def observation(self):
        return np.array([self.first, *[0.0] * (self.numbers - 1)])

    def snapshot(self):
        return bytes([int(self.first)])

    def restore(self, snapshot):
        self.first = float(snapshot[0])


@pytest.mark.parametrize("count", [2, 17, 400])
def test_with_many_numbers_as_with_few_a_deviation_of_one_makes_another_cell(count):
    env = type("Numbers", (Numbers,), {"numbers": count})()
    places, cells = VectorPlaces(env, np.ones(count)), []
    for action in (0, 1, 2):
        env.reset()
        env.step(action)
        cells.append(cell_of(SimpleNamespace(place=places.update, score=0.0)))
    assert len(set(cells)) == 3


class TestFindDetour:
    def astray(self, env=Field):
        """Return a game that should be in the second row, and is far below it."""
        game = field(ALONG, env=env)()
        game.reset()
        for action in (RIGHT, *[DOWN] * 9):
            game.step(action, None)
        assert game.progress == 1
        return game

    def test_the_way_leads_to_further_progress(self):
        game = self.astray()
        begin = game.situation()
        way, spent = result_of(find_detour(game, begin, SplitMix64(0), beyond=1, budget=5000, safe=30))
        assert len(way.actions) < spent <= 5000
        game.restore(begin)
        for action in way.actions:
            assert game.progress <= 1
            assert not game.step(action, None).ended
        assert game.progress > 1
        assert game.place() == way.places[-1]
        assert len(way.places) == len(way.rewards) + 1 == len(way.actions) + 1

    def test_it_may_have_to_be_more_than_a_little(self):
        way, _ = result_of(find_detour(*self.from_here(), SplitMix64(0), beyond=6, budget=20_000, safe=30))
        assert way.places[-1].key == b"(7, 0)"

    def from_here(self):
        game = self.astray()
        return game, game.situation()

    def test_one_seed_gives_one_way(self):
        ways = [
            result_of(find_detour(*self.from_here(), SplitMix64(3), beyond=1, budget=5000, safe=30))
            for _ in range(2)
        ]
        assert ways[0] == ways[1]
        assert (
            result_of(find_detour(*self.from_here(), SplitMix64(4), beyond=1, budget=5000, safe=30))
            != ways[0]
        )

    @pytest.mark.parametrize(("safe", "is_fooled"), [(5, True), (30, False)])
    def test_a_slow_death_is_no_way_on(self, safe, is_fooled):
        ways = []
        for seed in range(6):
            game = self.astray(Bog)
            ways.append(
                result_of(
                    find_detour(game, game.situation(), SplitMix64(seed), beyond=3, budget=20_000, safe=safe)
                )[0]
            )
        assert any(way.places[-1].key == b"(4, 0)" for way in ways if way is not None) is is_fooled
        assert any(way is not None for way in ways)

    def test_there_may_be_none(self):
        way, spent = result_of(find_detour(*self.from_here(), SplitMix64(0), beyond=11, budget=2000, safe=30))
        assert way is None
        assert 2000 <= spent < 2100

    def test_an_engine_that_cannot_go_on_finds_none(self, monkeypatch):
        game, begin = self.from_here()

        def fail(action, random):
            raise EngineError("expected an opcode that is known, got another")

        monkeypatch.setattr(game, "step", fail)
        assert result_of(find_detour(game, begin, SplitMix64(0), beyond=1, budget=50, safe=30)) == (None, 50)

    def test_a_treasure_may_have_to_be_fetched_first(self):
        """The way back is over the same places, with more points."""
        game = field(bytes([RIGHT] * 5 + [LEFT] * 5))()
        game.reset()
        way, _ = result_of(
            find_detour(game, game.situation(), SplitMix64(1), beyond=8, budget=20_000, safe=30)
        )
        assert sum(way.rewards) == 10.0
        assert way.places[-1].key == b"(1, 0)"

    def test_on_the_native_engine_it_is_a_way_to_the_rope(self):
        """From the start of Montezuma's Revenge: over the gap, or down the ladder and over the belt."""
        demonstration = first_key()
        game = guide([demonstration], native(demonstration.env), DefaultCells())()
        game.reset()
        begin = game.situation()
        way, _ = result_of(find_detour(game, begin, SplitMix64(0), beyond=8, budget=50_000, safe=30))
        game.restore(begin)
        for action in way.actions:
            assert not game.step(action, None).lost_life
        assert game.progress > 8
        assert game.place().position == way.places[-1].position


def found(game, actions):
    """Return a search that finds these actions."""
    places, rewards = [game.place()], []
    for action in actions:
        rewards.append(game.step(action, None).reward)
        places.append(game.place())
    yield
    return Trajectory(actions, rewards, places), 0


class TestExpert:
    """An expert that does nothing by itself, on a way of five steps."""

    def play(self, config, repeat=0.0):
        player = ExpertPlayer(field(bytes([RIGHT] * 5), repeat), config)
        nothing = Decision(LEFT, "wait", Judgement(1.0, 0.0))
        player.expert.decide = lambda situation: nothing
        return player.play(5)

    @pytest.mark.parametrize("sticky", [0.0, 0.25])
    def test_it_takes_the_detours(self, sticky):
        recording = self.play(SHORT, sticky)
        assert recording.ending == "goal"
        assert recording.score >= 10.0
        assert 5 < recording.simulated < 5 * SHORT.search

    def test_a_long_way_is_gone_to_its_end(self, monkeypatch):
        """Progress comes only at its end, after longer than it takes for a search to begin."""
        player = ExpertPlayer(field(bytes([RIGHT] * 5)), SHORT)
        nothing = Decision(LEFT, "wait", Judgement(1.0, 0.0))
        player.expert.decide = lambda situation: nothing
        long, searches = bytes([DOWN] * 10 + [DOWN, UP] * 60 + [UP] * 10 + [RIGHT] * 5), []

        def find(game, begin, random, **options):
            searches.append(game)
            game.restore(begin)
            return found(game, long)

        monkeypatch.setattr(episode, "find_detour", find)
        recording = player.play(5)
        assert (recording.ending, len(searches)) == ("goal", 1)

    def test_what_was_played_on_a_way_that_was_given_up_is_not_to_be_learnt(self, monkeypatch):
        """The way leads down and up again, but the expert stays below; later it goes on by itself."""
        player = ExpertPlayer(field(bytes([RIGHT] * 5)), SHORT)
        by_itself = chain([LEFT] * 80, [UP], repeat(RIGHT))
        on_the_way = chain([DOWN], repeat(LEFT))
        player.expert.decide = lambda situation: Decision(next(by_itself), "", Judgement(1.0, 0.0))
        down = Decision(LEFT, "wait", Judgement(1.0, 0.0))
        monkeypatch.setattr(episode._Detour, "decide", lambda detour: down._replace(action=next(on_the_way)))

        def find(game, begin, random, **options):
            game.restore(begin)
            return found(game, bytes([DOWN, DOWN, UP, UP, *[RIGHT] * 5]))

        monkeypatch.setattr(episode, "find_detour", find)
        recording = player.play(5)
        given_up, went_on = 121, 142
        ((_, until),) = recording.stuck
        assert given_up < until < went_on

    def test_without_a_search_it_is_stuck(self):
        recording = self.play(dataclasses.replace(SHORT, search=0))
        assert (recording.ending, recording.training_frames) == ("stuck", 300)

    def test_equal_seeds_give_equal_recordings(self):
        assert self.play(SHORT, 0.25) == self.play(SHORT, 0.25)
