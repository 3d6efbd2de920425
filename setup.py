"""The optional C extensions; everything else is in pyproject.toml."""

from pathlib import Path
from runpy import run_path

from setuptools import Extension, setup

NATIVE = Path("src/goexplore/_native")
VERSION = run_path(str(NATIVE / "version.py"))

setup(
    ext_modules=[
        Extension(
            f"goexplore._native._{name}",
            [f"src/goexplore/_native/{name}.c"],
            define_macros=[
                ("BUILD_VERSION", f'"{VERSION["build_version"]()}"'),
                ("ENGINE_VERSION", f'"{VERSION["sources_version"]()}"'),
            ],
            extra_compile_args=["-O3", "-pthread"],
            extra_link_args=["-pthread"],
            optional=True,  # without a compiler, Python and ale-py do the same work
        )
        for name in ("archive", "atari", "cells")
    ],
    # All modules, every time: times of files do not show that one was removed or put back, the versions do.
    options={"build_ext": {"force": True}},
)
