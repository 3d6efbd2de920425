"""JSON files that are there whole or not at all, and whose content cannot change unnoticed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from goexplore.errors import OutputError


@contextlib.contextmanager
def written_whole(file: Path) -> Iterator[Path]:
    """Yield a file to write to, which gets its name when all is written and goes where something fails."""
    aside = file.with_name(f".{file.stem}.part{file.suffix}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        yield aside
        sync(aside)
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)


@contextlib.contextmanager
def output_errors(file: Path) -> Iterator[None]:
    """Turn what the file system says about a file that the user asked for into one clear line."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"expected to write {file}, got {error.strerror or error}: choose another `out`"
        ) from error


def is_file(name: Path | str) -> bool:
    """Return whether a name is that of a file; names that no file can have are not."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def is_folder(name: Path | str) -> bool:
    """Return whether a name is that of a folder; names that no folder can have are not."""
    try:
        return Path(name).is_dir()
    except (OSError, ValueError):
        return False


def require_writable(file: Path) -> None:
    """Find out before the work, not after it, whether a file can be written."""
    with output_errors(file):
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, "a directory")
        file.parent.mkdir(parents=True, exist_ok=True)
        probe = file.with_name(f".{file.name}.probe")
        probe.touch()
        probe.unlink()


def cache_folder() -> Path:
    """Return the folder for what can be made again at any time."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "goexplore"


def state_folder() -> Path:
    """Return the folder for what goexplore has learnt about this machine."""
    return Path(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")) / "goexplore"


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write a file that is there whole or not at all."""
    with written_whole(file) as aside:
        aside.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


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


def versions(*more: str) -> dict[str, str]:
    """Return the versions of all that may change what a game does or how it is stored, and of `more`."""
    names = ("goexplore", "ale-py", "numpy", "pyarrow", "zstandard", *more)
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
