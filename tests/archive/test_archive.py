"""The rules of paper section 2.1.5, by hand-made results."""

import pytest

from goexplore.archive import END, START, Archive, ScoreLength
from goexplore.cells import End
from goexplore.envs import NOWHERE, Location
from tests.fields import candidate, result, rooted


def counters(archive, number):
    names = ("times_seen", "times_chosen", "times_chosen_since_new")
    return tuple(int(archive.values(name)[number]) for name in names)


def test_it_begins_with_the_initial_state_alone():
    archive = rooted()
    assert len(archive) == 1
    assert archive[0].score_length == ScoreLength(0.0, 0)
    assert archive.trajectory(0) == b""
    assert counters(archive, 0) == (1, 0, 0)


def test_a_new_cell_is_added_with_its_four_pieces_of_metadata():
    archive = rooted()
    found = result(candidate(b"new", score=5.0, length=3, offset=3), actions=b"abcdef", seen=(0,))
    update = archive.update([archive[0]], [found], game_frame=24)
    assert update.added == range(1, 2)
    entry = archive[1]
    assert archive.trajectory(1) == b"abc"
    assert entry.snapshot == b"state of new"
    assert entry.score_length == ScoreLength(5.0, 3)
    assert (entry.score, entry.length) == (5.0, 3)
    assert counters(archive, 1) == (1, 0, 0)
    assert archive.values("found_at_game_frame").tolist() == [0, 24]


def test_a_better_trajectory_replaces_everything_and_resets_the_chosen_counters():
    archive = rooted()
    archive.update([archive[0]], [result(candidate(b"a", length=9, offset=9))], game_frame=1)
    archive.update([archive[1]] * 3, [result(seen=(1,))] * 3, game_frame=2)
    assert counters(archive, 1) == (4, 3, 3)
    better = result(candidate(b"a", length=2, offset=2, number=1), actions=b"xy", seen=(0, 1))
    update = archive.update([archive[0]], [better], game_frame=3)
    assert update.improved == {1}
    assert archive.trajectory(1) == b"xy"
    assert archive[1].score_length == ScoreLength(0.0, 2)
    assert counters(archive, 1) == (5, 0, 0)


def test_an_improved_cell_is_as_good_as_new_where_the_visits_are_reset_too():
    archive = rooted(reset_seen=True)
    archive.update([archive[0]], [result(candidate(b"a", length=9))], game_frame=1)
    archive.update([archive[1]] * 3, [result(seen=(1,))] * 3, game_frame=2)
    archive.update([archive[0]], [result(candidate(b"a", length=2, number=1), seen=(0, 1))], game_frame=3)
    assert counters(archive, 1) == (1, 0, 0)


def test_a_trajectory_that_is_not_better_is_rejected_but_the_visit_counts():
    archive = rooted()
    archive.update([archive[0]], [result(candidate(b"a", score=1.0, length=5))], game_frame=1)
    same = result(candidate(b"a", score=1.0, length=5))
    worse = result(candidate(b"a", score=0.0, length=1))
    update = archive.update([archive[0]] * 2, [same, worse], game_frame=2)
    assert not update.improved
    assert archive[1].score_length == ScoreLength(1.0, 5)
    assert counters(archive, 1)[0] == 3


def test_the_start_cell_counts_as_fruitful_only_if_something_new_or_better_came_of_it():
    archive = rooted()
    archive.update([archive[0]], [result(seen=(0,))], game_frame=1)
    assert counters(archive, 0) == (2, 1, 1)
    archive.update([archive[0]], [result(candidate(b"a"), seen=(0,))], game_frame=2)
    assert counters(archive, 0) == (3, 2, 0)
    archive.update([archive[0]], [result(candidate(b"a", length=7), seen=(0,))], game_frame=3)
    assert counters(archive, 0) == (4, 3, 1)


def test_trajectories_branch_from_the_entry_as_it_was_chosen():
    archive = rooted()
    archive.update(
        [archive[0]], [result(candidate(b"a", length=9, offset=9), actions=b"long way!")], game_frame=1
    )
    chosen = archive[1]
    shortcut = result(candidate(b"a", length=2, offset=2), actions=b"xy")
    onwards = result(candidate(b"b", length=10, offset=1), actions=b"z")
    archive.update([archive[0], chosen], [shortcut, onwards], game_frame=2)
    assert archive.trajectory(1) == b"xy"
    assert archive.trajectory(2) == b"long way!z"


