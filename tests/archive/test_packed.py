"""Packed results, and the archive's update in C: the one in Python is the definition."""

import random
from array import array

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goexplore import _native as native
from goexplore.archive import (
    UNKNOWN,
    Archive,
    Candidate,
    ExplorationResult,
    PackedResults,
    ScoreLength,
    pack_results,
    write_archive,
)
from goexplore.cells import End
from goexplore.envs import Location
from goexplore.errors import ConfigError
from goexplore.exploration import total_of
from tests.fields import candidate, result, rooted

compiled = pytest.mark.skipif(native.archive is None, reason="the archive's C was not compiled")

CELLS = [bytes([65 + letter]) * (1 + 7 * letter % 30) for letter in range(25)] + [b"start"]


def make_batch(archive, draws, *, size, action_bytes):
    """Return chosen entries and what explorations from them found, as kernels would."""
    explorable = [entry.number for entry in archive if archive.is_explorable(entry.number)]
    chosen = [draws.choice(explorable) for _ in range(size)]
    results, sent = [], {}
    for number in chosen:
        start, seen, new, candidates = archive[number], [number], [], []
        count = draws.randrange(12)
        for offset, cell in enumerate(draws.sample(CELLS, count), start=1):
            entry = archive.score_index.find(cell)
            if entry == number:
                continue
            (seen if entry != UNKNOWN else new).append(entry if entry != UNKNOWN else cell)
            reached = ScoreLength(float(draws.randrange(-1, 3)), draws.randrange(60))
            known = sent.get(cell) or (archive.score_index.score_length(entry) if entry != UNKNOWN else None)
            if known is None or reached.beats(known):
                if draws.random() < 0.8:
                    sent[cell] = reached  # else another worker explores, which does not know of it
                elif entry == UNKNOWN:
                    sent.pop(cell, None)
                location = Location(draws.randrange(-1, 3), draws.choice((-1, 1, 300)))
                snapshot = bytes(draws.randrange(80))
                candidates.append(Candidate(entry, cell, offset, reached, snapshot, location))
        results.append(
            ExplorationResult(
                actions=draws.randbytes(count * action_bytes),
                training_frames=count + draws.randrange(2),
                seen=array("i", seen),
                seen_new=tuple(new),
                candidates=tuple(draws.sample(candidates, len(candidates))),
                frame=draws.choice((b"", b"a frame", b"another frame")),
                stopped=draws.choice((None, None, "a jam", "a hang")),
            )
        )
        assert start.number == number
    return chosen, results


def memory(archive):
    """Return all that an archive holds."""
    stores = [archive._bytes, archive.segments._actions]
    return [
        *(column.tolist() for column in archive._columns.values()),
        *(column.tolist() for column in archive.score_index.memory()[1:]),
        *(column.tolist() for column in archive.segments._columns()),
        [
            (bytes(store._data), {units: free for units, free in store._free.items() if free})
            for store in stores
        ],
        archive.segments._living,
        archive.best,
        archive.locations,
        archive.events,
    ]


def packed_update(archive, chosen, results, game_frame):
    packed = pack_results(results)
    return archive.update(archive.chosen(chosen), packed, game_frame=game_frame)


def assert_equal_updates(one, other):
    assert one.added == other.added
    assert one.improved == other.improved
    assert one.touched_entries().tolist() == other.touched_entries().tolist() == sorted(other.touched)


def with_ends_and_events(**given):
    """Return an archive that has been explored with ends and events, by other kernels."""
    archive = rooted(**given)
    found = (
        result(candidate(CELLS[0], score=-2.0, length=4, end=End.TERMINATED)),
        result(candidate(CELLS[1], length=3, event="a bug"), candidate(CELLS[1], length=2)),
        result(candidate(CELLS[0], score=-3.0, length=9)),
    )
    archive.update([archive[0]] * 3, found, game_frame=1)
    return archive


