"""Questions about a table of cells."""

import pyarrow as pa
import pytest

from goexplore.archive import select
from goexplore.errors import ConfigError

TABLE = pa.table({"room": [1, 2, 2, 5], "score": [0.0, 100.0, 400.0, 400.0], "keys": ["", "1", "1,7", ""]})


def rows(text, sort=None, descending=False):
    return select(TABLE, text, sort=sort, descending=descending).to_pylist()


@pytest.mark.parametrize(
    ("text", "rooms"),
    [
        ("room == 2", [2, 2]),
        ("room != 2", [1, 5]),
        ("score > 100", [2, 5]),
        ("score >= 100 and room < 5", [2, 2]),
        ("room == 1 or room == 5", [1, 5]),
        ("not room == 2", [1, 5]),
        ("1 < room <= 5 and score == 400", [2, 5]),
        ("keys == '1,7'", [2]),
        ("score > -1", [1, 2, 2, 5]),
        ("room == 1 and score > 0 or room == 5", [5]),
        ("  room == 1  ", [1]),
        (None, [1, 2, 2, 5]),
    ],
)
def test_conditions(text, rooms):
    assert [row["room"] for row in rows(text)] == rooms


def test_the_order_of_a_column():
    assert [row["score"] for row in rows(None, "score", True)] == [400, 400, 100, 0]
    assert [row["score"] for row in rows("room > 1", "score")] == [100, 400, 400]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rom == 2", "got 'rom'. Did you mean room?"),
        ("room ==", "expected a condition"),
        ("room", "expected comparisons, and, or, not"),
        ("room in (1, 2)", "expected ==, !=, <, <=, > or >="),
        ("room == '2'", "compare numbers with numbers"),
        ("room == None", "expected a column, a number or a text"),
        ("__import__('os').remove('x') == 1", "expected a column, a number or a text"),
        ("room == (lambda: 2)()", "expected a column, a number or a text"),
        ("room == 99999999999999999999999", "expected a column, a number or a text"),
        ("{[]: 1} == room", "expected a column, a number or a text"),
        ("room == '\ud800'", "expected a"),
        ("(" * 300 + "room" + ")" * 300, "expected a condition"),
    ],
)
def test_what_is_no_condition_is_told_and_never_run(text, message):
    with pytest.raises(ConfigError) as caught:
        rows(text)
    assert message in str(caught.value)


def test_an_unknown_column_to_sort_by_is_told():
    with pytest.raises(ConfigError, match=r"expected a column to sort by \(room, score, keys\), got 'rooms'"):
        rows(None, "rooms")