def test_only_the_first_of_a_batch_to_find_a_cell_adds_it():
    archive = rooted()
    first, second = (result(candidate(b"a", length=4, offset=4), actions=way) for way in (b"1111", b"2222"))
    archive.update([archive[0]] * 2, [first, second], game_frame=1)
    assert len(archive) == 2
    assert archive.trajectory(1) == b"1111"
    assert counters(archive, 1)[0] == 2


def test_actions_that_lead_to_nothing_are_not_kept():
    archive = rooted()
    archive.update([archive[0]], [result(candidate(b"a", offset=3), actions=b"abcdefgh")], game_frame=1)
    assert archive.segments.packed_actions(1) == b"abc"


def test_segments_that_no_entry_needs_are_collected():
    archive = rooted()
    for length in range(30, 0, -1):
        archive.update([archive[0]], [result(candidate(b"a", length=length))], game_frame=1)
    assert len(archive.segments) == 2


def test_segments_are_renumbered_when_most_are_gone():
    archive = rooted()
    archive.update(
        [archive[0]], [result(candidate(b"b", length=5, offset=5), actions=b"keep!")], game_frame=1
    )
    for length in range(5000, 0, -1):
        archive.update([archive[1]], [result(candidate(b"a", length=length), actions=b"?")], game_frame=1)
    assert len(archive.segments._parents) < 2500
    assert archive.trajectory(2) == b"keep!?"


def test_locations_once_found_stay_found():
    archive = Archive()
    archive.add_root(b"start", b"", Location(0, 1))
    archive.insert(b"elsewhere", b"", ScoreLength(0.0, 1), START, NOWHERE, found_at=0)
    there = candidate(b"elsewhere", score=1.0, number=1, location=Location(0, 2))
    archive.update([archive[0]], [result(there)], game_frame=1)
    back = candidate(b"elsewhere", score=2.0, number=1, location=Location(0, 1))
    archive.update([archive[0]], [result(back)], game_frame=2)
    assert archive.locations == {Location(0, 1), Location(0, 2)}


def test_two_bytes_for_each_action_where_one_is_not_enough():
    archive = rooted(action_bytes=2)
    assert archive.trajectory(0) == ()
    packed = (999).to_bytes(2, "little") + (1).to_bytes(2, "little") + (256).to_bytes(2, "little")
    found = result(candidate(b"a", length=1, offset=1), candidate(b"b", length=2, offset=2), actions=packed)
    archive.update([archive[0]], [found], game_frame=1)
    assert archive.trajectory(1) == (999,)
    assert archive.trajectory(2) == (999, 1)
    assert archive.segments.packed_actions(1) == packed[:4]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("cell", ""), ("scores", " Did you mean score?"), ("times_sen", " Did you mean times_seen?")],
)
def test_values_that_there_are_not_are_refused_with_the_names_of_those_that_there_are(name, hint):
    with pytest.raises(KeyError) as caught:
        rooted().values(name)
    (message,) = caught.value.args
    assert message.startswith("expected one of score, length, level, room, times_seen, ")
    assert message.endswith(f"got {name!r}.{hint}")


def test_values_are_a_copy_of_all_entries_or_of_some():
    archive = rooted()
    archive.update([archive[0]], [result(candidate(b"a", score=3.0, length=7))], game_frame=1)
    scores = archive.values("score")
    scores[:] = 99.0
    assert archive.values("score").tolist() == [0.0, 3.0]
    assert archive.values("length", slice(1, None)).tolist() == [7]
    assert archive.values("end").tolist() == [End.NONE, End.NONE]


# ---- the best entry ---------------------------------------------------------------------------------------


def test_the_best_entry_has_the_highest_score_then_the_shortest_trajectory():
    archive = rooted()
    scores = {b"a": (1.0, 9), b"b": (2.0, 9), b"c": (2.0, 8)}
    candidates = [candidate(cell, score=score, length=length) for cell, (score, length) in scores.items()]
    archive.update([archive[0]], [result(*candidates)], game_frame=1)
    assert archive[archive.best].cell == b"c"


