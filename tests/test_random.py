import itertools

from scipy import stats

from goexplore.random import SplitMix64, stream_state


def test_draws_are_those_of_the_published_generator():
    assert SplitMix64(1234567).words(3).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_single_draws_are_those_drawn_together():
    one_by_one, together = SplitMix64(77), SplitMix64(77)
    assert [one_by_one.word() for _ in range(5)] == together.words(5).tolist()
    assert one_by_one.word() == together.word()


def test_a_stream_goes_on_where_it_stopped():
    at_once, in_parts = SplitMix64(5), SplitMix64(5)
    assert at_once.words(7).tolist() == [*in_parts.words(3).tolist(), *in_parts.words(4).tolist()]


def test_numbers_below_a_limit_are_the_upper_half_scaled():
    words = SplitMix64(9).words(100)
    expected = [(int(word) >> 32) * 18 >> 32 for word in words]
    assert SplitMix64(9).below(18, 100).tolist() == expected
    assert set(SplitMix64(9).below(18, 2000).tolist()) == set(range(18))


def test_uniform_numbers_are_uniform():
    drawn = SplitMix64(3).uniform(20_000)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert stats.kstest(drawn, "uniform").pvalue > 0.001


def test_streams_of_different_numbers_differ():
    numbers = list(itertools.product(range(5), range(20), range(20)))
    assert len({stream_state(*each) for each in numbers}) == len(numbers)
    assert stream_state(1, 2) != stream_state(2, 1)
