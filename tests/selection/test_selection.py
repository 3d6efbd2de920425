"""The formulas of paper appendix A.5, by hand."""

import numpy as np
import pytest
from scipy import stats

from goexplore.archive import Archive, Branch, Standing, Update
from goexplore.envs import NOWHERE
from goexplore.random import SplitMix64
from goexplore.selection import (
    CountScore,
    NeighbourScore,
    RankScore,
    UniformSelection,
    WeightedSelection,
)

# Cells of these tests are bytes: level, x, y, then one byte per held key.


def horizontal(cell):
    return [cell[:1] + bytes([x]) + cell[2:] for x in (cell[1] - 1, cell[1] + 1)]


def vertical(cell):
    return [cell[:2] + bytes([y]) + cell[3:] for y in (cell[2] - 1, cell[2] + 1)]


def archive_of(*cells, **counters):
    archive = Archive()
    for cell in cells:
        archive.insert(bytes(cell), b"", Standing(0.0, 1), Branch(0, 0), NOWHERE, found_at=0)
    for name, values in counters.items():
        archive.set_counter(name, np.array(values, np.int32))
    return archive


def select(archive, *subscores, **settings):
    selection = WeightedSelection(subscores, **settings)
    everything = range(len(archive))
    selection.refresh(archive, Update(added=everything, touched=set(everything)))
    return selection


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
    selection = UniformSelection()
    selection.refresh(archive, Update(added=range(50)))
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
            archive.insert(bytes(cell), b"", Standing(0.0, 1), Branch(0, 0), NOWHERE, found_at=0)
        added = range(start, len(archive))
        kept.refresh(archive, Update(added=added, touched=set(added)))
    fresh = select(archive, *parts(), level=lambda cell: cell[0])
    assert kept.probabilities().tobytes() == fresh.probabilities().tobytes()
    assert kept.choose(100, SplitMix64(0)) == fresh.choose(100, SplitMix64(0))


def test_more_levels_than_a_number_can_weigh_do_not_overflow():
    archive = Archive()
    for level in range(1441):
        archive.insert(level.to_bytes(2, "big"), b"", Standing(0.0, 1), Branch(0, 0), NOWHERE, found_at=0)
    selection = select(archive, level=lambda cell: int.from_bytes(cell, "big"))
    chosen = selection.choose(1000, SplitMix64(0))
    assert min(chosen) >= 1430
    assert selection.probabilities()[-1] == pytest.approx(0.9)
