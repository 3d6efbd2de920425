"""Files of ours can always be read again, however well their content can be compressed."""

import threading
from dataclasses import dataclass
from io import BytesIO

import pyarrow as pa
import pytest

from goexplore.files import (
    as_counts,
    drop_parts,
    pack,
    parse_json,
    parse_table,
    read_table,
    unpack,
    whole_files,
    write_table,
    written_whole,
)


@pytest.mark.parametrize("size", [0, 10, 10**6, 10**8])
def test_what_is_packed_can_be_unpacked(size):
    assert unpack(list[bytes], pack([bytes(size)])) == [bytes(size)]


def test_a_small_file_that_stands_for_very_much_is_refused():
    packed = pack([bytes(10**8)])
    with pytest.raises(ValueError, match="100000006 bytes of content"):
        unpack(list[bytes], packed.rstrip(b"\0"))


@pytest.mark.parametrize("claimed", ["columns", "row groups"])
def test_a_table_that_claims_a_million_parts_is_refused_before_there_is_room_for_them(claimed):
    """The list's length stands before its first element: here, as a number of the Thrift compact protocol."""
    million = b"\x19\xfc\xc0\x84\x3d"
    one_column, no_rows = b"\x19\x1c\x48\x01a\x00", b"\x16\x00"
    footer = b"\x15\x02" + (million if claimed == "columns" else one_column + no_rows + million)
    file = b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    with pytest.raises(OSError, match="Exceeded size limit"):
        parse_table(BytesIO(file))


@pytest.mark.parametrize("wrong", [b"", b"x", b"x" * 100, pack({"a": 1}), pack([1]), pack([b"x"])[:-1]])
def test_anything_else_is_refused(wrong):
    with pytest.raises(ValueError, match=r"of other types, or damaged|bytes of content"):
        unpack(list[bytes], wrong)


def test_a_table_of_equal_rows_can_be_read_again(tmp_path):
    table = pa.table({"snapshot": pa.array([bytes(20_000)] * 6000, pa.large_binary())})
    write_table(table, tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").equals(table)


@pytest.mark.parametrize("number", [2**64, -(2**64), 10**400])
def test_whole_numbers_beyond_64_bits_are_refused_wherever_they_stand(number):
    with pytest.raises(ValueError, match="more than 64 bits"):
        parse_json(f'{{"a": [1, {{"b": [{number}]}}]}}')


def test_the_largest_seed_and_the_longest_fraction_are_read():
    assert parse_json(f"[{2**64 - 1}, 0.{'1' * 30}, true]") == [2**64 - 1, pytest.approx(1 / 9), True]


@dataclass(frozen=True, kw_only=True)
class Counts:
    batches: int = 0
    level: int = -1
    seconds: float = 0.0
    points: tuple[int, ...] = ()


def test_counts_are_read_as_they_are():
    values = {"batches": 2**62 - 1, "seconds": -1, "points": [0, 1]}
    assert as_counts(Counts, values) == Counts(batches=2**62 - 1, seconds=-1.0, points=(0, 1))


@pytest.mark.parametrize("values", [{"batches": -1}, {"batches": 2**62}, {"level": -2}, {"points": [0, -1]}])
def test_counts_that_cannot_be_are_refused(values):
    with pytest.raises(ValueError, match="which is no count"):
        as_counts(Counts, values)


def test_while_a_file_is_written_again_and_again_only_whole_ones_are_seen(tmp_path):
    ended = threading.Event()

    def write():
        while not ended.is_set():
            with written_whole(tmp_path / "episodes.json") as aside:
                aside.write_text("[]")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(200):
            assert whole_files(tmp_path, "*.json") in ([], [tmp_path / "episodes.json"])
            drop_parts(tmp_path)
    finally:
        ended.set()
        writer.join()
