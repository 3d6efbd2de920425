import pickle

from hypothesis import given
from hypothesis import strategies as st

from goexplore.archive import UNKNOWN, Scoreboard, Standing


def test_a_higher_score_wins_then_a_shorter_trajectory():
    assert Standing(2.0, 9).beats(Standing(1.0, 1))
    assert Standing(1.0, 8).beats(Standing(1.0, 9))
    assert not Standing(1.0, 9).beats(Standing(1.0, 9))
    assert not Standing(0.0, 1).beats(Standing(1.0, 9))


@given(st.lists(st.binary(max_size=4), max_size=300))
def test_cells_are_numbered_in_the_order_of_their_arrival(cells):
    board, known = Scoreboard(), {}
    for cell in cells:
        assert board.find(cell) == known.get(cell, UNKNOWN)
        if cell not in known:
            known[cell] = board.add(cell, Standing(float(len(known)), 1))
    assert list(known.values()) == list(range(len(known)))
    assert all(board.find(cell) == number for cell, number in known.items())


def test_it_grows_to_many_cells():
    board = Scoreboard()
    for number in range(20_000):
        board.add(str(number).encode(), Standing(0.0, number))
    assert all(board.find(str(number).encode()) == number for number in range(0, 20_000, 7))
    assert board.find(b"20000") == UNKNOWN


def test_a_copy_kept_up_to_date_is_equal():
    board, copy = Scoreboard(), Scoreboard()
    for number in range(2000):
        known = len(board)
        board.add(str(number).encode(), Standing(0.0, 100))
        improved = set()
        if number % 3 == 0:
            board.improve(number // 2, Standing(1.0, number))
            improved = {number // 2}
        copy.apply(pickle.loads(pickle.dumps(board.since(known, improved))))
    fresh = Scoreboard()
    fresh.apply(board.since(0, set()))
    for other in (copy, fresh):
        assert other.columns() == board.columns()
        assert all(other.find(str(number).encode()) == number for number in range(2000))