@compiled
@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    batches=st.integers(1, 8),
    reset_seen=st.booleans(),
    action_bytes=st.sampled_from((1, 2)),
    make=st.sampled_from((rooted, with_ends_and_events)),
)
def test_an_archive_updated_in_c_is_equal_to_the_byte(seed, batches, reset_seen, action_bytes, make):
    draws = random.Random(seed)
    reference, archive = (make(reset_seen=reset_seen, action_bytes=action_bytes) for _ in range(2))
    for game_frame in range(batches):
        chosen, results = make_batch(reference, draws, size=draws.randrange(1, 9), action_bytes=action_bytes)
        expected = reference.update([reference[each] for each in chosen], results, game_frame=game_frame)
        update = packed_update(archive, chosen, results, game_frame)
        assert_equal_updates(update, expected)
        assert memory(archive) == memory(reference)


@compiled
@pytest.mark.parametrize("reset_seen", [False, True])
def test_so_is_one_whose_segments_were_renumbered_on_the_way(reset_seen, tmp_path):
    draws = random.Random(0)
    reference, archive = rooted(reset_seen=reset_seen), rooted(reset_seen=reset_seen)
    renumbered = 0
    for game_frame in range(4000):
        chosen, results = make_batch(reference, draws, size=1, action_bytes=1)
        number = reference.score_index.find(CELLS[3])
        if number != UNKNOWN and game_frame % 3:  # ever shorter ways: what they replace is collected
            shorter = candidate(CELLS[3], score=9.0, length=9000 - game_frame, number=number)
            results = [result(shorter, actions=b"?!", seen=tuple({chosen[0], number}))]
        segments = len(reference.segments._parents)
        reference.update([reference[each] for each in chosen], results, game_frame=game_frame)
        packed_update(archive, chosen, results, game_frame)
        renumbered += len(reference.segments._parents) < segments
    assert renumbered
    assert memory(archive) == memory(reference)
    folders = tmp_path / "c", tmp_path / "python"
    for each, folder in zip((archive, reference), folders, strict=True):
        folder.mkdir()
        write_archive(each, folder, lambda cells: {})
    for file in ("archive.parquet", "segments.parquet"):
        assert (folders[0] / file).read_bytes() == (folders[1] / file).read_bytes()


@given(seed=st.integers(0, 2**32), size=st.integers(0, 9), action_bytes=st.sampled_from((1, 2)))
def test_what_is_packed_comes_out_again(seed, size, action_bytes):
    _, results = make_batch(rooted(), random.Random(seed), size=size, action_bytes=action_bytes)
    packed = pack_results(results)
    assert len(packed) == size
    assert list(packed) == packed[:] == results
    total = total_of(packed, action_bytes)
    assert total == total_of(results, action_bytes)
    assert len(packed.records) % 8 == 0


def test_without_a_compiler_packed_results_are_taken_in_by_python(monkeypatch):
    monkeypatch.setattr(native, "archive", None)
    draws, reference, archive = random.Random(1), rooted(), rooted()
    for game_frame in range(20):
        chosen, results = make_batch(reference, draws, size=3, action_bytes=1)
        expected = reference.update([reference[each] for each in chosen], results, game_frame=game_frame)
        assert_equal_updates(packed_update(archive, chosen, results, game_frame), expected)
    assert memory(archive) == memory(reference)
    assert total_of(pack_results(results), 1) == total_of(results, 1)


@compiled
def test_with_an_objective_python_takes_them_in():
    archive = Archive()
    archive.add_root(b"start", b"", Location(0, 1), objective=1.0)
    found = result(seen=(0,))
    assert packed_update(archive, [0], [found], 1).touched == {0}
    assert archive.values("times_seen").tolist() == [2]


@pytest.mark.parametrize(
    "found",
    [
        result(candidate(b"end", end=End.TERMINATED)),
        result(candidate(b"a", event="a bug")),
        result()._replace(replayed=3),
    ],
)
def test_results_with_ends_events_or_replays_are_not_packed(found):
    with pytest.raises(ConfigError, match="expected a result without ends, events and replays"):
        pack_results([found])