def test_of_equals_the_entry_found_first_is_the_best_whichever_got_there_first():
    archive = rooted()
    both = result(candidate(b"a", score=1.0, length=9), candidate(b"b", score=2.0, length=5))
    archive.update([archive[0]], [both], game_frame=1)
    archive.update([archive[0]], [result(candidate(b"a", score=2.0, length=5, number=1))], game_frame=2)
    assert archive.best == 1


def test_without_any_result_the_start_stays_the_best():
    archive = rooted()
    archive.update(
        [archive[0]], [result(candidate(b"a", score=0.0), candidate(b"b", score=-3.0))], game_frame=1
    )
    assert archive.best == 0
    assert not archive.best_is_a_result


@pytest.mark.parametrize("end", [End.TERMINATED, End.TRUNCATED])
def test_an_end_is_a_result_and_better_than_a_start_that_has_lost_nothing_yet(end):
    archive = rooted()
    archive.update([archive[0]], [result(candidate(b"goal", score=-4.0, length=4, end=end))], game_frame=1)
    assert archive[archive.best].cell == b"goal"
    assert archive.best_is_a_result
    archive.update([archive[0]], [result(candidate(b"a", score=0.0))], game_frame=2)
    assert archive[archive.best].cell == b"goal"


def test_of_ends_and_positive_scores_the_highest_score_is_the_best():
    archive = rooted()
    end = candidate(b"goal", score=5.0, length=9, end=End.TERMINATED)
    archive.update([archive[0]], [result(candidate(b"a", score=5.0, length=8), end)], game_frame=1)
    assert archive[archive.best].cell == b"a"
    archive.update([archive[0]], [result(candidate(b"goal", score=6.0, end=End.TERMINATED))], game_frame=2)
    assert archive[archive.best].cell == b"goal"


# ---- ends -------------------------------------------------------------------------------------------------


def test_an_end_has_an_entry_of_its_own_beside_that_of_its_cell():
    archive = rooted()
    passing = candidate(b"a", score=1.0, length=1, offset=1)
    ending = candidate(b"a", score=2.0, length=3, offset=3, end=End.TERMINATED)
    archive.update([archive[0]], [result(passing, ending, actions=b"xyz")], game_frame=1)
    assert [(entry.cell, entry.end, entry.snapshot) for entry in archive][1:] == [
        (b"a", End.NONE, b"state of a"),
        (b"a", End.TERMINATED, b""),
    ]
    assert [archive.has_ended(number) for number in range(3)] == [False, False, True]
    assert archive.score_index.find(b"a") == 1
    assert archive.score_index.find(b"a", tag=END) == 2
    assert archive.trajectory(2) == b"xyz"
    better = candidate(b"a", score=9.0, length=2, offset=2, end=End.TRUNCATED)
    archive.update([archive[0]], [result(better, actions=b"uv")], game_frame=2)
    assert archive[1].score_length == ScoreLength(1.0, 1)
    assert archive[2].score_length == ScoreLength(9.0, 2)
    assert archive[2].end is End.TRUNCATED
    assert archive.trajectory(2) == b"uv"


def test_an_exploration_that_comes_to_an_end_is_counted_there_better_or_not():
    archive = rooted()
    ending = candidate(b"a", score=1.0, end=End.TERMINATED)
    archive.update([archive[0]], [result(ending)], game_frame=1)
    worse = candidate(b"a", score=0.0, end=End.TERMINATED)
    update = archive.update([archive[0]] * 2, [result(worse, seen=(0,)), result(seen=(0,))], game_frame=2)
    assert counters(archive, 1) == (2, 0, 0)
    assert update.touched == {0, 1}


def test_a_new_end_makes_the_start_cell_fruitful():
    archive = rooted()
    archive.update([archive[0]], [result(seen=(0,))], game_frame=1)
    archive.update([archive[0]], [result(candidate(b"a", end=End.TERMINATED), seen=(0,))], game_frame=2)
    assert counters(archive, 0) == (3, 2, 0)


# ---- events -----------------------------------------------------------------------------------------------


