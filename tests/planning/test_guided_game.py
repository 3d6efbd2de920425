"""Games that know where in demonstrations they are: their places, and the native engine's own tracking."""

import dataclasses
import itertools

import numpy as np
import pytest

from goexplore.demos import find_demonstrations
from goexplore.envs import Environment, Step
from goexplore.errors import DemonstrationError
from goexplore.games import AtariGame
from goexplore.games.two_mazes import TWO_MAZES
from goexplore.planning import MemoryPlaces, Place, Tracker, choose_places, guide
from goexplore.planning._places import CellPlaces, VectorPlaces
from goexplore.problems import DefaultCells, FactorySpec, FunctionCellsSpec
from goexplore.random import SplitMix64
from tests.fields import Field
from tests.training.driving import WAY, Driving
from tests.training.mazes import ACTIONS, demonstrate, first_key, native

DRIVING = FactorySpec(Driving)


def places_of(demonstration, env, cells=None):
    """Return the places of an environment, and the environment at its start."""
    made = env()
    made.reset()
    return choose_places([demonstration], env, cells or DefaultCells())(made), made


class TestPlaces:
    def test_memory_where_it_is_known(self):
        demonstration = first_key()
        places, env = places_of(demonstration, native(demonstration.env))
        assert isinstance(places, MemoryPlaces)
        start = places.reset()
        assert start.key == (0, 1), "level and room"
        assert len(start.position) == 3
        for _ in range(6):
            env.step(3)
        assert places.update().position[0] > start.position[0], "to the right"

    def test_jumping_is_elsewhere(self):
        """What is done in the air is not what is done on the ground."""
        demonstration = first_key()
        game = guide([demonstration], native(demonstration.env), DefaultCells())()
        postures = {row.place.position[2] for row in game.reference.rows}
        assert postures == {0, 9}

    def test_cells_elsewhere(self):
        places, env = places_of(demonstrate(), TWO_MAZES.env, TWO_MAZES.cells)
        assert isinstance(places, CellPlaces)
        first = places.reset()
        assert first.position == ()
        for action in ACTIONS[:8]:
            env.step(action)
        assert places.update().key != first.key

    def test_cells_may_be_the_observation_itself(self):
        places, _ = places_of(demonstrate(bytes([2]), Field), FactorySpec(Field))
        assert isinstance(places, CellPlaces)

    def test_real_numbers_are_positions(self):
        """Each is measured by how much it varies; what never changes says nothing."""
        places, env = places_of(demonstrate(WAY, Driving), DRIVING)
        assert isinstance(places, VectorPlaces)
        assert places.reset() == Place((), (0, 0, 0))
        ways = []
        for action in WAY:
            env.step(action)
            ways.append(places.update().position)
        along = np.array([(0, 0, 0), *ways])
        np.testing.assert_allclose(along.std(axis=0), [20, 20, 0], atol=0.5)
        assert (np.diff(along[:, 0]) > 0).all()

    def test_cells_of_a_user_are_preferred_to_these(self):
        cells = FunctionCellsSpec(by_metre)
        places, _ = places_of(demonstrate(WAY, Driving), DRIVING, cells)
        assert isinstance(places, CellPlaces)


def by_metre(observation):
    return int(observation["place"])


class TestGuide:
    def test_a_demonstration_that_does_not_replay_is_refused(self):
        tampered = dataclasses.replace(demonstrate(), actions=bytes([1]) + ACTIONS[1:])
        with pytest.raises(DemonstrationError, match="it does not replay"):
            guide([tampered], TWO_MAZES.env, TWO_MAZES.cells)

    @pytest.mark.parametrize(
        ("demonstration", "env", "cells"),
        [
            (demonstrate(), TWO_MAZES.env, TWO_MAZES.cells),
            (demonstrate(WAY, Driving), DRIVING, DefaultCells()),
            (first_key(), native(first_key().env), DefaultCells()),
            (first_key(), AtariGame(game="montezuma_revenge"), DefaultCells()),
        ],
        ids=["cells", "vectors", "native memory", "memory of ale-py"],
    )
    def test_who_plays_the_demonstration_comes_to_its_end(self, demonstration, env, cells):
        game = guide([demonstration], env, cells)()
        game.reset()
        assert game.progress < 0.2 * game.reference.goal
        for action in demonstration.actions:
            assert not game.reference.is_at_the_end(game.tracker)
            game.step(action, None)
        assert game.reference.is_at_the_end(game.tracker)
        assert game.progress == game.reference.goal == len(demonstration.actions)
        assert game.score == demonstration.score

    @pytest.mark.parametrize("name", ["cells", "native"])
    def test_a_situation_is_everything(self, name):
        """What comes after it is the same again, whatever was played in between."""
        demonstration = demonstrate() if name == "cells" else first_key()
        env, cells = (TWO_MAZES.env, TWO_MAZES.cells) if name == "cells" else (native(first_key().env), None)
        game = guide([demonstration], env, cells or DefaultCells())()
        game.reset(5)
        for action in demonstration.actions[:15]:
            game.step(action, None)
        situation, seen = game.situation(), []
        for _ in range(2):
            random = SplitMix64(3)
            played = [game.play(action, random) for action in demonstration.actions[15:40]]
            seen.append((played, game.situation()))
            game.restore(situation)
        assert seen[0] == seen[1]
        assert seen[0][1] != situation


