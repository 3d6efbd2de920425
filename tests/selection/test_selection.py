"""The formulas of paper appendix A.5, by hand."""

import numpy as np
import pytest
from scipy import stats

from goexplore.archive import START, Archive, ScoreLength, Update
from goexplore.cells import End
from goexplore.envs import NOWHERE
from goexplore.errors import ConfigError
from goexplore.random import SplitMix64
from goexplore.selection import (
    CountScore,
    NeighbourScore,
    RankScore,
    StartSelection,
    UniformSelection,
    WeightedSelection,
)

# Cells of these tests are bytes: level, x, y, then one byte per held key.


def horizontal(cell):
    return [cell[:1] + bytes([x]) + cell[2:] for x in (cell[1] - 1, cell[1] + 1)]


def vertical(cell):
    return [cell[:2] + bytes([y]) + cell[3:] for y in (cell[2] - 1, cell[2] + 1)]


def insert(archive, cell, end=End.NONE):
    archive.insert(bytes(cell), b"", ScoreLength(0.0, 1), START, NOWHERE, found_at=0, end=end)


def archive_of(*cells, ends=(), **counters):
    """Return an archive of cells and then of the ends of episodes in some cells."""
    archive = Archive()
    for cell in cells:
        insert(archive, cell)
    for cell in ends:
        insert(archive, cell, End.TERMINATED)
    for name, values in counters.items():
        archive.set_counter(name, np.array(values, np.int32))
    return archive


def refreshed(selection, archive):
    everything = range(len(archive))
    selection.refresh(archive, Update(added=everything, touched=set(everything)))
    return selection


def select(archive, *subscores, **settings):
    return refreshed(WeightedSelection(subscores, **settings), archive)


def paper_score(count, weight):
    return weight * (1 / (count + 0.001)) ** 0.5 + 0.00001


def test_probabilities_of_a_small_archive_are_those_computed_by_hand():
    archive = archive_of(
        (0, 5, 5),  # A: has a right neighbour and one below
        (0, 6, 5),  # B: has a left neighbour, and a richer cell at its spot
        (0, 5, 6),  # C: has one above
        (0, 6, 5, 9),  # D: B's spot with a key
        (1, 1, 1),  # E: one level up, alone
        times_chosen=[4, 0, 1, 0, 9],
        times_chosen_since_new=[2, 0, 0, 0, 3],
        times_seen=[10, 3, 2, 1, 0],
    )
    selection = select(
        archive,
        CountScore("times_chosen", weight=0.1),
        CountScore("times_chosen_since_new", weight=0.2),
        CountScore("times_seen", weight=0.3),
        NeighbourScore(horizontal, weight=0.3),
        NeighbourScore(vertical, weight=0.1),
        RankScore(spot=lambda cell: cell[:3], rank=lambda cell: len(cell) - 3, weight=10),
        level=lambda cell: cell[0],
    )
    counts = [
        paper_score(chosen, 0.1) + paper_score(since_new, 0.2) + paper_score(seen, 0.3)
        for chosen, since_new, seen in zip([4, 0, 1, 0, 9], [2, 0, 0, 0, 3], [10, 3, 2, 1, 0], strict=True)
    ]
    neighbours = [
        0.3 * 1 + 0.1 * 1 + 10,  # A misses left and above
        0.3 * 1 + 0.1 * 2 + 0,  # B misses right, above, below; D holds more keys
        0.3 * 2 + 0.1 * 1 + 10,
        0.3 * 2 + 0.1 * 2 + 10,
        0.3 * 2 + 0.1 * 2 + 10,
    ]
    level_weights = [0.1, 0.1, 0.1, 0.1, 1.0]
    scores = [
        level * (neighbour + count + 1)
        for level, neighbour, count in zip(level_weights, neighbours, counts, strict=True)
    ]
    expected = np.array(scores) / sum(scores)
    assert selection.probabilities() == pytest.approx(expected, rel=1e-12)


def test_cells_are_drawn_with_their_probabilities():
    archive = archive_of(*((level, x, 0) for level in range(3) for x in range(20)))
    archive.set_counter("times_seen", np.arange(60, dtype=np.int32))
    selection = select(archive, CountScore("times_seen", weight=1), level=lambda cell: cell[0])
    draws = 200_000
    observed = np.bincount(selection.choose(draws, SplitMix64(7)), minlength=60)
    assert stats.chisquare(observed, selection.probabilities() * draws).pvalue > 0.001


def test_uniform_selection_draws_all_cells_alike():
    archive = archive_of(*((0, x, 0) for x in range(50)))
    selection = refreshed(UniformSelection(), archive)
    assert stats.chisquare(np.bincount(selection.choose(100_000, SplitMix64(1)))).pvalue > 0.001


def test_no_cell_ever_has_no_chance():
    archive = archive_of((0, 0, 0), (0, 1, 0), times_seen=[2**31 - 1, 0])
    selection = select(archive, CountScore("times_seen", weight=1), constant=0)
    assert selection.probabilities().min() > 0


