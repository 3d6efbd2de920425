"""Problems by name: what packages register, ids of a family, import paths; and by what a file says."""

import dataclasses
import json
import sys
from importlib.metadata import EntryPoint

import pytest

from goexplore.errors import ConfigError, ProblemError
from goexplore.exploration import ExplorationConfig
from goexplore.problems import (
    Family,
    Problem,
    _registry,
    family,
    find_problem,
    find_registered,
    problem_from_file,
    problem_names,
    register,
)
from goexplore.selection import SelectionConfig
from tests.fields import Corridor, Field, Lock, itself

PRESETS = (
    "montezuma",
    "montezuma-2021",
    "montezuma-pixels",
    "pitfall",
    "pitfall-pixels",
    "pitfall-pixels-fine",
    "two-mazes",
)


@pytest.fixture(autouse=True)
def _registry_of_this_test(monkeypatch):
    monkeypatch.setattr(_registry, "_registered", {})


# ---- names ------------------------------------------------------------------------------------------------


def test_what_comes_with_goexplore_is_registered_as_any_package_would():
    assert {"ALE", *PRESETS} <= set(problem_names())
    assert problem_names() == sorted(problem_names())


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_found_by_name(name):
    problem = find_problem(name)
    assert problem.name == name
    assert find_registered(name) == problem


def test_a_registered_problem_is_found_by_its_name():
    register("corridor", Problem(env=Corridor, cells=itself))
    register("field", Field)
    assert {"corridor", "field"} <= set(problem_names())
    assert find_problem("corridor") == Problem(env=Corridor, cells=itself, name="corridor")
    assert find_problem("field") == Problem(env=Field, name="field")


def test_what_the_user_registers_comes_before_what_packages_do():
    register("montezuma", Field)
    assert find_problem("montezuma").env.factory is Field
    assert problem_names().count("montezuma") == 1


@pytest.mark.parametrize("name", ["", "a:b", 7])
def test_a_name_that_could_not_be_found_again_is_refused(name):
    with pytest.raises(ProblemError, match="expected a name without a colon"):
        register(name, Field)


def test_what_is_no_problem_is_not_registered():
    with pytest.raises(ProblemError, match=r"expected a goexplore\.Problem, an environment's class"):
        register("seven", 7)
    assert "seven" not in problem_names()


@pytest.mark.parametrize(
    ("typed", "meant"), [("montezumma", "montezuma"), ("two_mazes", "two-mazes"), ("pitfal", "pitfall")]
)
def test_a_typo_is_told_with_what_was_meant_and_what_there_is(typed, meant):
    with pytest.raises(ProblemError) as caught:
        find_problem(typed)
    assert str(caught.value).endswith(f"got {typed!r}. Did you mean {meant}?")
    assert f"({', '.join(problem_names())})" in str(caught.value)


def test_a_package_that_does_not_have_what_it_registered_is_told(monkeypatch):
    point = EntryPoint(name="broken", value="goexplore.games:NOTHING", group=_registry.GROUP)
    monkeypatch.setattr(_registry, "_entry_points", lambda: {"broken": point})
    with pytest.raises(
        ProblemError, match=r"expected goexplore\.games:NOTHING, which a package registered as broken"
    ):
        find_problem("broken")


def test_the_thing_itself_needs_no_name():
    problem = Problem(env=Field)
    assert find_problem(problem) is problem
    assert find_problem(Field) == problem
    with pytest.raises(ProblemError, match=r"got an environment \(tests\.fields:Field\).*give the class"):
        find_problem(Field())


# ---- families ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["ALE/PrivateEye-v5", "ALE/private_eye", "ALE/PrivateEye-v4"])
def test_any_atari_game_is_a_problem(target):
    problem = find_problem(target)
    assert problem.name == problem.env.target == "ALE/PrivateEye-v5"
    assert problem.cells.kind == "dynamic"
    assert problem.exploration.ends == "drop"
    assert find_problem(problem.name) == problem


def test_an_atari_game_that_there_is_not_suggests_the_nearest():
    with pytest.raises(ConfigError, match="Did you mean ALE/MontezumaRevenge-v5"):
        find_problem("ALE/MontezumasRevenge-v5")


def test_anybody_may_register_a_family():
    corridors = Family(
        prefix="Corridor/", make=lambda name: Problem(env=Corridor, name=name), description="corridors"
    )
    register("Corridor", corridors)
    assert family("Corridor") is corridors
    assert family("two-mazes") is None
    assert find_problem("Corridor/4").name == "Corridor/4"
    assert find_registered("Corridor") is None


def test_the_name_of_a_family_alone_is_not_enough():
    with pytest.raises(
        ProblemError, match=r"expected a name that begins with ALE/ \(any Atari game, .*got 'ALE'"
    ):
        find_problem("ALE")


# ---- import paths -----------------------------------------------------------------------------------------

