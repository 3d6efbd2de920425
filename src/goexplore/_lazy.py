"""Names that are imported when they are first used: what is not needed costs nothing."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazy(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return a package's `__getattr__`; `homes` are its modules with the names that they offer."""

    def find(name: str) -> Any:
        for home, names in homes.items():
            if name in names:
                return getattr(importlib.import_module(f"{package}.{home}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
