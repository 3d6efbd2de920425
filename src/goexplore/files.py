"""JSON files that are there whole or not at all, and whose content cannot change unnoticed."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write a file aside, bring it to the disk, then give it its name."""
    aside = file.with_name(file.name + ".part")
    aside.write_text(json.dumps(content, indent=2) + "\n")
    sync(aside)
    aside.replace(file)


def sync(path: Path) -> None:
    """Bring a file or the names in a folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_sha256(file: Path) -> str:
    """Return the checksum of a file."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def json_sha256(content: Any) -> str:
    """Return the checksum of JSON values, however they are written."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of all that may change what a game does or how it is stored."""
    names = ("goexplore", "ale-py", "numpy", "pyarrow", "zstandard")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
