"""The C sources compile without a warning."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from goexplore import _native as native

SOURCES = Path(native.__file__).parent
FLAGS = ("-std=c11", "-D_POSIX_C_SOURCE=200809L", "-fsyntax-only", "-Wall", "-Wextra", "-Werror")


@pytest.fixture(scope="module")
def compiler():
    command = shutil.which(os.environ.get("CC", "cc"))
    if command is None:
        pytest.skip("needs a C compiler")
    return command


@pytest.mark.parametrize("module", ["archive", "atari", "cells"])
def test_a_module_compiles_without_a_warning(module, compiler):
    python = Path(sysconfig.get_paths()["include"])
    if not (python / "Python.h").exists():
        pytest.skip("needs Python's headers")
    names = ('-DBUILD_VERSION="build"', '-DENGINE_VERSION="engine"')
    source = SOURCES / f"{module}.c"
    done = subprocess.run([compiler, *FLAGS, f"-isystem{python}", *names, source], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_the_fuzzer_compiles_without_a_warning(compiler):
    include = (f"-I{SOURCES}", f"-I{SOURCES / 'atari'}")
    source = Path(__file__).with_name("fuzz.c")
    done = subprocess.run([compiler, *FLAGS, *include, source], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
