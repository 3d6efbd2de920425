import pickle

from hypothesis import given
from hypothesis import strategies as st

from goexplore.archive import END, UNKNOWN, ScoreIndex, ScoreLength


def test_a_higher_score_wins_then_a_shorter_trajectory():
    assert ScoreLength(2.0, 9).beats(ScoreLength(1.0, 1))
    assert ScoreLength(1.0, 8).beats(ScoreLength(1.0, 9))
    assert not ScoreLength(1.0, 9).beats(ScoreLength(1.0, 9))
    assert not ScoreLength(0.0, 1).beats(ScoreLength(1.0, 9))


@given(st.lists(st.tuples(st.binary(max_size=4), st.booleans()), max_size=300))
def test_cells_and_their_ends_are_numbered_in_the_order_of_their_arrival(visits):
    score_index, known = ScoreIndex(), {}
    for cell, ended in visits:
        assert score_index.find(cell, tag=END if ended else "") == known.get((cell, ended), UNKNOWN)
        if (cell, ended) not in known:
            number = score_index.add(cell, ScoreLength(float(len(known)), 1), tag=END if ended else "")
            known[cell, ended] = number
    assert list(known.values()) == list(range(len(known)))
    assert all(
        score_index.find(cell, tag=END if ended else "") == number for (cell, ended), number in known.items()
    )


def test_it_grows_to_many_cells():
    score_index = ScoreIndex()
    for number in range(20_000):
        score_index.add(str(number).encode(), ScoreLength(0.0, number))
    assert all(score_index.find(str(number).encode()) == number for number in range(0, 20_000, 7))
    assert score_index.find(b"20000") == UNKNOWN


def test_a_copy_kept_up_to_date_is_equal():
    score_index, copy = ScoreIndex(), ScoreIndex()
    for number in range(2000):
        known = len(score_index)
        score_index.add(str(number).encode(), ScoreLength(0.0, 100), tag=END if number % 5 == 0 else "")
        improved = set()
        if number % 3 == 0:
            score_index.improve(number // 2, ScoreLength(1.0, number))
            improved = {number // 2}
        copy.apply(pickle.loads(pickle.dumps(score_index.since(known, improved))))
    fresh = ScoreIndex()
    for piece in score_index.pieces():
        fresh.apply(piece)
    for other in (copy, fresh):
        assert other.column("score") == score_index.column("score")
        assert other.column("length") == score_index.column("length")
        assert all(
            other.find(str(number).encode(), tag=END if number % 5 == 0 else "") == number
            for number in range(2000)
        )


def test_a_copy_has_the_objectives_too():
    score_index, copy = ScoreIndex(), ScoreIndex()
    for number in range(3):
        score_index.add(str(number).encode(), ScoreLength(0.0, 9, float(number)))
    for piece in score_index.pieces():
        copy.apply(piece)
    score_index.improve(1, ScoreLength(5.0, 7, 8.0))
    copy.apply(score_index.since(3, {1}))
    assert [copy.score_length(number) for number in range(3)] == [
        ScoreLength(0.0, 9, 0.0),
        ScoreLength(5.0, 7, 8.0),
        ScoreLength(0.0, 9, 2.0),
    ]
