"""JSON files that are there whole or not at all, and whose content cannot change unnoticed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import platform
import secrets
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec
import zstandard

from goexplore.errors import OutputError

Record = TypeVar("Record")

_NOT_FINISHED = 3600.0
_ROWS_PER_BYTE = 4
_MEMORY_PER_BYTE, _MEMORY = 300, 2**26
"""What a table may take in memory: so many bytes for each of its file, and so many more."""
_ROWS_AT_ONCE = 1024
_PARTS = 10_000
"""How many columns or row groups a table may have. Room for all of them is made before the first is read."""
_MOST = 2**62
"""What no count can reach: with 64 bits, it could not go on from there."""


@contextlib.contextmanager
def written_whole(file: Path) -> Iterator[Path]:
    """Yield a file to write to, which gets its name when all is written and goes where something fails.

    It is a new file with a name that nobody can foresee: a link that lies there must not lead us elsewhere.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f".{secrets.token_hex(8)}.part{file.suffix}")
    os.close(open_regular(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    try:
        yield aside
        sync(aside)
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)


def is_part(path: Path) -> bool:
    """Return whether this is a file that `written_whole` has not finished, or that has just got its name."""
    return fnmatch(path.name, ".*.part.*") and (path.is_symlink() or not path.is_dir())


def drop_parts(folder: Path) -> None:
    """Delete the files in a folder that nobody will finish any more: those that are an hour old."""
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process finished it meanwhile
            if is_part(path) and (path.is_symlink() or time.time() - path.stat().st_mtime > _NOT_FINISHED):
                path.unlink()


def whole_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files with names like a pattern, sorted, without those that are not whole."""
    return sorted(file for file in folder.glob(pattern) if not is_part(file))


def make_folder(folder: Path) -> Path:
    """Make a folder, and those above it; refuse a link in its place, which could lead anywhere."""
    if folder.is_symlink():
        raise NotADirectoryError(
            errno.ENOTDIR, f"a symbolic link at {folder}, where a folder of ours should be"
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def open_regular(file: Path, flags: int, *, through_links: bool = False) -> int:
    """Open a file, and return its descriptor: no pipe, no device and, unless that is wanted, no link."""
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | (0 if through_links else os.O_NOFOLLOW)
    try:
        handle = os.open(file, flags, 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OSError(errno.ELOOP, f"a symbolic link at {file}, where a regular file should be") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, f"a pipe, a device or a folder at {file}, where a regular file should be")
    return handle


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
        with tempfile.NamedTemporaryFile(prefix=".", suffix=".part", dir=file.parent):
            pass


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


def open_to_read(file: Path) -> BinaryIO:
    """Open a file that may be anybody's: a pipe or a device would let us wait for ever."""
    return os.fdopen(open_regular(file, os.O_RDONLY, through_links=True), "rb")


def read_json(file: Path) -> Any:
    """Return the values of a JSON file; raise ValueError for one that is none."""
    with open_to_read(file) as stream:
        return parse_json(stream.read())


def tensors_metadata(content: bytes) -> dict[str, str]:
    """Return the texts in the header of a safetensors file, of which all else is known to be whole.

    The library reads them from a path alone, and takes no path that is not UTF-8.
    """
    size = int.from_bytes(content[:8], "little")
    header = as_record(dict[str, Any], parse_json(content[8 : 8 + size]))
    return as_record(dict[str, str], header.get("__metadata__", {}))


def parse_json(text: bytes | str) -> Any:
    """Return the values of strict JSON, without NaN and Infinity; raise ValueError for anything else.

    Whole numbers have 64 bits at most: larger ones are none of ours, and few libraries take them.
    """
    try:
        values = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"invalid JSON: {error}") from error
    if any(abs(each) >= 2**64 for _, each in _integers("", values)):
        raise ValueError("a whole number of more than 64 bits")
    return values


def _integers(name: str, values: Any) -> Iterator[tuple[str, int]]:
    """Yield all whole numbers in JSON values, each with the name of the value that it is or belongs to."""
    waiting = [(name, values)]
    while waiting:
        name, value = waiting.pop()
        if type(value) is int:
            yield name, value
        elif isinstance(value, dict):
            waiting.extend(value.items())
        elif isinstance(value, list | tuple):
            waiting.extend((name, each) for each in value)


def as_record(kind: type[Record], values: Any) -> Record:
    """Return values of a file as a dataclass; raise ValueError where a type is not the declared one."""
    try:
        return msgspec.convert(values, kind)
    except msgspec.MsgspecError as error:
        raise ValueError(f"a value of the wrong type, or a missing one ({error})") from error


def as_counts(kind: type[Record], values: Any) -> Record:
    """Return values of a file as a dataclass whose whole numbers are counts; refuse impossible ones.

    A level may be -1, where there are none.
    """
    record = as_record(kind, values)
    for name, count in _integers("", msgspec.to_builtins(record)):
        if not (-1 if name == "level" else 0) <= count < _MOST:
            raise ValueError(f"{name} {count}, which is no count")
    return record


