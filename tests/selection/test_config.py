"""The settings of the selection, and the selection that they mean."""

import numpy as np
import pytest

from goexplore.archive import START, Archive, ScoreLength, Update
from goexplore.cells import CellRepresentation, FunctionCells
from goexplore.envs import NOWHERE
from goexplore.errors import ConfigError
from goexplore.selection import (
    PAPER_SELECTION,
    SelectionConfig,
    StartSelection,
    UniformSelection,
    WeightedSelection,
)
from tests.fields import itself

PLAIN = FunctionCells(itself)


class Grid(CellRepresentation):
    """Cells of level, x, y and one byte per held key."""

    def reset(self, observation):
        return bytes(observation)

    def update(self, observation):
        return bytes(observation)

    @staticmethod
    def horizontal_neighbours(cell):
        return [cell[:1] + bytes([x]) + cell[2:] for x in (cell[1] - 1, cell[1] + 1)]

    @staticmethod
    def vertical_neighbours(cell):
        return [cell[:2] + bytes([y]) + cell[3:] for y in (cell[2] - 1, cell[2] + 1)]

    @staticmethod
    def spot(cell):
        return cell[:3]

    @staticmethod
    def rank(cell):
        return len(cell) - 3

    @staticmethod
    def level_of(cell):
        return cell[0]


def probabilities(config, cells, *keys, **counters):
    archive = Archive()
    for key in keys:
        archive.insert(bytes(key), b"", ScoreLength(0.0, 1), START, NOWHERE, found_at=0)
    for name, values in counters.items():
        archive.set_counter(name, np.array(values, np.int32))
    selection = config.build(cells)
    selection.refresh(archive, Update(added=range(len(keys)), touched=set(range(len(keys)))))
    return selection.probabilities()


def test_by_default_a_cell_counts_by_how_seldom_it_was_seen():
    """The follow-up's 1 / sqrt(seen + 1)."""
    found = probabilities(SelectionConfig(), PLAIN, b"a", b"b", b"c", times_seen=[0, 3, 8])
    assert found == pytest.approx(np.array([1, 1 / 2, 1 / 3]) / (1 + 1 / 2 + 1 / 3))


@pytest.mark.parametrize(
    ("name", "counter"),
    [
        ("chosen_weight", "times_chosen"),
        ("chosen_since_new_weight", "times_chosen_since_new"),
        ("seen_weight", "times_seen"),
    ],
)
def test_each_count_has_its_weight(name, counter):
    weights = {"chosen_weight": 0, "chosen_since_new_weight": 0, "seen_weight": 0, name: 2.0}
    config = SelectionConfig(**weights, power=1.0, epsilon1=1.0, constant=1.0)
    assert probabilities(config, PLAIN, b"a", b"b", **{counter: [0, 3]}) == pytest.approx(
        np.array([1 + 2, 1 + 2 / 4]) / (1 + 2 + 1 + 2 / 4)
    )


def test_neighbours_ranks_and_levels_have_theirs():
    config = SelectionConfig(
        seen_weight=0,
        constant=1,
        horizontal_weight=0.3,
        vertical_weight=0.1,
        rank_weight=10,
        level_factor=0.5,
    )
    keys = (0, 5, 5), (0, 6, 5), (0, 5, 5, 7), (1, 5, 5)
    scores = [
        0.5 * (1 + 0.3 + 0.2 + 0),  # has a right neighbour, and a richer cell at its spot
        0.5 * (1 + 0.3 + 0.2 + 10),
        0.5 * (1 + 0.6 + 0.2 + 10),
        1 + 0.6 + 0.2 + 10,
    ]
    assert probabilities(config, Grid(), *keys) == pytest.approx(np.array(scores) / sum(scores))


def test_the_papers_selection_is_that_of_its_appendix():
    weights = PAPER_SELECTION
    assert (weights.power, weights.epsilon1, weights.epsilon2, weights.constant) == (0.5, 0.001, 0.00001, 1)
    assert not weights.reset_seen
    assert weights.seen_weight == weights.chosen_weight == weights.chosen_since_new_weight == 0


@pytest.mark.parametrize(
    ("rule", "kind"),
    [("weighted", WeightedSelection), ("uniform", UniformSelection), ("start", StartSelection)],
)
def test_the_baselines_ignore_all_weights(rule, kind):
    assert type(SelectionConfig(rule=rule).build(PLAIN)) is kind


@pytest.mark.parametrize("name", ["horizontal_weight", "vertical_weight", "rank_weight"])
def test_a_weight_for_what_the_cells_do_not_have_is_refused(name):
    config = SelectionConfig(**{name: 0.5})
    with pytest.raises(ConfigError, match=rf"expected `{name}` to be 0 for cells that have no .*, got 0\.5"):
        config.build(PLAIN)
    config.build(Grid())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seen_weight": -1}, "expected `seen_weight` to be between 0 and"),
        ({"chosen_weight": float("inf")}, "expected `chosen_weight`"),
        ({"rank_weight": float("nan")}, "expected `rank_weight`"),
        ({"epsilon1": 0.0}, "expected `epsilon1`"),
        ({"level_factor": 1.1}, "expected `level_factor` to be between 0 and 1"),
        ({"seen_weight": 0.0}, "expected every cell to have a chance"),
        ({"seen_weight": 0.0, "horizontal_weight": 1.0}, "expected every cell to have a chance"),
        ({"rule": "unifrom"}, "expected `rule` to be weighted, uniform or start, got 'unifrom'"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        SelectionConfig(**settings)


@pytest.mark.parametrize(
    "settings", [{"constant": 1.0}, {"epsilon2": 0.1}, {"chosen_weight": 1.0}, {"rule": "uniform"}]
)
def test_any_weight_that_all_cells_share_is_enough_to_give_each_a_chance(settings):
    SelectionConfig(seen_weight=0.0, **settings)