class Waves(Environment):
    """A walk along waves: observations of many numbers, all a little beside those of the demonstration."""

    action_count = 2
    aside = 0.0
    """In standard deviations, as far as the numbers go."""

    def reset(self):
        self.steps = 0

    def step(self, action):
        self.steps += action
        return Step(0.0, terminated=self.steps >= 60)

    def observation(self):
        numbers = np.arange(self.numbers)
        return np.sin(self.steps / 10 + 1.7 * numbers) + 0.7 * self.aside * np.cos(3.1 * numbers)

    def snapshot(self):
        return bytes([self.steps])

    def restore(self, snapshot):
        (self.steps,) = snapshot


class TestVectors:
    @pytest.mark.parametrize("numbers", [2, 8, 17, 60, 376, 2000])
    def test_what_is_near_with_few_numbers_is_near_with_many(self, numbers, monkeypatch):
        monkeypatch.setattr(Waves, "numbers", numbers, raising=False)
        demonstration = demonstrate(bytes([1] * 60), Waves)
        progress = {}
        for aside in (0.0, 0.1, 3.0):
            game = guide([demonstration], FactorySpec(Waves), DefaultCells())()
            game.game.env.aside = aside
            game.reset()
            game.step(0, None)
            assert game.progress < 10, "it stands still"
            for _ in range(50):
                game.step(1, None)
            progress[aside] = game.progress
        assert progress[0.0] == 50
        assert 45 <= progress[0.1] <= 55
        assert progress[3.0] < 10, "that is nowhere near"


class TestNative:
    """The native planner follows a game as the reference does, and much faster."""

    def both(self, *names, **settings):
        """Return two games: one that is followed natively, and one that is not."""
        demonstrations = [each for name in names for each in find_demonstrations(name, verify=False)]
        make = guide(demonstrations, native(demonstrations[0].env), DefaultCells(), **settings)
        one, other = make(), make()
        assert one._planner is not None
        other._planner = None
        return one, other

    def compare(self, one, other, steps, *, wander, seed, no_ops=0):
        """Play both alike, now as the demonstration does, now at random; return all trackers."""
        choices, draws, same_draws = SplitMix64(seed), SplitMix64(seed + 1), SplitMix64(seed + 1)
        trackers, wandering, lives = [], 0, 0
        one.reset(no_ops)
        other.reset(no_ops)
        for step in range(steps):
            if not wandering and choices.happens(wander):
                wandering = 8
            action = one.reference.action(one.tracker)
            if wandering:
                action, wandering = choices.index(one.game.action_count), wandering - 1
            played = one.step(max(action, 0), draws)
            assert other.step(max(action, 0), same_draws) == played
            assert one.tracker == other.tracker, f"after {step + 1} training frames"
            assert isinstance(one.tracker, Tracker)
            trackers.append(one.tracker)
            lives += played.lost_life
            if played.ended or lives == 2:  # life goes on where one was lost, but not for ever
                lives = 0
                one.reset(step % 30)
                other.reset(step % 30)
        return trackers

    @pytest.mark.parametrize(
        ("names", "settings"),
        [
            (["montezuma-first-key-00"], {}),
            (["montezuma-first-key-00", "montezuma-first-key-01", "montezuma-first-key-02"], {}),
            (["montezuma-three-rooms"], {"repeat_action_probability": 0.5}),
            (["pitfall-three-rooms-right"], {}),
            (["pitfall-eight-rooms-left"], {"deficit": 250.0}),
        ],
        ids=lambda value: value[0] if isinstance(value, list) else "",
    )
    def test_both_agree_along_noisy_play(self, names, settings):
        one, other = self.both(*names, **settings)
        trackers = self.compare(one, other, 3000, wander=0.01, seed=len(names), no_ops=11)
        assert len({each.row for each in trackers}) > 40, "it came somewhere"
        assert max(each.stall for each in trackers) == 14, "it stalled"

    @pytest.mark.parametrize("name", ["montezuma-6600-points", "pitfall-21374-points"])
    def test_and_along_a_whole_demonstration(self, name):
        one, other = self.both(name, deficit=250.0 if "pitfall" in name else 0.0)
        (demonstration,) = find_demonstrations(name, verify=False)
        one.reset()
        other.reset()
        played = demonstration.actions[:3000]
        for action in played:
            one.step(action, None)
            other.step(action, None)
            assert one.tracker == other.tracker
        assert one.progress > 0.9 * one.reference.goal * len(played) / len(demonstration.actions)

    def test_and_into_another_level(self):
        one, other = self.both("montezuma-three-levels")
        (demonstration,) = find_demonstrations("montezuma-three-levels", verify=False)
        one.reset()
        other.reset()
        second = one.reference.stretches[1].rows.start
        for action in demonstration.actions:
            one.step(action, None)
            other.step(action, None)
            assert one.tracker == other.tracker
            if one.tracker.row > second + 30:
                break
        assert one.tracker.score > 0
        assert sum(one.tracker.won) < sum(len(each.gains) for each in one.reference.stretches[:1])


def test_a_demonstration_guides_without_its_loops():
    """It crosses every room that it must, though the room's number changes a frame before the position."""
    demonstrations = find_demonstrations("montezuma-level-1-00", verify=False)
    rows = guide(demonstrations, native(demonstrations[0].env), DefaultCells())().reference.rows
    rooms = [room for (_, room), _ in itertools.groupby(row.place.key for row in rows)]
    assert rooms == [1, 2, 6, 7, 13, 14, 22, 23, 22, 21, 13, 12, 11, 19, 18, 17, 16, 15, 1]
