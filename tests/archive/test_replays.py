from goexplore.archive import plan_replays
from tests.fields import candidate, result, rooted


def grown():
    """Two ways from the start: abc through 1 to 2, with de branching off at 1 to 3; and x to 4."""
    archive = rooted()
    found = result(candidate(b"1", length=1, offset=1), candidate(b"2", length=3, offset=3), actions=b"abc")
    archive.update([archive[0]], [found], game_frame=1)
    onwards = result(candidate(b"3", length=3, offset=2), actions=b"de")
    aside = result(candidate(b"4", length=1, offset=1), actions=b"x")
    archive.update([archive[1], archive[0]], [onwards, aside], game_frame=2)
    return archive


def planned(archive, entries):
    return [
        (replay.actions, [(claim.entry.cell, claim.position) for claim in replay.claims])
        for replay in plan_replays(archive, entries)
    ]


def test_what_lies_on_the_way_to_others_is_checked_on_that_way():
    archive = grown()
    assert [archive.trajectory(number) for number in range(5)] == [b"", b"a", b"abc", b"ade", b"x"]
    assert planned(archive, range(5)) == [
        (b"abc", [(b"start", 0), (b"1", 1), (b"2", 3)]),
        (b"ade", [(b"3", 3)]),
        (b"x", [(b"4", 1)]),
    ]


def test_only_what_is_asked_for_is_played():
    assert planned(grown(), [1, 3]) == [(b"ade", [(b"1", 1), (b"3", 3)])]


def test_the_initial_state_alone_needs_no_action():
    assert planned(grown(), [0]) == [(b"", [(b"start", 0)])]


def test_actions_that_need_two_bytes_are_planned_alike():
    archive = rooted(action_bytes=2)
    archive.update([archive[0]], [result(candidate(b"1"), actions=b"\x07\x00")], game_frame=1)
    archive.update([archive[1]], [result(candidate(b"2", length=2), actions=b"\xe7\x03")], game_frame=2)
    assert planned(archive, range(3)) == [((7, 999), [(b"start", 0), (b"1", 1), (b"2", 2)])]
