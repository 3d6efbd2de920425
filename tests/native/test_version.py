"""Compiled modules are used only as long as they are of the sources that are here."""

import importlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from goexplore import _native as native
from goexplore._native import version
from goexplore.cells import DownscaledCells
from goexplore.cells._downscaled import ReferenceDownscaler
from goexplore.engines import choose_engine, require_compiled, version_for
from goexplore.envs import NativeAtariEnv
from goexplore.errors import ConfigError
from goexplore.games._character import CHARACTER, PLAYFIELD_TOP, find_character

SOURCES = sorted(str(file.relative_to(version._HERE)) for file in version._HERE.glob("**/*.[ch]"))
compiled = pytest.mark.skipif(
    native.atari is None and not native.is_outdated(), reason="the native engine was not compiled"
)


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A copy of all sources, of which versions are."""
    folder = Path(shutil.copytree(version._HERE, tmp_path / "_native"))
    monkeypatch.setattr(version, "_HERE", folder)
    return folder


def test_all_modules_and_what_they_include_are_among_the_sources():
    folders = {file.split("/")[0] for file in SOURCES}
    modules = {"archive.c", "atari.c", "cells.c"}
    assert folders == modules | {"archive", "atari", "cells", "explore", "plan", "python"}


@pytest.mark.parametrize("file", SOURCES)
def test_every_source_is_in_the_version_of_what_was_compiled(file, sources):
    build, engine = version.build_version(), version.sources_version()
    source = sources / file
    code = source.read_text()
    source.write_text("/* A comment\n * of two lines. */\n\n" + code.replace("\n", "\n  ") + " \t/* ; */\n")
    assert (version.build_version(), version.sources_version()) == (build, engine)
    source.write_text(code + ";")
    assert version.build_version() != build
    assert (version.sources_version() != engine) == file.startswith("atari/")


@pytest.mark.parametrize("file", SOURCES)
def test_a_source_that_is_gone_is_missed(file, sources):
    build = version.build_version()
    (sources / file).unlink()
    assert version.build_version() != build


def test_a_new_source_and_another_translator_change_both_versions(sources):
    versions = [(version.build_version(), version.sources_version())]
    (sources / "atari" / "new.h").write_text("enum { NEW };\n")
    versions.append((version.build_version(), version.sources_version()))
    with (sources / "translator.py").open("a") as translator:
        translator.write("CHANGED = True\n")
    versions.append((version.build_version(), version.sources_version()))
    assert [len(set(each)) for each in zip(*versions, strict=True)] == [3, 3]


def test_versions_do_not_depend_on_where_the_sources_are(sources, monkeypatch):
    there = version.build_version(), version.sources_version()
    monkeypatch.undo()
    assert there == (version.build_version(), version.sources_version())


@compiled
def test_what_is_installed_is_of_these_sources():
    assert not native.is_outdated(), "reinstall goexplore: all tests of the native engine are skipped"
    from goexplore._native import _archive, _atari, _cells

    assert {each.BUILD_VERSION for each in (_archive, _atari, _cells)} == {version.build_version()}
    assert version.sources_version() == _atari.VERSION


@pytest.fixture(params=["_archive", "_atari", "_cells", "_cells without a version"])
def outdated(request):
    """The compiled parts, loaded when one of them was compiled from other sources."""
    name, *without = request.param.split(maxsplit=1)
    module = importlib.import_module(f"goexplore._native.{name}")
    with pytest.MonkeyPatch.context() as patch:
        if without:
            patch.delattr(module, "BUILD_VERSION")
        else:
            patch.setattr(module, "BUILD_VERSION", "another")
        importlib.reload(native)
        yield
    importlib.reload(native)


@compiled
@pytest.mark.usefixtures("outdated")
def test_an_outdated_engine_is_refused():
    assert native.is_outdated()
    assert native.atari is native.archive is None
    choice = choose_engine("montezuma_revenge", "auto", None)
    assert choice.engine == "ale"
    assert choice.reason.endswith("sources changed since it was compiled; reinstall goexplore")
    with pytest.raises(ConfigError, match="they changed: reinstall goexplore, or set `engine` to ale"):
        choose_engine("montezuma_revenge", "native", None)
    with pytest.raises(ConfigError, match="they changed: reinstall goexplore, or do without it"):
        require_compiled()
    for use in (lambda: NativeAtariEnv(game="pitfall"), lambda: version_for("pitfall")):
        with pytest.raises(ConfigError, match=r"sources changed since it was compiled.* reinstall goexplore"):
            use()


@compiled
@pytest.mark.usefixtures("outdated")
def test_outdated_cells_are_left_to_their_references():
    assert native.cells is None
    screen = np.zeros((210, 160), np.uint8)
    screen[PLAYFIELD_TOP + 7, 80] = CHARACTER
    assert find_character(screen) == (160, 7, True)
    cells = DownscaledCells()
    assert len(cells.reset(screen)) == 11 * 8
    assert isinstance(cells._downscaler, ReferenceDownscaler)


@compiled
def test_sources_that_change_while_a_process_runs_are_noticed(monkeypatch):
    monkeypatch.setattr(native, "build_version", lambda: "another")
    choice = choose_engine("montezuma_revenge", "auto", None)
    assert choice.engine == "ale"
    assert "reinstall goexplore" in choice.reason
    assert version_for("pitfall") == native.require_atari().VERSION


def test_without_compiled_modules_nothing_is_outdated(monkeypatch):
    monkeypatch.setattr(native, "_builds", set())
    monkeypatch.setattr(native, "atari", None)
    assert not native.is_outdated()
    assert "there is no native engine" in choose_engine("montezuma_revenge", "auto", None).reason
    with pytest.raises(ConfigError, match="install a C compiler"):
        require_compiled()
