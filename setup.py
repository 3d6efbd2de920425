"""The optional C extensions; everything else is in pyproject.toml."""

from pathlib import Path
from runpy import run_path

from setuptools import Extension, setup

NATIVE = Path("src/goexplore/_native")
VERSION = run_path(str(NATIVE / "version.py"))["sources_version"]()

setup(
    ext_modules=[
        Extension(
            f"goexplore._native._{name}",
            [f"src/goexplore/_native/{name}.c"],
            depends=[*map(str, NATIVE.glob("**/*.h")), *map(str, NATIVE.glob("*.py"))],
            define_macros=[("ENGINE_VERSION", f'"{VERSION}"')],
            extra_compile_args=["-O3"],
            optional=True,  # without a compiler, Python and ale-py do the same work
        )
        for name in ("atari", "cells")
    ]
)
