"""What does not fit below a memory limit goes to the disk, and nobody can tell the difference."""

import errno
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goexplore import _native as native
from goexplore.archive import MemoryLimit, parse_size, size_text
from goexplore.archive import _spill as spill_module
from goexplore.archive._byte_store import ByteStore
from goexplore.errors import ConfigError, MemoryLimitError, RunDirectoryError
from tests.fields import candidate, result, rooted

GIB = 2**30


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2G", 2 * GIB),
        ("1.5g", 3 * GIB // 2),
        ("500M", 500 * 2**20),
        (" 100_000K", 100_000 * 1024),
        ("4GiB", 4 * GIB),
        ("2147483648", 2 * GIB),
        (2 * GIB, 2 * GIB),
    ],
)
def test_sizes_are_numbers_of_bytes_or_texts_with_a_unit(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "-2G", "2X", "1e9", "2 G 3", "nan", 2, "2", 0, 1.5, True, "9999T"])
def test_sizes_that_make_no_sense_are_refused(text):
    with pytest.raises(ConfigError, match="`memory_limit`"):
        parse_size(text)


def test_sizes_are_written_for_people():
    assert [size_text(size) for size in (3 * 2**20, 1536 * 2**20)] == ["3 MiB", "1.50 GiB"]


@settings(max_examples=50, deadline=None)
@given(
    operations=st.lists(st.tuples(st.integers(0, 5), st.binary(max_size=60)), max_size=150),
    spills=st.sets(st.integers(0, 150), min_size=1),
)
def test_a_store_on_the_disk_gives_the_same_handles_and_strings(tmp_path_factory, operations, spills):
    folder = tmp_path_factory.mktemp("disk")
    stores, kept = (ByteStore(), ByteStore()), []
    for number, (what, value) in enumerate(operations):
        if number in spills:
            stores[1].spill(folder)
        if what == 0 and kept:
            handle = kept.pop()
            for store in stores:
                store.discard(handle)
        else:
            one, other = (store.put(value) for store in stores)
            assert one == other
            kept.append(one)
    assert [stores[0].get(handle) for handle in kept] == [stores[1].get(handle) for handle in kept]
    handles = np.array(kept, np.int32)
    assert stores[0].gather(handles)[1] == stores[1].gather(handles)[1]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("spilled", [True, False])
def test_many_strings_at_once_are_stored_as_one_by_one(compiled, spilled, tmp_path, monkeypatch):
    if not compiled:
        monkeypatch.setattr(native, "archive", None)
    strings = [bytes([number]) * (number % 40) for number in range(200)]
    one_by_one, at_once = ByteStore(), ByteStore()
    if spilled:
        at_once.spill(tmp_path)
    expected = [one_by_one.put(string) for string in [b"first", *strings]][1:]
    at_once.put(b"first")
    begins = np.cumsum([0, *map(len, strings)])
    assert at_once.put_all(begins, b"".join(strings)).tolist() == expected
    assert [at_once.get(handle) for handle in expected] == strings
    assert one_by_one.put(b"next") == at_once.put(b"next")


def test_a_file_without_a_name_grows_and_keeps_its_content_when_pages_are_dropped(tmp_path):
    store = ByteStore()
    handles = [store.put(os.urandom(3000)) for _ in range(100)]
    store.spill(tmp_path)
    values = {handle: store.get(handle) for handle in handles}
    for number in range(2000):
        value = number.to_bytes(2, "little") * 1500
        values[store.put(value)] = value
        if number % 500 == 0:
            store.spill(tmp_path)
    assert 6_000_000 < store.spilled < 8_000_000
    assert {handle: store.get(handle) for handle in values} == values
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_a_way_to_reserve_room_is_written_to(tmp_path, monkeypatch):
    def refuse(*given):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(spill_module.os, "posix_fallocate", refuse)
    store = ByteStore()
    first = store.put(b"first")
    store.spill(tmp_path)
    handles = [store.put(bytes([number]) * 100_000) for number in range(30)]
    assert store.get(first) == b"first"
    assert [store.get(handle)[0] for handle in handles] == list(range(30))


class Meter:
    """A resident memory as a test wants it."""

    def __init__(self, taken):
        self.taken = taken

    def __call__(self):
        return self.taken


def test_strings_stay_in_memory_until_the_limit_nears(tmp_path):
    meter = Meter(GIB // 2)
    archive = rooted(memory_limit=MemoryLimit("1G", folder=tmp_path, resident=meter))
    archive.relieve()
    assert archive.spilled == 0
    meter.taken = int(0.95 * GIB)
    archive.relieve(while_read=True)
    assert archive.spilled == 0, "somebody reads them"
    archive.relieve()
    assert archive.spilled > 0
    assert archive.memory_limit.seconds > 0
    assert archive[0].snapshot == b"state of start"


def test_what_cannot_leave_the_memory_is_told_in_one_line(tmp_path):
    meter = Meter(GIB)
    archive = rooted(memory_limit=MemoryLimit(GIB, folder=tmp_path, resident=meter))
    archive.require_memory()
    meter.taken += 2**20
    with pytest.raises(MemoryLimitError, match=r"`memory_limit` of 1\.00 GiB, got .* for 1 cells: raise the"):
        archive.require_memory()
    with pytest.raises(MemoryLimitError, match="before the search begins"):
        archive.memory_limit.require(0)


def test_a_full_disk_changes_nothing_and_is_told_in_one_line(tmp_path, monkeypatch):
    archive = rooted(memory_limit=MemoryLimit(GIB, folder=tmp_path, resident=Meter(GIB)))

    def full(*given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(spill_module.os, "posix_fallocate", full)
        with pytest.raises(RunDirectoryError, match="No space left on device: free space there, or raise"):
            archive.relieve()
    assert archive.spilled == 0
    assert archive[0].snapshot == b"state of start"
    archive.relieve()
    assert archive.spilled > 0
    monkeypatch.setattr(spill_module.os, "posix_fallocate", full)
    large = result(*(candidate(bytes([number]) * 60_000) for number in range(40)))
    with pytest.raises(RunDirectoryError, match="No space left"):
        archive.update([archive[0]], [large], game_frame=1)
    assert len(archive) == len(archive.segments) == 1
    assert archive.values("times_chosen").tolist() == [0]