def test_weights_kept_up_to_date_are_those_of_a_fresh_start():
    """Neighbours and richer cells that appear later change the weights of cells that are there."""
    random = np.random.default_rng(0)
    drawn = {tuple(row) for row in random.integers(1, 6, (500, 4)).tolist()}
    cells = [(level, x, y, *[1] * keys) for level, x, y, keys in sorted(drawn, key=hash)]

    def parts():
        return (
            CountScore("times_seen", weight=1),
            NeighbourScore(horizontal, weight=0.3),
            NeighbourScore(vertical, weight=0.1),
            RankScore(spot=lambda cell: cell[:3], rank=lambda cell: len(cell) - 3, weight=10),
        )

    archive, kept = Archive(), WeightedSelection(parts(), level=lambda cell: cell[0])
    for start in range(0, len(cells), 7):
        for cell in cells[start : start + 7]:
            insert(archive, cell, End.TERMINATED if cell[1] == 5 else End.NONE)
        added = range(start, len(archive))
        kept.refresh(archive, Update(added=added, touched=set(added)))
    fresh = select(archive, *parts(), level=lambda cell: cell[0])
    assert kept.probabilities().tobytes() == fresh.probabilities().tobytes()
    assert kept.choose(100, SplitMix64(0)) == fresh.choose(100, SplitMix64(0))


def test_more_levels_than_a_number_can_weigh_do_not_overflow():
    archive = Archive()
    for level in range(1441):
        insert(archive, level.to_bytes(2, "big"))
    selection = select(archive, level=lambda cell: int.from_bytes(cell, "big"))
    chosen = selection.choose(1000, SplitMix64(0))
    assert min(chosen) >= 1430
    assert selection.probabilities()[-1] == pytest.approx(0.9)


# ---- ends of episodes -------------------------------------------------------------------------------------

SELECTIONS = {
    "uniform": UniformSelection,
    "start": StartSelection,
    "weighted": lambda: WeightedSelection([CountScore("times_seen", weight=1)]),
    "by level": lambda: WeightedSelection([], level=lambda cell: cell[0]),
}


@pytest.mark.parametrize("make", SELECTIONS.values(), ids=SELECTIONS)
def test_an_end_is_never_chosen(make):
    archive = archive_of((0, 0, 0), (0, 1, 0), (1, 0, 0), ends=[(0, 0, 0), (0, 5, 0), (1, 0, 0), (2, 0, 0)])
    chosen = refreshed(make(), archive).choose(5000, SplitMix64(0))
    assert len(chosen) == 5000
    assert set(chosen) <= {0, 1, 2}


@pytest.mark.parametrize("make", [UniformSelection, SELECTIONS["weighted"]], ids=["uniform", "weighted"])
def test_every_cell_that_is_no_end_is_chosen(make):
    archive = archive_of((0, 0, 0), (0, 1, 0), (0, 2, 0), ends=[(0, x, 0) for x in range(100)])
    assert set(refreshed(make(), archive).choose(1000, SplitMix64(0))) == {0, 1, 2}


def test_a_level_of_which_only_ends_are_known_is_as_if_it_was_not_there():
    cells = (0, 0, 0), (1, 0, 0)
    known = select(archive_of(*cells), level=lambda cell: cell[0])
    ends = select(archive_of(*cells, ends=[(2, 0, 0), (3, 0, 0)]), level=lambda cell: cell[0])
    assert ends.probabilities().tolist() == [*known.probabilities().tolist(), 0.0, 0.0]
    assert known.probabilities() == pytest.approx([0.1 / 1.1, 1 / 1.1])


def test_an_end_stays_out_whatever_is_counted_there():
    archive = archive_of((0, 0, 0), ends=[(0, 1, 0)])
    selection = select(archive, CountScore("times_seen", weight=1))
    archive.set_counter("times_seen", np.array([7, 9], np.int32))
    selection.refresh(archive, Update(added=range(2, 2), touched={0, 1}))
    assert selection.probabilities().tolist() == [1.0, 0.0]


@pytest.mark.parametrize("ends_come_first", [True, False])
def test_an_end_is_nobodys_neighbour(ends_come_first):
    """Nothing can be explored from there: the cell beside it is as much at the edge as before."""
    archive = Archive()
    insert(archive, (0, 9, 9))
    parts = [((0, 5, 5), End.NONE), ((0, 6, 5), End.TERMINATED), ((0, 4, 5), End.TERMINATED)]
    for cell, end in reversed(parts) if ends_come_first else parts:
        insert(archive, cell, end)
    beside = archive.score_index.find(bytes((0, 5, 5)))
    alone, selection = 0, select(archive, NeighbourScore(horizontal, weight=0.3), constant=0)
    assert selection.probabilities()[[alone, beside]].tolist() == [0.5, 0.5]


def test_a_cell_with_an_end_entry_too_is_one_neighbour():
    archive = archive_of((0, 5, 5), (0, 6, 5), (0, 4, 5), (0, 9, 9), ends=[(0, 6, 5), (0, 4, 5)])
    selection = select(archive, NeighbourScore(horizontal, weight=0.3), constant=0)
    weights = np.array([0, 1, 1, 2, 0, 0])  # missing neighbours of each
    assert selection.probabilities() == pytest.approx(weights / weights.sum())


def test_an_end_that_ranks_higher_takes_nothing_from_the_cells_at_its_spot():
    archive = archive_of((0, 5, 5), (0, 5, 5, 1), ends=[(0, 5, 5, 1, 2), (0, 7, 7, 1)])
    insert(archive, (0, 7, 7))
    rank = RankScore(spot=lambda cell: cell[:3], rank=lambda cell: len(cell) - 3, weight=10)
    assert select(archive, rank, constant=0).probabilities().tolist() == [0, 0.5, 0, 0, 0.5]


# ---- what is refused --------------------------------------------------------------------------------------


def test_a_count_that_there_is_not_is_refused():
    with pytest.raises(
        ConfigError,
        match=r"`attribute` to be .*times_chosen, times_chosen_since_new, times_seen, got 'times'",
    ):
        CountScore("times", weight=1)


def test_a_negative_weight_is_refused():
    with pytest.raises(ConfigError, match="expected `weight` to be 0 or more, got -1"):
        CountScore("times_seen", weight=-1)