def test_records_of_another_version_are_refused():
    packed = pack_results([result(seen=(0,))])
    records = packed.records[:4] + b"\x63" + packed.records[5:]
    with pytest.raises(ConfigError, match="expected records of version 1, got 99"):
        PackedResults(records, packed.offsets)[0]


@compiled
@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32), flips=st.integers(1, 6), cut=st.integers(0, 40))
def test_damaged_records_do_no_harm(seed, flips, cut):
    """They are refused, or are another result; nothing leaves its bounds."""
    draws, archive = random.Random(seed), with_ends_and_events()
    chosen, results = make_batch(archive, draws, size=3, action_bytes=1)
    packed = pack_results(results)
    records = bytearray(packed.records)
    for _ in range(flips):
        records[draws.randrange(len(records))] = draws.choice((0, 1, 2, 127, 128, 255))
    records = bytes(records[: len(records) - draws.choice((0, 0, cut))])
    offsets = packed.offsets.copy()
    if draws.random() < 0.3:
        offsets[draws.randrange(3)] += draws.choice((-8, 1, 8, 2**40))
    try:
        archive.update(archive.chosen(chosen), PackedResults(records, offsets), game_frame=1)
    except (ValueError, RuntimeError, OverflowError):
        return
    assert len(archive) == len(archive.score_index.column("length"))


@compiled
@pytest.mark.parametrize("chosen", [[5], [-1], [0, 0]])
def test_entries_that_are_not_there_are_refused(chosen):
    archive = rooted()
    before = len(archive._columns["cell"])
    with pytest.raises((ValueError, IndexError)):
        packed_update(archive, chosen, [result(seen=(0,))], 1)
    assert len(archive._columns["cell"]) == before


@compiled
@pytest.mark.parametrize("column", range(20))
def test_columns_that_do_not_fit_together_are_refused(column):
    archive, packed = rooted(), pack_results([result(seen=(0,))])
    index, tree = archive.score_index.memory(), archive.segments
    columns = [*index, *archive._columns.values(), *tree._columns()]
    columns[column] = columns[column][:-1]
    stores = {"strings": bytearray(), "free_strings": {}, "actions": bytearray(), "free_actions": {}}
    stores |= {"used_strings": 0, "used_actions": 0}
    counts = {"entries": 1, "segments": 1, "living": 1, "best": 0, "game_frame": 1, "action_bytes": 1}
    with pytest.raises(ValueError, match="expected the columns of an archive"):
        native.archive.update(
            columns=tuple(columns),
            chosen=np.zeros(1, np.int32),
            records=packed.records,
            offsets=packed.offsets,
            reset_seen=False,
            **stores,
            **counts,
        )


@compiled
def test_handles_that_lead_nowhere_are_refused():
    archive = rooted()
    better = result(candidate(b"start", score=1.0, number=0), seen=(0,))
    archive._columns["snapshot"][0] = 2**30
    with pytest.raises(RuntimeError, match="expected an archive that its records fit to"):
        packed_update(archive, [0], [better], 1)
    with pytest.raises(ValueError, match="expected handles of strings"):
        archive.gather("snapshot")


@compiled
def test_strings_are_gathered_as_they_are_without_c(monkeypatch):
    archive = with_ends_and_events()
    native_ones = archive.gather("cell")
    monkeypatch.setattr(native, "archive", None)
    offsets, strings = archive.gather("cell")
    assert (offsets.tolist(), strings) == (native_ones[0].tolist(), native_ones[1])
    assert strings == b"".join(entry.cell for entry in archive)


@compiled
@pytest.mark.parametrize("leaves", [[1, 0], [0, 0], [4], [-1]])
def test_leaves_of_a_tree_come_in_rising_order(leaves):
    with pytest.raises(ValueError, match="expected leaves of this tree"):
        native.archive.tree_set(np.zeros(8), np.array(leaves), np.ones(len(leaves)))
