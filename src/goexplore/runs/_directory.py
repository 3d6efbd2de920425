"""What every run has on disk: config.json, metrics.jsonl, checkpoints. Nothing in it is ever half-written.

docs/format.md describes every file. Loading one never runs code.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from goexplore.errors import CheckpointError, ConfigError, RunDirectoryError
from goexplore.files import file_sha256, json_sha256, sync, versions, write_json, written_whole
from goexplore.problems import differences

if TYPE_CHECKING:
    from typing_extensions import Self

FORMAT = 2
"""Version of the run directory's format; raised when older versions of goexplore could not read it."""

_KEPT_CHECKPOINTS = 2

_UNFINISHED = {"checkpoints", ".config.part.json"}
"""What there may be of a run that ended before it had begun."""


@dataclass(frozen=True, kw_only=True)
class SavedFiles:
    """A checkpoint whose files are whole."""

    folder: Path
    content: dict[str, Any]
    """What its meta.json holds."""


_locks: set[int] = set()
"""Descriptors of the files that this process has locked."""


def _close_locks() -> None:
    for descriptor in _locks:
        os.close(descriptor)
    _locks.clear()


os.register_at_fork(after_in_child=_close_locks)


class Directory:
    """One run on disk: a search or a training."""

    kind: ClassVar[str]
    """The name of its settings in config.json."""
    verb: ClassVar[str]
    """The command that starts it."""
    libraries: ClassVar[tuple[str, ...]] = ()
    """Whose versions matter, beside those that always do."""

    def __init__(self, path: Path) -> None:
        """Use `create` or `open` instead."""
        self.path = path

    @classmethod
    def _create(cls, path: Path, settings: dict[str, Any], **more: Any) -> Self:
        """Make a new run directory; refuse one that holds something already."""
        run = cls(path)
        with clear_errors(path):
            if path.exists() and (not path.is_dir() or {each.name for each in path.iterdir()} - _UNFINISHED):
                raise RunDirectoryError(
                    f"expected a new or empty directory, got {path}, which exists: "
                    "continue it with `resume`, or choose another `run_dir`"
                )
            path.mkdir(parents=True, exist_ok=True)
            run.checkpoints.mkdir(exist_ok=True)
            write_json(
                path / "config.json",
                {
                    "format": FORMAT,
                    cls.kind: settings,
                    **more,
                    "command": [Path(sys.argv[0]).name.replace("__main__.py", "goexplore"), *sys.argv[1:]],
                    "versions": versions(*cls.libraries),
                },
            )
        return run

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run directory that is there."""
        run = cls(path)
        if not (path / "config.json").is_file():
            raise RunDirectoryError(
                f"expected a run directory with a config.json, got {path}: start one with `goexplore "
                f"{cls.verb}`"
            )
        written = run.info()
        if written.get("format") != FORMAT:
            raise RunDirectoryError(
                f"expected a run of format {FORMAT}, got format {written.get('format')!r} in {path}: "
                "read it with the version of goexplore in its config.json"
            )
        if cls.kind not in written:
            raise RunDirectoryError(
                f"expected a run of `goexplore {cls.verb}`, got {path}, which is of another kind: "
                "name another"
            )
        return run

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints."""
        return self.path / "checkpoints"

    @property
    def metrics_file(self) -> Path:
        """The file of metrics."""
        return self.path / "metrics.jsonl"

    def info(self) -> dict[str, Any]:
        """Return config.json as it is: settings, command and versions."""
        try:
            content = json.loads((self.path / "config.json").read_text())
        except (OSError, ValueError) as error:
            raise RunDirectoryError(
                f"expected JSON in {self.path / 'config.json'}, got {error}: put the file back"
            ) from error
        if not isinstance(content, dict):
            raise RunDirectoryError(f"expected a JSON object in {self.path / 'config.json'}: put it back")
        return content

    def _require(self, settings: dict[str, Any]) -> None:
        """Refuse to go on with other settings than the run was started with."""
        differ = differences(self.info().get(self.kind, {}), settings)
        if differ:
            raise ConfigError(
                f"expected the settings that {self.path} was started with, got others: {'; '.join(differ)}. "
                "Resume with the same settings, or start a new run"
            )

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from writing to this run; the lock goes with this process, however it ends.

        Workers that are forked meanwhile do not hold it: they may outlive a killed process by a second.
        """
        with clear_errors(self.path):
            file = open(self.path / "lock", "w")  # noqa: SIM115
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RunDirectoryError(
                    f"expected a run that nobody works on, got {self.path}, which another process has open: "
                    "wait for it, stop it, or choose another `run_dir`"
                ) from error
            _locks.add(file.fileno())
            try:
                yield
            finally:
                _locks.discard(file.fileno())

    def _write_checkpoint(self, write: Callable[[Path], list[Path]], content: dict[str, Any]) -> Path:
        """Write a checkpoint aside, bring it to the disk, then give it its name; keep the last two.

        `write` makes the files in a folder and returns them.
        """
        numbers = self._numbers()
        name = f"{(numbers[-1] if numbers else 0) + 1:06d}"
        aside, final = self.checkpoints / f".{name}.part", self.checkpoints / name
        with clear_errors(self.path):
            try:
                self._drop_unfinished()
                aside.mkdir()
                files = write(aside)
                sums = {file.name: file_sha256(file) for file in files}
                meta = {
                    "format": FORMAT,
                    "content": content,
                    "sha256": {**sums, "content": json_sha256(content)},
                }
                write_json(aside / "meta.json", meta)
                for file in files:
                    sync(file)
                sync(aside)
                aside.rename(final)
                sync(self.checkpoints)
            except OSError:
                shutil.rmtree(aside, ignore_errors=True)  # leave room for what is there already
                raise
        for number in self._numbers()[:-_KEPT_CHECKPOINTS]:
            shutil.rmtree(self.checkpoints / f"{number:06d}", ignore_errors=True)
        return final

    def _saved(self, folder: Path) -> SavedFiles:
        """Return a checkpoint if it is whole."""
        try:
            meta = json.loads((folder / "meta.json").read_text())
            if meta["format"] != FORMAT:
                raise CheckpointError(f"expected format {FORMAT}, got {meta['format']!r}")
            content, expected = meta["content"], meta["sha256"]
            sums = {name: file_sha256(folder / name) for name in expected if name != "content"}
            if {**sums, "content": json_sha256(content)} != expected:
                raise CheckpointError("expected files with the checksums in meta.json, got others")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"expected meta.json and its files, got {error!r}") from error
        return SavedFiles(folder=folder, content=content)

    def set_aside(self, damaged: Sequence[Path]) -> None:
        """Rename damaged checkpoints, so that whole ones are kept in their place."""
        for folder in damaged:
            with clear_errors(self.path):
                shutil.rmtree(folder.with_suffix(".damaged"), ignore_errors=True)
                folder.rename(folder.with_suffix(".damaged"))

    def _folders(self) -> list[Path]:
        """Return the checkpoints, the newest first."""
        return [self.checkpoints / f"{number:06d}" for number in reversed(self._numbers())]

    def _numbers(self) -> list[int]:
        if not self.checkpoints.is_dir():
            return []
        return sorted(int(folder.name) for folder in self.checkpoints.iterdir() if folder.name.isdigit())

    def _drop_unfinished(self) -> None:
        for folder in self.checkpoints.glob(".*.part"):
            shutil.rmtree(folder)

    def append_metrics(self, values: dict[str, Any]) -> None:
        """Append one line to metrics.jsonl."""
        with clear_errors(self.path), self.metrics_file.open("a") as file:
            file.write(json.dumps(values) + "\n")

    def metrics_lines(self) -> list[dict[str, Any]]:
        """Return all lines of metrics.jsonl; a last line that was cut off by a crash is left out."""
        lines = self.metrics_file.read_text().splitlines() if self.metrics_file.exists() else []
        values = []
        for line in lines:
            with contextlib.suppress(ValueError):
                values.append(json.loads(line))
        return [value for value in values if isinstance(value, dict)]

    def rewind_metrics(self, game_frames: int) -> None:
        """Drop the lines of work after a checkpoint: a resumed run will write them again."""
        kept = [line for line in self.metrics_lines() if line["game_frames"] <= game_frames]
        with clear_errors(self.path), written_whole(self.metrics_file) as aside:
            aside.write_text("".join(json.dumps(line) + "\n" for line in kept))


def is_started(path: Path) -> bool:
    """Return whether there is a run that can be resumed."""
    return (path / "config.json").is_file()


def is_training(path: Path) -> bool:
    """Return whether a run directory is that of a training, not of a search."""
    try:
        return "training" in json.loads((path / "config.json").read_text())
    except (OSError, ValueError, TypeError):
        return False


@contextlib.contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn what the file system says into one clear line."""
    try:
        yield
    except OSError as error:
        raise RunDirectoryError(
            f"expected to write to {path}, got {error.strerror or error}: free space, change permissions, or "
            "choose another `run_dir`; what was saved before is whole, and `resume` goes on from there"
        ) from error
