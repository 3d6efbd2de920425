"""How the package is built: few modules at the top, imports in one direction, games in their own folder."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import goexplore

ROOT = Path(goexplore.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

ORDER = [
    "errors",
    "random",
    "files",
    "processes",
    "_lazy",
    "_native",
    "envs",
    "cells",
    "archive",
    "selection",
    "exploration",
    "engines",
    "problems",
    "checks",
    "games",
    "replay",
    "runs",
    "play",
    "demos",
    "planning",
    "training",
    "evaluation",
    "report",
    "serve",
    "api",
    "cli",
]
"""Each imports nothing but what stands before it."""

TOP = ["__init__", "__main__", "_lazy", "errors", "files", "processes", "random"]


class Import(NamedTuple):
    """Something of goexplore that a file imports, at its top or within a function."""

    file: str
    line: int
    module: str

    @property
    def importer(self):
        return self.file.partition("/")[0].removesuffix(".py")

    @property
    def imported(self):
        return self.module.split(".")[1]


@cache
def tree(file):
    return ast.parse(file.read_text())


def name(file):
    return file.relative_to(ROOT).as_posix()


def modules(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        if node.module == "goexplore":
            return [f"goexplore.{alias.name}" for alias in node.names]
        return [node.module or ""]
    return []


@cache
def imports():
    return [
        Import(name(file), node.lineno, module)
        for file in FILES
        for node in ast.walk(tree(file))
        for module in modules(node)
        if module.partition(".")[0] == "goexplore"
    ]


def between_packages():
    return [
        each
        for each in imports()
        if each.importer not in ("__init__", "__main__") and each.module != "goexplore"
    ]


def test_the_top_level_has_few_modules():
    assert sorted(file.stem for file in ROOT.glob("*.py")) == TOP


def test_every_package_has_its_place_in_the_order():
    packages = {file.parent.name for file in ROOT.glob("*/__init__.py")}
    assert packages | set(TOP) - {"__init__", "__main__"} == set(ORDER)


def test_imports_have_one_direction():
    wrong = [
        each
        for each in between_packages()
        if each.importer != each.imported and ORDER.index(each.imported) > ORDER.index(each.importer)
    ]
    assert wrong == []


def test_nothing_imports_the_front_door_but_its_natives():
    """`goexplore` itself imports everything: its parts name the package they mean."""
    assert [each for each in imports() if each.module == "goexplore"] == []
    from_top = [
        (name(file), alias.name)
        for file in FILES
        for node in ast.walk(tree(file))
        if isinstance(node, ast.ImportFrom) and node.module == "goexplore"
        for alias in node.names
    ]
    assert {imported for _, imported in from_top} <= {"_native", "errors"}


def test_imports_are_absolute():
    relative = [
        (name(file), node.lineno)
        for file in FILES
        for node in ast.walk(tree(file))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


PRIVATE = {
    "goexplore._native",  # private as a whole: its modules are used by engines, environments and kernels
    "goexplore.demos._minari",  # not in its package's front: it is for those who have Minari
}


def test_packages_use_each_other_through_their_fronts():
    inside = [
        each
        for each in between_packages()
        if each.importer != each.imported
        and "._" in each.module.removeprefix("goexplore")
        and not any(f"{each.module}.".startswith(f"{allowed}.") for allowed in (*PRIVATE, "goexplore._lazy"))
    ]
    assert inside == []


GAME = re.compile(r"montezuma|pitfall|two.?mazes", re.IGNORECASE)

NAMED = {
    "training/_config.py": "paper-pitfall",  # settings of the paper, named as it names them
    "envs/_roms.py": "expected an id such as ALE/MontezumaRevenge-v5",
    "demos/_minari.py": "such as montezuma/demos-v0",
    "cli/__init__.py": "Start with: goexplore explore montezuma-2021",
    "cli/_explore.py": "a registered problem, such as montezuma-2021",
}
"""Where texts for people take a game as their example, and a preset that is called like its experiment."""


def docstrings(file):
    """Return the lines of texts that stand alone: docstrings, and the help of options."""
    return {
        line
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, node.end_lineno + 1)
    }


def code(file):
    """Yield identifiers and texts of a file, but no comments and no docstrings."""
    described = docstrings(file)
    for token in tokenize.generate_tokens(io.StringIO(file.read_text()).readline):
        if token.type != tokenize.COMMENT and token.start[0] not in described:
            yield token


def test_nothing_but_their_folders_knows_the_games():
    known = {
        (name(file), token.string)
        for file in FILES
        if name(file).partition("/")[0] not in ("games", "_native")
        for token in code(file)
        if GAME.search(token.string)
    }
    unexpected = [
        (file, text) for file, text in known if NAMED.get(file, "no such text") not in " ".join(text.split())
    ]
    assert unexpected == []
    assert {file for file, _ in known} == set(NAMED), "the list is as short as it can be"


WITHOUT = """
import sys

BLOCKED = sys.argv[1].split(",")

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, *more):
        return None if name.partition(".")[0] in BLOCKED else self.finder.find_spec(name, *more)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Without, sys.meta_path)
sys.argv[:] = ["goexplore", *sys.argv[2:]]
"""
"""Makes Python find some libraries no more."""


def run_without(blocked, script, *arguments, **settings):
    command = [sys.executable, "-c", WITHOUT + script, blocked, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **settings)


EXTRAS = "torch,minari,pandas,ray,tensorflow,starlette,uvicorn"


def test_the_front_door_needs_no_extras():
    result = run_without(EXTRAS, "import goexplore.api, goexplore.report, goexplore.demos")
    assert result.returncode == 0, result.stderr


MAIN = "from goexplore.cli import main; sys.exit(main())"


HELP = """
from goexplore.cli import main

for verb in sys.argv[1:]:
    print("help of", verb)
    try:
        code = main([*verb.split(), "--help"])
    except SystemExit as end:
        code = end.code
    print("exit code", code)
"""


def test_help_needs_no_extras():
    verbs = ["", "explore", "explore two-mazes", "compare", "info", "cells", "verify", "demos", "evaluate"]
    verbs += ["video", "report", "map", "serve", "certify", "check-env", "cells-preview"]
    result = run_without(EXTRAS, HELP, *verbs)
    assert result.returncode == 0, result.stderr
    for verb, said in zip(verbs, result.stdout.split("help of ")[1:], strict=True):
        assert said.startswith(f"{verb}\n")
        assert "usage: goexplore" in said
        assert said.endswith("exit code 0\n")


def test_exploring_and_looking_need_no_extras(tmp_path):
    run = tmp_path / "run"
    for arguments in (
        ["explore", "montezuma", "--game-frames", "1K", "--workers", "0", "--run-dir", run],
        ["verify", run],
        ["demos", run, "--out", tmp_path / "demos", "--cell", "1"],
        ["report", run, "--videos", "0"],
    ):
        result = run_without(EXTRAS, MAIN, *arguments)
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["robustify", "montezuma-first-key-00", "--run-dir", "x"], "train"),
        (["evaluate", "policy.safetensors"], "train"),
        (["demos", "x", "--out", "y", "--minari", "some/name-v0"], "minari"),
        (["explore", "two-mazes", "--minutes", "1", "--executor", "ray"], "ray"),
        (["serve", "x"], "serve"),
    ],
)
def test_what_needs_an_extra_says_which(arguments, extra, tmp_path):
    (tmp_path / "policy.safetensors").touch()
    result = run_without(EXTRAS, MAIN, *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert f"pip install 'goexplore[{extra}]'" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
