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
from time import sleep
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from goexplore.errors import CheckpointError, ConfigError, RunDirectoryError
from goexplore.files import (
    append_line,
    as_counts,
    as_record,
    drop_parts,
    file_sha256,
    is_file,
    is_part,
    json_sha256,
    make_folder,
    open_regular,
    open_to_read,
    parse_json,
    read_json,
    sync,
    versions,
    write_json,
    written_whole,
)
from goexplore.problems import differences
from goexplore.runs._metrics import SearchMetrics, TrainingMetrics

if TYPE_CHECKING:
    from typing_extensions import Self

Line = TypeVar("Line", SearchMetrics, TrainingMetrics)

FORMAT = 2
"""Version of the run directory's format; raised when older versions of goexplore could not read it."""

_KEPT_CHECKPOINTS = 2
_DAMAGED_METRICS = "metrics.damaged.jsonl"
_TRIES_TO_LOCK = 5


def _command() -> list[str]:
    """Return the command that runs, as text: names of files need not be."""
    words = [Path(sys.argv[0]).name.replace("__main__.py", "goexplore"), *sys.argv[1:]]
    return [os.fsencode(word).decode(errors="backslashreplace") for word in words]


def _is_unfinished(path: Path) -> bool:
    """Return whether something may be left of a run that ended before it had begun."""
    empty = path.name == "checkpoints" and path.is_dir() and not any(path.iterdir())
    return empty or path.name in ("lock", "outcome.json") or is_part(path)


@dataclass(frozen=True, kw_only=True)
class _Format:
    """What every config.json of any version holds."""

    format: int | None = None


@dataclass(frozen=True, kw_only=True)
class _Written:
    """What every config.json of this version holds, beside the settings."""

    command: list[str]
    versions: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    """What outcome.json holds."""

    outcome: str


@dataclass(frozen=True, kw_only=True)
class SavedFiles:
    """A checkpoint whose files are whole."""

    folder: Path
    content: dict[str, Any]
    """What its meta.json holds."""
    sha256: dict[str, str]
    """The checksums of its files, and of the content."""


_locks: set[int] = set()
"""Descriptors of the files that this process has locked."""


