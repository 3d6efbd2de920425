"""The optional C extensions; everything else is in pyproject.toml."""

from pathlib import Path

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            f"goexplore._native._{name}",
            [f"src/goexplore/_native/{name}.c"],
            depends=[str(header) for header in Path("src/goexplore/_native").glob("*/*.h")],
            extra_compile_args=["-O3"],
            optional=True,  # without a compiler, Python and ale-py do the same work
        )
        for name in ("atari", "cells")
    ]
)
