"""What a problem is made of, what it is by default, and what is refused."""

import contextlib
import dataclasses
import pickle
from functools import partial

import numpy as np
import pytest

from goexplore import _native as native
from goexplore.cells import CellRepresentation, DynamicCells, FunctionCells, encode
from goexplore.errors import ConfigError, EnvironmentContractError, ProblemError
from goexplore.exploration import ExplorationConfig, NativeExecutor, ProcessExecutor, SerialExecutor
from goexplore.games import AtariGame
from goexplore.games.montezuma_revenge import MONTEZUMA
from goexplore.games.two_mazes import TWO_MAZES, TwoMazesConfig
from goexplore.problems import (
    DefaultCells,
    DownscaledConfig,
    DynamicConfig,
    Problem,
    as_problem,
    differences,
    find_problem,
    path_of,
)
from goexplore.selection import SelectionConfig, UniformSelection, WeightedSelection
from tests.fields import Corridor, Field, Lock, itself

needs_native = pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled")


class Parity(CellRepresentation):
    def reset(self, observation):
        return self.update(observation)

    def update(self, observation):
        return bytes([observation % 2])


# ---- presets ----------------------------------------------------------------------------------------------


def test_presets_are_the_papers_tables():
    """Appendix A.6, tables 1 and 2."""
    rows = {
        # name: batch, chosen, chosen since new, seen, horizontal, vertical, more keys
        "montezuma": (1000, 0, 0, 0, 0.3, 0.1, 10),
        "pitfall": (1000, 1, 0.5, 0, 1, 0, 0),
        "montezuma-pixels": (100, 0.1, 0, 0.3, 0, 0, 0),
        "pitfall-pixels": (1000, 1, 1, 0, 0, 0, 0),
        "pitfall-pixels-fine": (1000, 1, 1, 0, 0, 0, 0),
    }
    for name, row in rows.items():
        problem = find_problem(name)
        weights, exploration = problem.selection, problem.exploration
        assert row == (
            exploration.batch_size,
            weights.chosen_weight,
            weights.chosen_since_new_weight,
            weights.seen_weight,
            weights.horizontal_weight,
            weights.vertical_weight,
            weights.rank_weight,
        )
        assert (weights.power, weights.epsilon1, weights.epsilon2) == (0.5, 0.001, 0.00001)
        assert (weights.constant, weights.level_factor, weights.reset_seen) == (1, 0.1, False)
        assert (exploration.training_frames, exploration.repeat_probability) == (100, 0.95)
        assert exploration.ends == "drop"
        assert problem.env.frame_skip == 4
    for name in ("montezuma-pixels", "pitfall-pixels"):
        assert find_problem(name).cells == DownscaledConfig(width=11, height=8, levels=8)
    assert find_problem("pitfall-pixels-fine").cells == DownscaledConfig(width=11, height=8, levels=16)
    for name in ("montezuma", "pitfall"):
        assert (find_problem(name).cells.cell_width, find_problem(name).cells.cell_height) == (16, 16)


def test_the_follow_ups_weights_have_neither_constant_nor_epsilon():
    weights = find_problem("montezuma-2021").selection
    assert weights == SelectionConfig(horizontal_weight=0.1, rank_weight=1)
    assert (weights.seen_weight, weights.power, weights.epsilon1) == (1, 0.5, 1)
    assert (weights.constant, weights.epsilon2) == (0, 0)


# ---- defaults ---------------------------------------------------------------------------------------------


def test_an_environments_class_is_enough():
    problem = Problem(env=Corridor)
    assert problem.name == problem.env.target == "tests.fields:Corridor"
    assert problem.env.name == "Corridor"
    assert problem.cells == DefaultCells()
    assert problem.selection == SelectionConfig()
    assert problem.exploration == ExplorationConfig(batch_size=100, training_frames=100, ends="keep")
    assert isinstance(problem.env(), Corridor)
    assert problem.env() is not problem.env()


def test_a_name_may_be_given():
    assert Problem(env=Corridor, name="corridor").name == "corridor"
    assert as_problem(Corridor, "corridor").name == "corridor"
    assert as_problem(Problem(env=Corridor), "corridor").name == "corridor"


