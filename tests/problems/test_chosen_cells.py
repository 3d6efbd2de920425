"""Cells put together from names and sizes: what they are written down as, and what opens a run again."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

import goexplore
from goexplore.cells import encode
from goexplore.errors import ConfigError, EnvironmentContractError, ProblemError
from goexplore.games.two_mazes import TwoMazes
from goexplore.problems import (
    Combination,
    DefaultCells,
    DownscaledConfig,
    Grid,
    Problem,
    Rendering,
    cells_from_text,
    find_problem,
)
from tests.cli.commands import tables
from tests.fields import Field, itself


class Told(Field):
    """A field whose observation is a mapping, and whose info says what was taken."""

    def observation(self):
        return {"x": self.x, "y": self.y}

    def info(self):
        return {"taken": self.taken, "bag": {"gold": self.taken.bit_count()}}


def with_room(observation, info):
    return observation["x"] // 4, info["taken"]


SPECS = [
    Grid("x", "y", size=4),
    Grid({"x": 4, "y": 0.5, "taken": None}),
    Grid("x", bins=3, low=0, high=11),
    Grid("x", bins=3, low=(0.5,), high=[11]),
    Grid("taken", dims=(0,)),
    Rendering(width=4, height=3, levels=2),
    Grid("taken") + Grid("x", "y", size=4),
    Rendering(width=4) + Grid("bag.gold"),
    Grid("taken") + with_room,
    with_room + Grid("taken"),
    with_room + Grid("taken") + Rendering(),
    DownscaledConfig(width=3) + Grid("taken"),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.text())
def test_settings_survive_json_and_come_back_equal(spec):
    written = json.loads(json.dumps(spec.settings()))
    assert written == spec.settings(), "a resumed run compares the two"
    assert spec.with_settings(written) == spec
    assert hash(spec.with_settings(written)) == hash(spec)
    problem = Problem(env=Told, cells=spec)
    assert problem.with_settings(json.loads(json.dumps(problem.settings()))) == problem


@pytest.mark.parametrize("spec", SPECS[:8], ids=lambda spec: spec.text())
def test_a_run_opens_without_naming_cells_that_need_no_code(spec):
    plain, chosen = Problem(env=Told), Problem(env=Told, cells=spec)
    assert plain.with_settings(chosen.settings()) == chosen


def test_a_combination_with_a_function_needs_the_function():
    chosen = Problem(env=Told, cells=with_room + Grid("taken"))
    assert Problem(env=Told, cells=with_room).with_settings(chosen.settings()) == chosen
    for other in (DefaultCells(), DownscaledConfig(), itself):
        with pytest.raises((ProblemError, ConfigError), match=r"expected tests.problems.*:with_room"):
            Problem(env=Told, cells=other).with_settings(chosen.settings())


def test_damaged_settings_are_refused():
    for cells in (
        {"kind": "grid"},
        {"kind": "grid", "axes": [{"size": 3}]},
        {"kind": "grid", "axes": [{"name": "x", "colour": 3}]},
        {"kind": "grid", "axes": []},
        {"kind": "rendering", "depth": 3},
    ):
        settings = {**Problem(env=Told).settings(), "cells": cells}
        with pytest.raises(ConfigError, match="expected"):
            Problem(env=Told).with_settings(settings)


def test_a_sum_has_no_order_of_its_own():
    one, two, three = Grid("taken"), Grid("x", size=2), Rendering()
    assert (one + two) + three == one + (two + three) == Combination((one, two, three))
    assert one + two != two + one


def test_what_a_grid_refuses():
    for arguments, settings, message in (
        ((), {}, "expected at least one name for a grid, got none"),
        (("x", "x"), {}, "expected each name of a grid once, got 'x' several times"),
        (({"x": 2},), {"size": 3}, "expected sizes in the mapping of names alone"),
        ((3,), {}, "expected the names of a grid to be texts, got 3"),
    ):
        with pytest.raises(ConfigError, match=message):
            Grid(*arguments, **settings)


@pytest.mark.parametrize(
    "spec", [Grid("x", "y", size=4), Grid({"x": 4, "y": 4}), with_room, with_room + Grid("y")]
)
def test_an_environment_with_names_is_explored(spec, tmp_path):
    run = goexplore.explore(Told, cell=spec, run_dir=tmp_path / "run", game_frames=20_000, workers=0)
    assert run.status.best_score == 20
    assert run.verify().passed
    opened = goexplore.open_run(tmp_path / "run", problem=Problem(env=Told, cells=spec))
    assert opened.status.cells == run.status.cells
    run = run.resume(game_frames=40_000)
    with pytest.raises(ConfigError, match="cells"):
        goexplore.explore(
            Told, cell=Grid("x", size=5), run_dir=tmp_path / "run", game_frames=60_000, resume=True, workers=0
        )


def test_workers_find_the_same_cells(tmp_path):
    spec = with_room + Grid("y", size=2)
    for workers in (0, 2):
        goexplore.explore(
            Told, cell=spec, run_dir=tmp_path / str(workers), game_frames=20_000, workers=workers
        )
    assert tables(tmp_path / "0") == tables(tmp_path / "2")


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.text())
def test_settings_travel_to_spawned_processes(spec):
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_the_table_of_a_run_has_the_names(tmp_path):
    spec = Grid("x", "y", size=4) + Grid("taken")
    run = goexplore.explore(Told, cell=spec, run_dir=tmp_path / "run", game_frames=20_000, workers=0)
    table = run.to_pandas()
    assert set(table.x) == set(table.y) == {0, 1, 2}
    assert set(table.taken) <= {0, 1, 2, 3}


def test_the_rendering_is_the_picture_whatever_is_observed():
    class Hidden(TwoMazes):
        def observation(self):
            return self._time

        def picture(self):
            return np.repeat(TwoMazes.observation(self)[:, :, None], 3, axis=2)

    shown = Rendering(width=20, height=15, levels=255)(env := Hidden())
    before = shown.reset(env.observation())
    env.step(0)
    assert shown.update(env.observation()) == before, "nothing moved"
    env.step(2)
    assert shown.update(env.observation()) != before
    assert before == DownscaledConfig(width=20, height=15, levels=255)(mazes := TwoMazes()).reset(
        mazes.observation()
    )


def test_an_environment_without_a_picture_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(
        ConfigError, match="expected an environment with a picture for cells of its rendering"
    ):
        goexplore.explore(Told, cell=Rendering(), run_dir=tmp_path / "run", game_frames=1000)
    with pytest.raises(ConfigError, match=r"expected one of x, y, taken, bag.gold .* got 'z'"):
        goexplore.explore(Told, cell=Grid("z"), run_dir=tmp_path / "run", game_frames=1000)
    with pytest.raises(ConfigError, match="expected bounds of x for `bins`"):
        goexplore.explore(Told, cell=Grid("x", bins=3), run_dir=tmp_path / "run", game_frames=1000)
    assert not (tmp_path / "run").exists()


def test_a_registered_problem_takes_other_cells(tmp_path):
    spec = Rendering(width=20, height=15, levels=255)
    run = goexplore.explore("two-mazes", cell=spec, run_dir=tmp_path / "run", game_frames=2000, workers=0)
    assert goexplore.open_run(tmp_path / "run").problem.cells == spec
    assert run.status.cells > 20


# ---- as text ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("downscaled", DownscaledConfig()),
        ("downscaled(width=4, levels=2)", DownscaledConfig(width=4, levels=2)),
        ("rendering", Rendering()),
        ("Rendering(height=3)", Rendering(height=3)),
        ("grid(x, y, size=16)", Grid("x", "y", size=16)),
        ('Grid("x", size=0.5)', Grid("x", size=0.5)),
        ("grid(inventory.key)", Grid("inventory.key")),
        ("grid('a b')", Grid("a b")),
        ("grid(observation, dims=(0, 1), bins=5, low=-1, high=(1, 2))",
         Grid("observation", dims=(0, 1), bins=5, low=-1, high=(1, 2))),
        ("grid({x: 16, 'room': None})", Grid({"x": 16, "room": None})),
        (" grid(room)+rendering ", Grid("room") + Rendering()),
        ("tests.problems.test_chosen_cells:with_room", Problem(env=Told, cells=with_room).cells),
        ("grid(y) + tests.problems.test_chosen_cells:with_room", Grid("y") + with_room),
        ("tests.problems.test_chosen_cells:SPECS", None),
    ],
)  # fmt: skip
def test_cells_can_be_written_as_text(text, expected):
    if expected is None:
        with pytest.raises(ConfigError, match="expected a function of the observation, a class"):
            cells_from_text(text)
    else:
        assert cells_from_text(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "",
            r'expected cells such as downscaled, dynamic, rendering, "grid\(x, y, size=16\)", my_game:cell',
        ),
        ("girds(x)", r"got 'girds\(x\)'. Did you mean grid\?"),
        ("grid(x) + nothing", r"got 'nothing' in 'grid\(x\) \+ nothing'"),
        ("grid(x", r"got 'grid\(x'"),
        ("grid", "expected at least one name for a grid"),
        ("grid(x, 16)", r"expected names, then settings such as size=16, got 16 in 'grid\(x, 16\)'"),
        ("grid(x, size=y)", r"expected numbers as settings, such as size=16, got y in"),
        (
            "grid(x, width=2)",
            r"expected settings of grid cells, got 'grid\(x, width=2\)': it got an unexpected",
        ),
        ("rendering(x)", "expected settings of rendering cells"),
        ("__import__('os').system('x')", "expected cells such as"),
        ("grid(__import__('os'))", "expected names, then settings"),
        ("grid(x, size=__import__('os'))", "expected numbers as settings"),
        ("grid(x, size=0)", "expected `size` to be more than 0"),
    ],
)
def test_a_text_that_names_no_cells_is_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        cells_from_text(text)


@pytest.mark.parametrize("text", ["no_such_module:cell", "tests.fields:nothing"])
def test_an_import_path_that_leads_nowhere_is_refused(text):
    with pytest.raises(ProblemError, match="expected"):
        cells_from_text(text)


def test_functions_of_observation_and_info_see_the_state_that_they_are_of():
    env = Told()
    cells = Problem(env=Told, cells=with_room).cells(env)
    assert cells.reset(env.observation()) == encode((0, 0))
    for _ in range(5):
        env.step(0)
    assert cells.update(env.observation()) == encode((1, 1))
    with pytest.raises(EnvironmentContractError, match="got None"):
        replace(find_problem(Told), cells=lambda seen, info: None).make_cell_env().reset()


def test_cells_that_are_revised_cannot_be_added_to_others():
    with pytest.raises(ConfigError, match="got dynamic ones, which a search revises"):
        cells_from_text("dynamic + grid(x)")


@pytest.mark.parametrize(
    "spec",
    [*SPECS, DownscaledConfig(width=3), Grid("a b", "é", "9", "bag.gold")],
    ids=lambda spec: spec.text(),
)
def test_cells_as_text_are_the_same_cells(spec):
    """Names with different sizes become a sum, which has other keys but the same cells."""
    again = cells_from_text(spec.text())
    if spec != Grid({"x": 4, "y": 0.5, "taken": None}):
        assert again == spec
    assert again.text() == spec.text()
