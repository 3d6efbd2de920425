import pytest

from goexplore.archive import Archive
from goexplore.exploration import Search, SerialExecutor, Status
from tests.worlds import Field, make_kernel, make_selection, make_world


def make_search(**settings):
    return Search(
        world=make_world(),
        selection=make_selection(),
        executor=SerialExecutor(make_kernel),
        batch_size=20,
        **settings,
    )


def test_it_finds_every_cell_and_both_treasures():
    search = make_search()
    status = search.run(lambda status: status.best_score >= 20)
    search.run(lambda status: status.cells == Field.size**2 - 1)  # all but the pit
    assert status.best_score == 20


def test_every_trajectory_replays_to_its_cell_score_and_length():
    search = make_search()
    search.run(lambda status: status.batches >= 40)
    world = make_world()
    for entry in search.archive:
        trajectory = search.archive.trajectory(entry.number)
        cell, score = world.reset(), 0.0
        for action in trajectory:
            reward, cell = world.step(action)
            score += reward
        assert (cell, score, len(trajectory)) == (entry.cell, *entry.standing)
        assert world.snapshot() == entry.snapshot


def test_entries_only_ever_get_better():
    search = make_search()
    before = []

    def compare(search, update):
        now = [entry.standing for entry in search.archive]
        for old, new in zip(before, now, strict=False):
            assert old == new or new.beats(old)
        before[:] = now

    search.run(lambda status: status.batches >= 30, compare)


def test_frames_are_counted_in_game_frames():
    search = make_search()
    status = search.run(lambda status: status.batches >= 1)
    assert status.game_frames == status.game_frames_with_replay  # all from the initial state
    assert status.game_frames <= 20 * 20 * Field.frame_skip
    assert status.game_frames % Field.frame_skip == 0
    after = search.run(lambda status: status.batches >= 5)
    assert after.game_frames_with_replay > after.game_frames


def test_a_search_can_go_on_with_an_archive_and_a_status():
    whole = make_search()
    whole.run(lambda status: status.batches >= 10)
    half = make_search()
    half.run(lambda status: status.batches >= 5)
    rest = make_search(archive=half.archive, status=half.status)
    rest.run(lambda status: status.batches >= 10)
    assert [entry.standing for entry in rest.archive] == [entry.standing for entry in whole.archive]
    assert rest.status.game_frames == whole.status.game_frames


def test_an_exception_while_exploring_leaves_the_archive_whole():
    class Interrupting(SerialExecutor):
        def run(self, tasks, hear):
            findings = super().run(tasks, hear)
            if search.status.batches == 3:
                raise InterruptedError
            return findings

    search = Search(
        world=make_world(), selection=make_selection(), executor=Interrupting(make_kernel), batch_size=20
    )
    with pytest.raises(InterruptedError):
        search.run(lambda status: False)
    reference = make_search()
    reference.run(lambda status: status.batches >= 3)
    assert list(search.archive) == list(reference.archive)
    assert not search.exploring


def test_ticks_tell_of_frames_before_the_batch_is_done():
    search, heard = make_search(), []
    search.run(
        lambda status: status.batches >= 1, tick=lambda search: heard.append(search.unfinished_game_frames)
    )
    assert len(heard) == 20
    assert heard == sorted(heard)
    assert heard[-1] == search.status.game_frames
    assert search.unfinished_game_frames == 0


def test_an_empty_archive_begins_at_the_initial_state():
    search = make_search(archive=Archive(), status=Status())
    assert search.status.cells == 1
