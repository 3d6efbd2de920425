"""The optional C extension; everything else is in pyproject.toml."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "goexplore._native._cells",
            ["src/goexplore/_native/cells.c"],
            extra_compile_args=["-O3"],
            optional=True,  # without a compiler, Python does the same work
        )
    ]
)