MODULE = """
from tests.fields import Corridor
class Lock(Corridor):
    class Inner(Corridor):
        pass
problem = __import__("goexplore.problems").problems.Problem(env=Lock, name="another name")
number = 7
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, whose modules are forgotten when the test is over."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    known = set(sys.modules)
    (tmp_path / "my_own_game.py").write_text(MODULE)
    yield tmp_path
    for name in set(sys.modules) - known:
        if name.startswith("my_own"):
            del sys.modules[name]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("path", ["Lock", "Lock.Inner", "problem"])
def test_an_import_path_from_the_current_folder_is_a_problem(path):
    problem = find_problem(f"my_own_game:{path}")
    assert problem.name == f"my_own_game:{path}"
    assert isinstance(problem.env(), Corridor)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("my_own_gane:Lock", "expected a module my_own_gane on Python's path or in"),
        ("my_own_game:Look", r"expected Look in the module my_own_game, got none\. Did you mean Lock\?"),
        ("my_own_game:Lock.Outer", r"expected Lock\.Outer in the module my_own_game, got none"),
        ("my_own_game:number", r"expected a goexplore\.Problem, an environment's class.*got int"),
        ("my_own_game:", "expected an import path such as my_game:Lock, got 'my_own_game:'"),
        (":Lock", "expected an import path such as my_game:Lock, got ':Lock'"),
        (".my_own_game:Lock", "expected an import path such as my_game:Lock"),
    ],
)
def test_an_import_path_that_leads_nowhere_is_told(target, message):
    with pytest.raises(ProblemError, match=message):
        find_problem(target)


@pytest.mark.parametrize("missing", ["not_installed", "my"])
def test_a_module_that_needs_another_that_is_missing_says_so_itself(missing, here):
    (here / "my_own_needy_game.py").write_text(f"import {missing}")
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{missing}'"):
        find_problem("my_own_needy_game:Lock")


# ---- what a file says -------------------------------------------------------------------------------------


def as_file(problem):
    return json.loads(json.dumps(problem.settings()))


@pytest.mark.parametrize("name", [*PRESETS, "ALE/PrivateEye-v5"])
def test_a_registered_problem_is_found_again_by_what_a_file_says(name):
    problem = find_problem(name)
    assert problem_from_file(as_file(problem), None, "run") == problem


def test_what_was_set_otherwise_is_found_again_too():
    problem = dataclasses.replace(
        find_problem("montezuma"),
        selection=SelectionConfig(chosen_weight=7.0),
        exploration=ExplorationConfig(batch_size=3),
    )
    settings = as_file(dataclasses.replace(problem, cells=dataclasses.replace(problem.cells, cell_width=8)))
    found = problem_from_file(settings, None, "run")
    assert found.selection.chosen_weight == 7.0
    assert found.exploration.batch_size == 3
    assert found.cells.cell_width == 8


@pytest.mark.usefixtures("here")
def test_nothing_is_imported_because_a_file_says_so():
    settings = {**as_file(Problem(env=Corridor)), "name": "my_own_game:Lock"}
    with pytest.raises(
        ProblemError, match=r"got my_own_game:Lock in run, .*: add `problem` my_own_game:Lock"
    ):
        problem_from_file(settings, None, "run")
    assert "my_own_game" not in sys.modules


@pytest.mark.usefixtures("here")
def test_an_import_path_that_the_user_gives_again_is_found():
    problem = dataclasses.replace(
        find_problem("my_own_game:Lock"), exploration=ExplorationConfig(batch_size=3)
    )
    assert problem_from_file(as_file(problem), find_problem("my_own_game:Lock"), "run") == problem


@pytest.mark.parametrize("name", ["__main__:Lock", "tests.fields:make.<locals>.<lambda>"])
def test_what_no_path_leads_to_has_to_be_given_from_python(name):
    settings = {**as_file(Problem(env=Corridor)), "name": name}
    with pytest.raises(ProblemError, match="name the Problem, class or function that"):
        problem_from_file(settings, None, "run")


@pytest.mark.parametrize(
    "given", [Problem(env=Lock), Problem(env=Corridor, cells=itself)], ids=["env", "cells"]
)
def test_another_environment_or_cells_than_those_of_the_file_are_refused(given):
    with pytest.raises(
        ConfigError, match=r"expected .*, as the file says, got .*: name the problem that the file"
    ):
        problem_from_file(as_file(Problem(env=Corridor, cells=str)), given, "run")


def test_another_problem_than_that_of_the_file_is_refused():
    with pytest.raises(
        ProblemError, match="expected the problem pitfall for run, got two-mazes: omit `problem`"
    ):
        problem_from_file(as_file(find_problem("pitfall")), find_problem("two-mazes"), "run")


@pytest.mark.parametrize("settings", [{}, {"name": 7}])
def test_a_file_without_a_name_is_told(settings):
    with pytest.raises(ProblemError, match="expected the name of a problem in run"):
        problem_from_file(settings, None, "run")


@pytest.mark.parametrize(
    "damage",
    [
        lambda settings: settings.pop("cells"),
        lambda settings: settings["selection"].update(colour=1),
        lambda settings: settings["env"].update(colour=1),
        lambda settings: settings["cells"].update(colour=1),
        lambda settings: settings["exploration"].update(batch_size=0),
        lambda settings: settings["selection"].update(rule="best"),
    ],
)
def test_settings_that_this_version_does_not_know_are_refused(damage):
    settings = as_file(find_problem("two-mazes"))
    damage(settings)
    with pytest.raises(ConfigError, match="expected"):
        problem_from_file(settings, None, "run")