def test_cells_are_a_function_a_class_of_representations_or_settings():
    assert Problem(env=Corridor, cells=lambda x: x // 2).make_cell_env().reset() == encode(0)
    assert Problem(env=Corridor, cells=Parity).make_cell_env().reset() == b"\0"
    assert Problem(env=Corridor, cells=None).cells == DefaultCells()
    settings = DownscaledConfig(width=3)
    assert Problem(env=Corridor, cells=settings).cells is settings


class Seeing(Field):
    seen = None

    def observation(self):
        return self.seen


def first_cells(seen):
    kind = type("Seen", (Seeing,), {"seen": seen})
    cell_env = Problem(env=kind).make_cell_env()
    return cell_env.cells, cell_env.reset()


@pytest.mark.parametrize("shape", [(210, 160), (210, 160, 3)])
def test_by_default_images_have_dynamic_cells(shape):
    cells, first = first_cells(np.full(shape, 255, np.uint8))
    assert isinstance(cells, DynamicCells)
    assert first == bytes([8] * 88)


def test_by_default_images_smaller_than_the_papers_cells_keep_their_size():
    assert first_cells(np.full((4, 200), 255, np.uint8))[1] == bytes([8] * 4 * 11)


def test_by_default_a_small_board_is_its_own_cell():
    board = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert first_cells(board)[1] == encode(board)


@pytest.mark.parametrize("seen", [7, "hall", (1, "a", (2,)), [1, 2], np.array([1, 2]), np.array([True])])
def test_by_default_whole_numbers_and_texts_are_their_own_cells(seen):
    cells, first = first_cells(seen)
    assert isinstance(cells, FunctionCells)
    assert first == encode(seen)


@pytest.mark.parametrize("seen", [0.5, (1, 0.5), np.zeros(3), np.float32(1), [1, [2.0]]])
def test_for_real_numbers_a_cell_function_is_asked_for(seen):
    with pytest.raises(ConfigError, match=r"expected a cell function .* such as goexplore.Grid"):
        first_cells(seen)


# ---- what it makes ----------------------------------------------------------------------------------------


def test_what_becomes_of_ends_is_a_setting_of_the_exploration():
    kept = Problem(env=Corridor, cells=itself)
    dropped = dataclasses.replace(kept, exploration=ExplorationConfig(ends="drop"))
    for problem, cell in ((kept, encode(4)), (dropped, None)):
        cell_env = problem.make_cell_env()
        cell_env.reset()
        assert [cell_env.step(1).cell for _ in range(4)][-1] == cell


def test_the_selection_is_that_of_the_settings():
    cell_env = TWO_MAZES.make_cell_env()
    assert isinstance(TWO_MAZES.make_selection(cell_env), WeightedSelection)
    uniform = dataclasses.replace(TWO_MAZES, selection=SelectionConfig(rule="uniform"))
    assert isinstance(uniform.make_selection(cell_env), UniformSelection)
    lost = dataclasses.replace(TWO_MAZES, selection=SelectionConfig(horizontal_weight=1.0))
    with pytest.raises(
        ConfigError, match="expected `horizontal_weight` to be 0 for cells that have no neighbours"
    ):
        lost.make_selection(cell_env)


def kind_of_executor(problem, workers):
    with contextlib.closing(problem.make_executor(workers)) as executor:
        assert executor.workers == (workers or 1)
        return type(executor)


def test_python_environments_are_explored_in_processes_or_in_this_one():
    assert kind_of_executor(TWO_MAZES, None) is SerialExecutor
    assert kind_of_executor(TWO_MAZES, 2) is ProcessExecutor


@needs_native
def test_the_native_engine_explores_in_threads_where_its_kernel_knows_cells_and_ends():
    problem, reason = MONTEZUMA.with_engine("native")
    assert reason == "native, as asked for"
    assert problem == MONTEZUMA  # the engine decides how fast a search is, not what it finds
    assert kind_of_executor(problem, None) is SerialExecutor
    assert kind_of_executor(problem, 2) is NativeExecutor
    keeping = dataclasses.replace(problem, exploration=ExplorationConfig(ends="keep"))
    assert kind_of_executor(keeping, 1) is ProcessExecutor
    other_cells = dataclasses.replace(problem, cells=len, selection=SelectionConfig())
    assert kind_of_executor(other_cells, 1) is ProcessExecutor
    assert kind_of_executor(problem.reference(), 1) is ProcessExecutor


def test_a_problem_that_can_be_pickled_makes_the_same_in_another_process():
    problem = pickle.loads(pickle.dumps(Problem(env=Corridor, cells=itself)))
    assert problem == Problem(env=Corridor, cells=itself)
    assert problem.make_cell_env().reset() == encode(0)


def test_only_atari_games_have_a_choice_of_engines():
    problem = Problem(env=Corridor)
    assert problem.reference() == problem
    for wish in ("auto", "python"):
        assert problem.with_engine(wish) == (problem, "Python: Corridor plays itself")
    for wish in ("native", "ale"):
        with pytest.raises(ConfigError, match=f"expected `engine` auto for Corridor, .* got {wish}"):
            problem.with_engine(wish)


# ---- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: AtariGame(game="pong", frame_skip=0),
        lambda: AtariGame(game="pong", episode_end="never"),
        lambda: AtariGame(game=7),
        lambda: AtariGame(game="pnog")(),
        lambda: TwoMazesConfig(frame_skip=0),
        lambda: DownscaledConfig(levels=0),
        lambda: DownscaledConfig(levels=256),
        lambda: DownscaledConfig(width=0),
        lambda: DownscaledConfig(height=0),
        lambda: DynamicConfig(draws=10**11),
        lambda: DynamicConfig(sample_frames=10**11),
        lambda: dataclasses.replace(MONTEZUMA.cells, cell_width=1),
        lambda: dataclasses.replace(MONTEZUMA, env=AtariGame(game="ALE/Pong-v5")).make_cell_env(),
        lambda: dataclasses.replace(MONTEZUMA, env=TwoMazesConfig()).make_cell_env(),
        lambda: Problem(env=Field()),
        lambda: Problem(env=Field, cells=7),
    ],
)
def test_settings_that_cannot_be_used_are_refused_with_a_reason(make):
    with pytest.raises(ConfigError, match=r"expected|no Atari game"):
        make()


