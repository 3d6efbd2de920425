"""An archive with other cells keeps the best of each."""

import pytest

from goexplore.archive import END, Archive, Branch, ScoreLength, recell
from goexplore.cells import End
from goexplore.envs import NOWHERE, Location


def archive_of(*rows):
    """Return an archive: each row is cell, score, length, and maybe an end; each has a segment of its own."""
    archive = Archive()
    archive.add_root(b"a0", b"s0", NOWHERE)
    for cell, score, length, *end in rows:
        segment = archive.segments.add(Branch(0, 0), bytes(length))
        archive.insert(
            cell,
            b"s:" + cell,
            ScoreLength(score, length),
            Branch(segment, length),
            Location(0, len(archive)),
            found_at=100 * len(archive),
            end=end[0] if end else End.NONE,
        )
    return archive


def first_letter(entry):
    return entry.cell[:1]


def rows(archive):
    return [(entry.cell, entry.score, entry.length, entry.snapshot) for entry in archive]


def test_the_best_of_each_new_cell_is_kept_in_the_order_of_the_first():
    archive = archive_of((b"b1", 5, 9), (b"a1", 1, 4), (b"b2", 7, 30), (b"b3", 7, 20), (b"c1", 0, 2))
    new = recell(archive, first_letter)
    assert rows(new) == [(b"a", 1, 4, b"s:a1"), (b"b", 7, 20, b"s:b3"), (b"c", 0, 2, b"s:c1")]
    assert new.score_index.find(b"b") == 1
    assert new[new.best].cell == b"b"
    assert new.trajectory(1) == bytes(20)
    assert new.values("room").tolist() == [2, 4, 5]


def test_equals_are_decided_for_the_older_one():
    new = recell(archive_of((b"b1", 5, 9), (b"b2", 5, 9)), first_letter)
    assert new[1].snapshot == b"s:b1"


def test_ends_are_compared_with_ends_alone():
    archive = archive_of((b"b1", 5, 9, End.TERMINATED), (b"b2", 1, 9), (b"b3", 6, 9, End.TRUNCATED))
    new = recell(archive, first_letter)
    assert [(entry.score, entry.end) for entry in new] == [
        (0, End.NONE),
        (6, End.TRUNCATED),
        (1, End.NONE),
    ]
    assert new.score_index.find(b"b", END) == 1


def test_counters_are_sums_and_a_cell_was_found_when_its_first_entry_was():
    archive = archive_of((b"b1", 5, 9), (b"b2", 6, 9))
    for name in ("times_seen", "times_chosen", "times_chosen_since_new"):
        archive.set_counter(name, archive.values("length").astype("int32") + 1)
    new = recell(archive, first_letter)
    assert new.values("times_seen").tolist() == new.values("times_chosen_since_new").tolist() == [1, 20]
    assert new.values("found_at_game_frame").tolist() == [0, 100]


def test_segments_that_no_entry_needs_are_collected_and_locations_are_not_forgotten():
    archive = archive_of((b"b1", 5, 9), (b"b2", 6, 9))
    locations = set(archive.locations)
    new = recell(archive, first_letter)
    assert len(new.segments) == 2
    assert new.segments.packed_actions(new[1].branch.segment) == bytes(9)
    assert new.locations == locations


@pytest.mark.parametrize("reset_seen", [True, False])
def test_settings_stay(reset_seen):
    archive = Archive(reset_seen=reset_seen, action_bytes=2)
    archive.add_root(b"a", b"", NOWHERE)
    new = recell(archive, first_letter)
    assert (new.reset_seen, new.segments.action_bytes) == (reset_seen, 2)
