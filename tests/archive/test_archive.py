"""The rules of paper section 2.1.5, by hand-made findings."""

from goexplore.archive import Archive, Standing
from goexplore.envs import NOWHERE, Place
from tests.worlds import findings, offer, planted


def counters(archive, number):
    names = ("times_seen", "times_chosen", "times_chosen_since_new")
    return tuple(int(archive.values(name)[number]) for name in names)


def test_it_begins_with_the_initial_state_alone():
    archive = planted()
    assert len(archive) == 1
    assert archive[0].standing == Standing(0.0, 0)
    assert archive.trajectory(0) == b""
    assert counters(archive, 0) == (1, 0, 0)


def test_a_new_cell_is_added_with_its_four_pieces_of_metadata():
    archive = planted()
    found = findings(offer(b"new", score=5.0, length=3, offset=3), actions=b"abcdef", seen=(0,))
    update = archive.update([archive[0]], [found], game_frame=24)
    assert update.added == range(1, 2)
    entry = archive[1]
    assert archive.trajectory(1) == b"abc"
    assert entry.snapshot == b"state of new"
    assert entry.standing == Standing(5.0, 3)
    assert counters(archive, 1) == (1, 0, 0)
    assert archive.values("found_at_game_frame").tolist() == [0, 24]


def test_a_better_trajectory_replaces_everything_and_resets_the_chosen_counters():
    archive = planted()
    archive.update([archive[0]], [findings(offer(b"a", length=9, offset=9))], game_frame=1)
    archive.update([archive[1]] * 3, [findings(seen=(1,))] * 3, game_frame=2)
    assert counters(archive, 1) == (4, 3, 3)
    better = findings(offer(b"a", length=2, offset=2, number=1), actions=b"xy", seen=(0, 1))
    update = archive.update([archive[0]], [better], game_frame=3)
    assert update.improved == {1}
    assert archive.trajectory(1) == b"xy"
    assert archive[1].standing == Standing(0.0, 2)
    assert counters(archive, 1) == (5, 0, 0)


def test_an_improved_cell_is_as_good_as_new_where_the_visits_are_reset_too():
    archive = planted(reset_seen=True)
    archive.update([archive[0]], [findings(offer(b"a", length=9))], game_frame=1)
    archive.update([archive[1]] * 3, [findings(seen=(1,))] * 3, game_frame=2)
    archive.update([archive[0]], [findings(offer(b"a", length=2, number=1), seen=(0, 1))], game_frame=3)
    assert counters(archive, 1) == (1, 0, 0)


def test_a_trajectory_that_is_not_better_is_rejected_but_the_visit_counts():
    archive = planted()
    archive.update([archive[0]], [findings(offer(b"a", score=1.0, length=5))], game_frame=1)
    same = findings(offer(b"a", score=1.0, length=5))
    worse = findings(offer(b"a", score=0.0, length=1))
    update = archive.update([archive[0]] * 2, [same, worse], game_frame=2)
    assert not update.improved
    assert archive[1].standing == Standing(1.0, 5)
    assert counters(archive, 1)[0] == 3


def test_the_start_cell_counts_as_fruitful_only_if_something_new_or_better_came_of_it():
    archive = planted()
    archive.update([archive[0]], [findings(seen=(0,))], game_frame=1)
    assert counters(archive, 0) == (2, 1, 1)
    archive.update([archive[0]], [findings(offer(b"a"), seen=(0,))], game_frame=2)
    assert counters(archive, 0) == (3, 2, 0)
    archive.update([archive[0]], [findings(offer(b"a", length=7), seen=(0,))], game_frame=3)
    assert counters(archive, 0) == (4, 3, 1)


def test_trajectories_branch_from_the_entry_as_it_was_chosen():
    archive = planted()
    archive.update(
        [archive[0]], [findings(offer(b"a", length=9, offset=9), actions=b"long way!")], game_frame=1
    )
    chosen = archive[1]
    shortcut = findings(offer(b"a", length=2, offset=2), actions=b"xy")
    onwards = findings(offer(b"b", length=10, offset=1), actions=b"z")
    archive.update([archive[0], chosen], [shortcut, onwards], game_frame=2)
    assert archive.trajectory(1) == b"xy"
    assert archive.trajectory(2) == b"long way!z"


def test_only_the_first_of_a_batch_to_find_a_cell_adds_it():
    archive = planted()
    first, second = (findings(offer(b"a", length=4, offset=4), actions=way) for way in (b"1111", b"2222"))
    archive.update([archive[0]] * 2, [first, second], game_frame=1)
    assert len(archive) == 2
    assert archive.trajectory(1) == b"1111"
    assert counters(archive, 1)[0] == 2


def test_actions_that_lead_to_nothing_are_not_kept():
    archive = planted()
    archive.update([archive[0]], [findings(offer(b"a", offset=3), actions=b"abcdefgh")], game_frame=1)
    assert archive.segments.actions(1) == b"abc"


def test_segments_that_no_entry_needs_are_collected():
    archive = planted()
    for length in range(30, 0, -1):
        archive.update([archive[0]], [findings(offer(b"a", length=length))], game_frame=1)
    assert len(archive.segments) == 2


def test_segments_are_renumbered_when_most_are_gone():
    archive = planted()
    archive.update([archive[0]], [findings(offer(b"b", length=5, offset=5), actions=b"keep!")], game_frame=1)
    for length in range(5000, 0, -1):
        archive.update([archive[1]], [findings(offer(b"a", length=length), actions=b"?")], game_frame=1)
    assert len(archive.segments._parents) < 2500
    assert archive.trajectory(2) == b"keep!?"


def test_the_best_entry_has_the_highest_score_then_the_shortest_trajectory():
    archive = planted()
    standings = {b"a": (1.0, 9), b"b": (2.0, 9), b"c": (2.0, 8)}
    offers = [offer(cell, score=score, length=length) for cell, (score, length) in standings.items()]
    archive.update([archive[0]], [findings(*offers)], game_frame=1)
    assert archive[archive.best].cell == b"c"


def test_of_equals_the_entry_found_first_is_the_best_whichever_got_there_first():
    archive = planted()
    both = findings(offer(b"a", score=1.0, length=9), offer(b"b", score=2.0, length=5))
    archive.update([archive[0]], [both], game_frame=1)
    archive.update([archive[0]], [findings(offer(b"a", score=2.0, length=5, number=1))], game_frame=2)
    assert archive.best == 1


def test_places_once_found_stay_found():
    archive = Archive()
    archive.plant(b"start", b"", Place(0, 1))
    archive.plant(b"elsewhere", b"", NOWHERE)
    assert archive.places == {Place(0, 1)}