_KILLED = "killed"
"""What is said of a process that could not say how it ended."""
_LONGEST_OUTCOME = 1000


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
    files: ClassVar[tuple[str, ...]] = ()
    """The names of a checkpoint's files."""
    optional_files: ClassVar[tuple[str, ...]] = ()
    """The names of files that a checkpoint may have."""

    def __init__(self, path: Path) -> None:
        """Use `create` or `open` instead."""
        self.path = path

    @classmethod
    @contextlib.contextmanager
    def _create(cls, path: Path, settings: dict[str, Any], **more: Any) -> Iterator[Self]:
        """Make a new run directory and keep it locked; refuse one that holds something already.

        It is locked before anything is written to it: two may start at the same moment.
        """
        run = cls(path)
        with clear_errors(path):
            run._require_empty()  # before a lock is left in somebody's folder
            path.mkdir(parents=True, exist_ok=True)
        with run.locked():
            with clear_errors(path):
                run._require_empty()
                make_folder(run.checkpoints)
                write_json(
                    path / "config.json",
                    {
                        "format": FORMAT,
                        cls.kind: settings,
                        **more,
                        "command": _command(),
                        "versions": versions(*cls.libraries),
                    },
                )
            yield run

    def _require_empty(self) -> None:
        path = self.path
        if not os.path.lexists(path):
            return
        if not path.is_dir() or any(not _is_unfinished(each) for each in path.iterdir()):
            raise RunDirectoryError(
                f"expected a new or empty directory, got {path}, which exists: "
                "continue it with `resume`, or choose another `run_dir`"
            )

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run directory that is there."""
        run = cls(path)
        if not is_started(path):
            raise RunDirectoryError(
                f"expected a run directory with a config.json, got {path}: start one with `goexplore "
                f"{cls.verb}`"
            )
        run._refuse_links()
        written = run.info()
        if written.get("format") != FORMAT:
            raise RunDirectoryError(
                f"expected a run of format {FORMAT}, got format {written.get('format')!r} in {path}: "
                "read it with the version of goexplore in its config.json"
            )
        if not isinstance(written.get(cls.kind), dict):
            raise RunDirectoryError(
                f"expected a run of `goexplore {cls.verb}`, got {path}, which is of another kind: "
                "name another run directory"
            )
        return run

    def _refuse_links(self) -> None:
        """Refuse folders that are links: what we write or delete there would be somebody else's.

        Refuse pipes and devices too: to read one could take for ever.
        """
        for path in self.path.iterdir():
            if path.exists() and not path.is_file() and not path.is_dir():
                raise RunDirectoryError(
                    f"expected files and folders in {self.path}, got {path.name}, a pipe or device: delete it"
                )
            if path.is_symlink() and path.is_dir():
                raise RunDirectoryError(
                    f"expected folders in {self.path}, got a symbolic link, {path.name}: replace "
                    "the link by the folder itself (the whole run directory may be a link)"
                )

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
            content = read_json(self.path / "config.json")
            as_record(_Written if as_record(_Format, content).format == FORMAT else _Format, content)
        except (OSError, ValueError) as error:
            raise RunDirectoryError(
                f"expected a run's settings in {self.path / 'config.json'}, got {error}: put the file back"
            ) from error
        return cast("dict[str, Any]", content)

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
            handle = open_regular(self.path / "lock", os.O_RDWR | os.O_CREAT)
        _locks.add(handle)
        try:
            self._take(handle)
            with contextlib.suppress(OSError):
                self._outcome_file.unlink()
            try:
                yield
            except BaseException as error:
                self._write_outcome(f"failed: {str(error) or type(error).__name__}")
                raise
            self._write_outcome("ended")
        finally:
            _locks.discard(handle)
            os.close(handle)

    @property
    def _outcome_file(self) -> Path:
        return self.path / "outcome.json"

    def _write_outcome(self, outcome: str) -> None:
        """Write how the work ended; a full disk or a folder that is gone does not make matters worse."""
        if self.path.is_dir():
            with contextlib.suppress(OSError):
                write_json(self._outcome_file, {"outcome": outcome[:_LONGEST_OUTCOME]})

    def outcome(self) -> str:
        """Return how the last process that worked on this run ended: ended, failed: why, or killed."""
        try:
            return as_record(_Outcome, read_json(self._outcome_file)).outcome[:_LONGEST_OUTCOME]
        except (OSError, ValueError):
            return _KILLED

    def is_worked_on(self) -> bool:
        """Return whether a process has this run open for writing, without disturbing it."""
        try:
            handle = open_regular(self.path / "lock", os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def last_sign_of_life(self) -> float | None:
        """Return when a line of metrics or a checkpoint was written last, in seconds since 1970."""
        times = []
        for path in (self.metrics_file, self.checkpoints):
            with contextlib.suppress(OSError):
                times.append(path.stat().st_mtime)
        return max(times, default=None)

    def _take(self, handle: int) -> None:
        for _ in range(_TRIES_TO_LOCK):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            sleep(0.05)  # somebody may just be looking whether it is worked on
        else:
            raise RunDirectoryError(
                f"expected a run that nobody works on, got {self.path}, which another process has open: "
                "wait for it, stop it, or choose another `run_dir`"
            )
        with clear_errors(self.path):
            drop_parts(self.path)

    def _write_checkpoint(self, write: Callable[[Path], list[Path]], content: dict[str, Any]) -> Path:
        """Write a checkpoint aside, bring it to the disk, then give it its name; keep the last two.

        `write` makes the files in a folder and returns them.
        """
        numbers = self._numbers()
        name = f"{(numbers[-1] if numbers else 0) + 1:06d}"
        aside, final = self.checkpoints / f".{name}.part", self.checkpoints / name
        with clear_errors(self.path):
            try:
                make_folder(self.checkpoints)
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
            except BaseException:
                shutil.rmtree(aside, ignore_errors=True)  # leave room for what is there already
                raise
        for number in self._numbers()[:-_KEPT_CHECKPOINTS]:
            shutil.rmtree(self.checkpoints / f"{number:06d}", ignore_errors=True)
        return final

    def _saved(self, folder: Path) -> SavedFiles:
        """Return a checkpoint if it is whole."""
        try:
            meta = read_json(folder / "meta.json")
            if meta["format"] != FORMAT:
                raise CheckpointError(f"expected format {FORMAT}, got {meta['format']!r}")
            content, expected = meta["content"], meta["sha256"]
            required = {*self.files, "content"}
            if not required <= set(expected) <= {*required, *self.optional_files}:
                raise CheckpointError("expected the checksums of a checkpoint's files, got others")
            sums = {name: file_sha256(folder / name) for name in expected if name != "content"}
            if {**sums, "content": json_sha256(content)} != expected:
                raise CheckpointError("expected files with the checksums in meta.json, got others")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"expected meta.json and its files, got {error!r}") from error
        return SavedFiles(folder=folder, content=content, sha256=expected)

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
        names = [folder.name for folder in self.checkpoints.iterdir()]
        return sorted(int(name) for name in names if name.isascii() and name.isdigit() and len(name) >= 6)

    def _drop_unfinished(self) -> None:
        for folder in self.checkpoints.glob(".*.part"):
            shutil.rmtree(folder) if folder.is_dir() and not folder.is_symlink() else folder.unlink()

    def append_metrics(self, values: dict[str, Any]) -> None:
        """Append one line to metrics.jsonl."""
        with clear_errors(self.path):
            append_line(self.metrics_file, json.dumps(values))

    def read_metrics(self, kind: type[Line]) -> list[Line]:
        """Return the lines of metrics.jsonl; those that are damaged are left out."""
        return [record for _, record in self._metrics_lines(kind) if record is not None]

    def _metrics_lines(self, kind: type[Line]) -> list[tuple[bytes, Line | None]]:
        """Return the lines of metrics.jsonl, and what they stand for: None where they are damaged."""
        if not self.metrics_file.exists():
            return []
        try:
            with open_to_read(self.metrics_file) as file:
                content = file.read()
        except OSError as error:
            raise RunDirectoryError(
                f"expected to read {self.metrics_file}, got {error.strerror or error}: put the file back"
            ) from error
        found: list[tuple[bytes, Line | None]] = []
        for line in filter(None, content.split(b"\n")):
            record: Line | None = None
            with contextlib.suppress(ValueError):
                record = as_counts(kind, parse_json(line))
            found.append((line + b"\n", record))
        return found

    def _rewind_metrics(self, kind: type[Line], game_frames: int) -> list[str]:
        """Drop the lines of work after a checkpoint: a resumed run will write them again.

        Return what the user should know.
        """
        lines = self._metrics_lines(kind)
        kept = [line for line, record in lines if record is not None and record.game_frames <= game_frames]
        damaged = [line for line, record in lines if record is None]
        with clear_errors(self.path):
            with written_whole(self.metrics_file) as aside:
                aside.write_bytes(b"".join(kept))
            if not damaged:
                return []
            for line in damaged:  # beside those that were set aside before
                append_line(self.path / _DAMAGED_METRICS, line.rstrip(b"\n"))
        how_many = "1 damaged line" if len(damaged) == 1 else f"{len(damaged)} damaged lines"
        return [f"{how_many} of metrics.jsonl set aside in {_DAMAGED_METRICS}"]


def is_started(path: Path) -> bool:
    """Return whether there is a run that can be resumed."""
    return is_file(path / "config.json")


def is_training(path: Path) -> bool:
    """Return whether a run directory is that of a training, not of a search."""
    try:
        return "training" in read_json(path / "config.json")
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