def _most_memory(size: int) -> int:
    """Return how many bytes of content we take from a file of this size."""
    return _MEMORY_PER_BYTE * size + _MEMORY


def pack(values: Any) -> bytes:
    """Return plain values, bytes and dataclasses in compressed form.

    Where that is shorter than `unpack` would believe, zeros follow, which it ignores.
    """
    content = msgspec.msgpack.encode(values)
    packed = zstandard.compress(content)
    return packed.ljust(max(0, len(content) - _MEMORY) // _MEMORY_PER_BYTE + 1, b"\0")


def unpack(kind: type[Record], packed: bytes) -> Record:
    """Return what `pack` was given; raise ValueError for anything else, and for far too much content."""
    try:
        size = zstandard.frame_content_size(packed)
        if not 0 <= size <= _most_memory(len(packed)):
            raise ValueError(f"{size} bytes of content in {len(packed)} bytes")
        return msgspec.msgpack.decode(zstandard.decompress(packed), type=kind)
    except (zstandard.ZstdError, msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"values of other types, or damaged ones ({error})") from error


def read_batches(file: Path) -> Iterator[Any]:
    """Yield what a Parquet file holds, some rows at a time; refuse far more content than its size allows.

    A few kilobytes can stand for any number of equal rows. Hardly any of our rows are equal.
    """
    with open_to_read(file) as stream:
        yield from _batches(stream)


def open_parquet(stream: BinaryIO) -> Any:
    """Open a Parquet file, whose first words may claim anything."""
    import pyarrow.parquet as pq

    size = stream.seek(0, os.SEEK_END)
    return pq.ParquetFile(
        stream, pre_buffer=False, thrift_string_size_limit=max(size, 1), thrift_container_size_limit=_PARTS
    )


def _batches(stream: BinaryIO, names: Sequence[str] | None = None) -> Iterator[Any]:
    size = stream.seek(0, os.SEEK_END)
    parquet = open_parquet(stream)
    groups = [parquet.metadata.row_group(number) for number in range(parquet.num_row_groups)]
    rows, most = sum(group.num_rows for group in groups), _most_memory(size)
    if rows > _ROWS_PER_BYTE * size:
        raise ValueError(f"{rows} rows in a file of {size} bytes")
    columns = [group.column(each) for group in groups for each in range(group.num_columns)]
    taken = sum(column.total_uncompressed_size for column in columns)
    if taken <= most:
        taken = 0
        # Without threads: pyarrow's and Python's files do not get on at the end of a process.
        for batch in parquet.iter_batches(batch_size=_ROWS_AT_ONCE, columns=names, use_threads=False):
            taken += batch.nbytes
            if taken > most:
                break
            yield batch
    if taken > most:
        raise ValueError(f"more than {most} bytes of content in a file of {size} bytes")


def parse_table(stream: BinaryIO, names: Sequence[str] | None = None) -> Any:
    """Return all that a Parquet file holds, or some columns of it, as `read_batches` does."""
    import pyarrow as pa

    batches = list(_batches(stream, names))
    schema = open_parquet(stream).schema_arrow
    if names is not None:
        schema = pa.schema([schema.field(name) for name in schema.names if name in names])
    return pa.Table.from_batches(batches, schema)


def read_table(file: Path) -> Any:
    """Return all that a Parquet file holds, as `read_batches` does."""
    with open_to_read(file) as stream:
        return parse_table(stream)


class DifferentTablesError(Exception):
    """Tables for one file that have other columns, or columns of other types, than the first one."""


def write_table(table: Any, file: Path) -> None:
    """Write a Parquet file; equal tables give equal bytes."""
    write_tables(lambda: iter([table]), file)


def write_tables(tables: Callable[[], Iterator[Any]], file: Path, **settings: Any) -> None:
    """Write one table or more below each other, each as a row group; equal ones give equal bytes.

    What would become shorter than `read_batches` believes is not compressed, and is asked for again.
    """
    import pyarrow.parquet as pq

    for how in ({"compression": "zstd", **settings}, {"compression": "none", "use_dictionary": False}):
        content = rows = 0
        with file.open("wb") as stream, contextlib.ExitStack() as stack:
            writer = None
            for table in tables():
                if writer is None:  # pyarrow itself takes no names that are not UTF-8
                    writer = stack.enter_context(pq.ParquetWriter(stream, table.schema, **how))
                elif table.schema != writer.schema:
                    raise DifferentTablesError
                writer.write_table(table)
                content, rows = content + table.nbytes, rows + table.num_rows
        size = file.stat().st_size
        if content <= _most_memory(size) and rows <= _ROWS_PER_BYTE * size:
            return


def append_line(file: Path, line: str | bytes) -> None:
    """Add a line to a file of ours."""
    handle = open_regular(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with os.fdopen(handle, "ab") as opened:
        opened.write((line.encode() if isinstance(line, str) else line) + b"\n")


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
    with open_to_read(file) as stream:
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