@pytest.mark.parametrize("thing", [Field(), 7, None])
def test_what_cannot_make_environments_is_no_problem(thing):
    with pytest.raises(ProblemError, match="expected"):
        as_problem(thing)


def test_a_factory_must_make_environments():
    with pytest.raises(
        EnvironmentContractError, match=r"expected a goexplore\.Environment from .*int, got int"
    ):
        Problem(env=int).make_cell_env()


# ---- names and differences --------------------------------------------------------------------------------


def make_field():
    return Field()


def test_functions_without_a_name_are_told_apart_by_what_they_do():
    def counting(number):
        return lambda: number

    one, same, other = (path_of(each) for each in (counting(1), counting(1), counting(2)))
    assert one.startswith("tests.problems.test_problem:test_functions")
    assert one == same
    assert one != other
    assert Problem(env=lambda: Field()).env.name == "lambda"


@pytest.mark.parametrize(
    ("factory", "path", "name"),
    [
        (Lock, "tests.fields:Lock", "Lock"),
        (make_field, "tests.problems.test_problem:make_field", "make_field"),
        (partial(make_field), "tests.problems.test_problem:make_field()", "make_field"),
    ],
)
def test_a_class_or_function_is_named_by_where_it_is_defined(factory, path, name):
    env = Problem(env=factory).env
    assert path_of(factory) == env.target == path
    assert env.name == name
    assert env.settings() == {"path": path}


def test_differences_are_named():
    other = dataclasses.replace(
        MONTEZUMA,
        exploration=dataclasses.replace(MONTEZUMA.exploration, batch_size=7),
        cells=dataclasses.replace(MONTEZUMA.cells, cell_width=8),
    )
    assert differences(MONTEZUMA.settings(), other.settings()) == [
        "cells.cell_width is 16, not 8",
        "exploration.batch_size is 1000, not 7",
    ]
    assert differences(MONTEZUMA.settings(), MONTEZUMA.settings()) == []