def test_each_event_has_an_entry_of_its_own_in_each_cell_and_counts_neither_as_cell_nor_as_best():
    archive = rooted()
    found = [
        candidate(b"a", score=1.0, length=1),
        candidate(b"a", score=9.0, length=2, event="fall"),
        candidate(b"a", score=9.0, length=2, event="glitch"),
        candidate(b"b", score=9.0, length=3, event="fall", end=End.TERMINATED),
    ]
    archive.update([archive[0]], [result(*found)], game_frame=1)
    assert archive.events == {"fall": [2, 4], "glitch": [3]}
    assert [(entry.cell, entry.event, entry.end) for entry in archive][2:] == [
        (b"a", "fall", End.NONE),
        (b"a", "glitch", End.NONE),
        (b"b", "fall", End.TERMINATED),
    ]
    assert (len(archive), archive.cells, archive.best) == (5, 2, 1)
    assert [archive.is_explorable(number) for number in range(5)] == [True, True, False, False, False]
    assert archive.values("event").tolist() == ["", "", "fall", "glitch", "fall"]
    assert archive.values("times_seen").tolist() == [1, 1, 1, 1, 1]


def test_the_shortest_way_to_an_event_is_the_best_whatever_its_score():
    archive = rooted()
    for score, length in ((5.0, 4), (9.0, 5), (9.0, 4), (0.0, 3)):
        way = candidate(b"a", score=score, length=length, event="fall")
        archive.update([archive[0]], [result(way)], game_frame=1)
    assert archive[1].score_length == ScoreLength(0.0, 3)


def test_no_event_is_mixed_up_with_a_cell_an_end_or_another_event():
    archive = rooted()
    found = [
        candidate(b"a"),
        candidate(b"a", end=End.TERMINATED),
        *(candidate(b"a", event=event) for event in ("end", "event", "en")),
        candidate(b"d\0a", event="en"),
    ]
    archive.update([archive[0]], [result(*found)], game_frame=1)
    assert len(archive) == 7


def test_an_action_without_a_result_is_in_the_trajectory_and_not_in_what_can_be_played():
    archive = rooted()
    crash = candidate(b"a", length=3, offset=3, event="worker-crash", end=End.CRASHED)
    fall = candidate(b"a", length=2, offset=2, event="fall")
    archive.update([archive[0]], [result(fall, crash, actions=b"xyz")], game_frame=1)
    assert [archive.trajectory(number) for number in (1, 2)] == [b"xy", b"xyz"]
    assert [archive.playable(number) for number in (1, 2)] == [b"xy", b"xy"]


# ---- objectives -------------------------------------------------------------------------------------------


def with_objective(*candidates):
    archive = Archive()
    archive.add_root(b"start", b"state of start", NOWHERE, 10.0)
    for each in candidates:
        archive.update([archive[0]], [result(each)], game_frame=1)
    return archive


def test_an_objective_stands_in_the_place_of_the_score():
    archive = with_objective(
        candidate(b"a", score=5.0, length=2, objective=1.0),
        candidate(b"a", score=9.0, length=1, objective=0.5),
        candidate(b"a", score=0.0, length=8, objective=3.0),
        candidate(b"a", score=7.0, length=7, objective=3.0),
        candidate(b"a", score=9.0, length=7, objective=3.0),
    )
    assert archive[1].score_length == ScoreLength(7.0, 7, 3.0)
    assert archive.values("objective").tolist() == [10.0, 3.0]


def test_the_best_entry_is_found_anew_where_its_score_was_given_up_for_the_objective():
    archive = with_objective(
        candidate(b"a", score=5.0, length=2, objective=1.0),
        candidate(b"b", score=4.0, length=2, objective=1.0),
        candidate(b"c", score=4.0, length=1, objective=1.0),
    )
    assert archive.best == 1
    archive.update([archive[0]], [result(candidate(b"a", score=0.0, objective=2.0))], game_frame=2)
    assert archive[archive.best].cell == b"c"


@pytest.mark.parametrize("length", [1, 65_535, 65_536, 200_000])
def test_a_root_after_any_number_of_actions(length):
    archive = Archive()
    actions = bytes(number % 7 for number in range(length))
    archive.add_root(b"cell", b"snapshot", NOWHERE, actions=actions, score=5.0)
    assert archive.trajectory(0) == actions
    assert (archive[0].score, archive[0].length, archive.best) == (5.0, length, 0)
