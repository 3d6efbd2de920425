"""The loop of Phase 1, on tiny environments."""

import pytest

from goexplore.archive import Archive
from goexplore.cells import End, encode
from goexplore.errors import ConfigError, EnvironmentContractError
from goexplore.exploration import PythonKernel, RandomRepeat, Search, SerialExecutor, Status
from goexplore.selection import UniformSelection
from tests.fields import Corridor, Field, cells_of, make_cell_env, make_kernel, make_selection


def make_search(**settings):
    given = {"executor": SerialExecutor(make_kernel), "selection": make_selection(), "batch_size": 20}
    return Search(cell_env=make_cell_env(), **given | settings)


def search_of(kind, *, ends="keep", **settings):
    """Return a search of another environment, whose observations are its cells."""
    executor = SerialExecutor(
        lambda: PythonKernel(cells_of(kind(), ends=ends), RandomRepeat(0.5), training_frames=20)
    )
    given = {"selection": make_selection(), "batch_size": 20}
    return Search(cell_env=cells_of(kind(), ends=ends), executor=executor, **given | settings)


def test_it_finds_every_cell_and_both_treasures():
    search = make_search()
    status = search.run(lambda status: status.best_score >= 20)
    assert status.best_score == 20
    search.run(lambda status: status.cells == Field.size**2)  # one of them the pit's end
    assert search.status.ends == 1


def replayed(cell_env, trajectory):
    """Return the cell, score and end that a trajectory leads to."""
    cell, score, end = cell_env.reset(), 0.0, End.NONE
    for action in trajectory:
        assert not end
        reward, cell, end = cell_env.step(action)
        score += reward
    return cell, score, end


def test_every_trajectory_replays_to_its_cell_score_length_and_end():
    search = make_search()
    search.run(lambda status: status.batches >= 40)
    cell_env = make_cell_env()
    for entry in search.archive:
        trajectory = search.archive.trajectory(entry.number)
        assert replayed(cell_env, trajectory) == (entry.cell, entry.score, entry.end)
        assert len(trajectory) == entry.length
        assert entry.snapshot == (b"" if entry.end else cell_env.snapshot())
    assert any(entry.end for entry in search.archive)


def test_entries_only_ever_get_better():
    search = make_search()
    before = []

    def compare(search, update):
        now = [entry.score_length for entry in search.archive]
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
    assert list(rest.archive) == list(whole.archive)
    assert rest.status.game_frames == whole.status.game_frames
    assert rest.status.ends == whole.status.ends > 0


def test_an_exception_while_exploring_leaves_the_archive_whole():
    class Interrupting(SerialExecutor):
        def run(self, tasks, on_result):
            results = super().run(tasks, on_result)
            if search.status.batches == 3:
                raise InterruptedError
            return results

    search = make_search(executor=Interrupting(make_kernel))
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
    assert len(heard) == 21
    assert heard == sorted(heard)
    assert heard[0] == 0
    assert heard[-1] == search.status.game_frames
    assert search.unfinished_game_frames == 0


def test_an_empty_archive_begins_at_the_initial_state():
    search = make_search(archive=Archive(), status=Status())
    assert search.status.cells == 1
    assert not search.status.has_result


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, "`batch_size` to be 1 or more, got 0"),
        ({"seed": -1}, "`seed` to be a whole number of 0 or more, got -1"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        make_search(**settings)


# ---- ends of episodes -------------------------------------------------------------------------------------


def test_where_every_step_costs_a_point_the_goal_is_the_best():
    search = search_of(Corridor)
    assert not search.status.has_result
    status = search.run(lambda status: status.batches >= 5)
    best = search.archive[search.archive.best]
    assert (best.cell, best.end) == (encode(Corridor.goal), End.TERMINATED)
    assert search.archive.trajectory(best.number) == bytes([1, 1, 1, 1])
    assert (status.best_score, status.best_length, status.has_result) == (-4.0, 4, True)
    assert (status.cells, status.ends) == (5, 1)


def test_where_ends_are_dropped_the_goal_is_never_an_entry_and_the_start_stays_the_best():
    search = search_of(Corridor, ends="drop")
    status = search.run(lambda status: status.batches >= 5)
    assert [entry.cell for entry in search.archive] == [encode(x) for x in range(4)]
    assert search.archive.best == 0
    assert (status.best_score, status.has_result, status.ends) == (0.0, False, 0)


def test_a_cell_in_which_episodes_are_cut_off_has_an_entry_for_that_and_one_to_explore_from():
    class Timed(Corridor):
        goal, limit = 255, 10

    search = search_of(Timed)
    search.run(lambda status: status.batches >= 20)
    both = [entry for entry in search.archive if entry.cell == encode(2)]
    assert [entry.end for entry in both] == [End.NONE, End.TRUNCATED]
    assert [entry.length for entry in both] == [2, 10]


@pytest.mark.parametrize("make", [make_selection, UniformSelection], ids=["weighted", "uniform"])
def test_ends_are_counted_but_never_explored_from(make):
    search = search_of(Corridor, selection=make())
    search.run(lambda status: status.batches >= 10)
    (end,) = [entry.number for entry in search.archive if entry.end]
    assert search.archive.values("times_seen")[end] > 1
    assert search.archive.values("times_chosen")[end] == 0


def test_a_selection_that_chooses_an_end_is_refused():
    class Careless(UniformSelection):
        def refresh(self, archive, update):
            self._entries.extend(update.added)

    search = search_of(Corridor, selection=Careless())
    with pytest.raises(
        EnvironmentContractError,
        match=r"expected Careless to choose entries .* `archive\.is_explorable` is false",
    ):
        search.run(lambda status: status.batches >= 20)
    assert search.status.ends == 1


@pytest.mark.parametrize("ends", ["keep", "drop"])
def test_a_search_counts_how_its_explorations_went(ends):
    class Brief(Corridor):
        limit = 3

    search = search_of(Brief, ends=ends)
    search.run(lambda status: status.batches == 2)
    tally = search.tally
    assert tally.explorations == 40
    assert tally.training_frames == search.status.game_frames
    if ends == "keep":
        assert (tally.truncated, tally.short) == (40, 0), "all are cut off, which is no loss"
    else:
        assert (tally.truncated, tally.short) == (0, 40), "a cut that is dropped cannot be told from a loss"
