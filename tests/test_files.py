"""Files of ours can always be read again, however well their content can be compressed."""

import pyarrow as pa
import pytest

from goexplore.files import pack, read_table, unpack, write_table


@pytest.mark.parametrize("size", [0, 10, 10**6, 10**8])
def test_what_is_packed_can_be_unpacked(size):
    assert unpack(list[bytes], pack([bytes(size)])) == [bytes(size)]


def test_a_small_file_that_stands_for_very_much_is_refused():
    packed = pack([bytes(10**8)])
    with pytest.raises(ValueError, match="100000006 bytes of content"):
        unpack(list[bytes], packed.rstrip(b"\0"))


@pytest.mark.parametrize("wrong", [b"", b"x", b"x" * 100, pack({"a": 1}), pack([1]), pack([b"x"])[:-1]])
def test_anything_else_is_refused(wrong):
    with pytest.raises(ValueError, match=r"of other types, or damaged|bytes of content"):
        unpack(list[bytes], wrong)


def test_a_table_of_equal_rows_can_be_read_again(tmp_path):
    table = pa.table({"snapshot": pa.array([bytes(20_000)] * 6000, pa.large_binary())})
    write_table(table, tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").equals(table)
