import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goexplore import _native as native
from goexplore.archive import END, Archive, action_bytes, event_tag, read_archive, write_archive
from goexplore.archive import _storage as storage
from goexplore.cells import End
from goexplore.envs import NOWHERE, Location
from goexplore.errors import CheckpointError
from goexplore.exploration import PythonKernel, RandomRepeat, Search, SerialExecutor
from tests.fields import Corridor, Field, Lock, candidate, cells_of, make_selection, result, rooted


def no_columns(cells):
    return {}


def searched(kind=Field, batches=20) -> Archive:
    def make_kernel():
        return PythonKernel(cells_of(kind()), RandomRepeat(0.5), training_frames=20)

    search = Search(
        cell_env=cells_of(kind()),
        selection=make_selection(),
        executor=SerialExecutor(make_kernel),
        batch_size=10,
    )
    search.run(lambda status: status.batches >= batches)
    return search.archive


def read(folder, archive, locations=()):
    size = archive.segments.action_bytes
    return read_archive(folder, reset_seen=False, action_bytes=size, locations=locations)


class ShortCorridor(Corridor):
    """Where episodes are cut off, too."""

    limit = 12


@pytest.mark.parametrize("kind", [Field, ShortCorridor, Lock])
def test_an_archive_survives_the_disk(kind, tmp_path):
    archive = searched(kind)
    write_archive(archive, tmp_path, no_columns)
    other = read(tmp_path, archive)
    assert [entry._replace(branch=None) for entry in other] == [
        entry._replace(branch=None) for entry in archive
    ]
    assert [other.trajectory(entry.number) for entry in other] == [
        archive.trajectory(entry.number) for entry in archive
    ]
    for name in ("times_seen", "times_chosen", "times_chosen_since_new", "found_at_game_frame"):
        assert other.values(name).tolist() == archive.values(name).tolist()
    assert other.best == archive.best
    assert len(other.segments) == len(archive.segments)


def test_ends_survive_the_disk(tmp_path):
    archive = rooted()
    candidates = [
        candidate(b"a", score=-1.0),
        candidate(b"a", score=-3.0, end=End.TERMINATED),
        candidate(b"b", score=-2.0, end=End.TRUNCATED),
    ]
    for each in candidates:
        archive.update([archive[0]], [result(each)], game_frame=1)
    write_archive(archive, tmp_path, no_columns)
    other = read(tmp_path, archive)
    assert [(entry.cell, entry.end, entry.snapshot) for entry in other] == [
        (b"start", End.NONE, b"state of start"),
        (b"a", End.NONE, b"state of a"),
        (b"a", End.TERMINATED, b""),
        (b"b", End.TRUNCATED, b""),
    ]
    assert other.score_index.find(b"a", tag=END) == 2
    assert other.best == archive.best == 3
    ends = pq.read_table(tmp_path / "archive.parquet")["end"].to_pylist()
    assert ends == ["", "", "terminated", "truncated"]


def test_two_bytes_for_each_action_where_there_are_more_than_256(tmp_path):
    archive = searched(Lock)
    assert archive.segments.action_bytes == action_bytes(Lock.action_count) == 2
    write_archive(archive, tmp_path, no_columns)
    table = pq.read_table(tmp_path / "segments.parquet")
    stored = [np.frombuffer(actions, "<u2") for actions in table["actions"].to_pylist()]
    assert max(actions.max() for actions in stored if len(actions)) > 255
    trajectory = read(tmp_path, archive).trajectory(archive.best)
    assert isinstance(trajectory, tuple)
    assert len(trajectory) == archive[archive.best].length
    lock = Lock()
    assert sum(lock.step(action).reward for action in trajectory) == archive[archive.best].score > 3


def test_reading_and_writing_again_gives_the_same_bytes(tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    archive = searched()
    for folder in folders:
        folder.mkdir()
        write_archive(archive, folder, no_columns)
        archive = read(folder, archive)
    for name in ("archive.parquet", "segments.parquet"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()


def test_locations_once_found_are_given_from_outside(tmp_path):
    archive = rooted()
    write_archive(archive, tmp_path, no_columns)
    assert read(tmp_path, archive, [Location(1, 2)]).locations == {Location(1, 2)}


def test_tables_have_the_documented_columns_and_those_of_the_cells(tmp_path):
    write_archive(searched(), tmp_path, lambda cells: {"size": np.array([len(cell) for cell in cells])})
    assert pq.read_schema(tmp_path / "archive.parquet").names == [
        "cell",
        "score",
        "length",
        "segment",
        "offset",
        "level",
        "room",
        "times_seen",
        "times_chosen",
        "times_chosen_since_new",
        "found_at_game_frame",
        "end",
        "size",
        "snapshot",
    ]
    assert pq.read_schema(tmp_path / "segments.parquet").names == ["parent", "parent_offset", "actions"]


def replace_column(file, name, values):
    table = pq.read_table(file)
    pq.write_table(table.set_column(table.column_names.index(name), name, values), file)


def test_files_that_are_no_archive_are_refused(tmp_path):
    archive = searched()
    write_archive(archive, tmp_path, no_columns)
    (tmp_path / "segments.parquet").write_bytes(b"PAR1")
    with pytest.raises(CheckpointError, match="cannot be read"):
        read(tmp_path, archive)


def test_a_table_without_a_column_is_refused(tmp_path):
    archive = searched()
    write_archive(archive, tmp_path, no_columns)
    file = tmp_path / "archive.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["end"]), file)
    with pytest.raises(CheckpointError, match=r"cannot be read .*end"):
        read(tmp_path, archive)


def test_an_end_of_an_unknown_kind_is_refused(tmp_path):
    archive = rooted()
    write_archive(archive, tmp_path, no_columns)
    replace_column(tmp_path / "archive.parquet", "end", pa.array(["won"]))
    with pytest.raises(CheckpointError, match=r"cannot be read .*won"):
        read(tmp_path, archive)


def test_a_segment_that_grows_from_a_later_one_is_refused(tmp_path):
    archive = rooted()
    archive.update([archive[0]], [result(candidate(b"a"))], game_frame=1)
    write_archive(archive, tmp_path, no_columns)
    replace_column(tmp_path / "segments.parquet", "parent", pa.array([0, 1], pa.int32()))
    with pytest.raises(CheckpointError, match="segment 1 begins at action 0 of segment 1"):
        read(tmp_path, archive)


@pytest.mark.parametrize(
    ("file", "column", "values"),
    [
        ("segments", "parent_offset", pa.array([0, 9], pa.uint16())),
        ("segments", "parent", pa.array([0, None], pa.int32())),
        ("segments", "actions", pa.array([b"", None], pa.large_binary())),
        ("archive", "offset", pa.array([0, 9], pa.uint16())),
        ("archive", "offset", pa.array([0, 70_000], pa.int32())),
        ("archive", "segment", pa.array([0, 7], pa.int32())),
        ("archive", "length", pa.array([0, 9], pa.int32())),
        ("archive", "score", pa.array(["0", "1"])),
        ("archive", "room", pa.array([0, 2**40], pa.int64())),
        ("archive", "times_seen", pa.array([1, None], pa.int32())),
        ("archive", "end", pa.array(["", "banana"])),
    ],
)
def test_columns_that_do_not_fit_together_are_refused(tmp_path, file, column, values):
    archive = rooted()
    archive.update([archive[0]], [result(candidate(b"a"))], game_frame=1)
    write_archive(archive, tmp_path, no_columns)
    replace_column(tmp_path / f"{file}.parquet", column, values)
    with pytest.raises(CheckpointError, match="got files that cannot be read"):
        read(tmp_path, archive)


def test_a_small_file_of_endless_equal_rows_is_refused_at_once(tmp_path):
    archive = rooted()
    write_archive(archive, tmp_path, no_columns)
    table = pq.read_table(tmp_path / "archive.parquet")
    pq.write_table(table.take(pa.array(np.zeros(500_000, np.int8))), tmp_path / "archive.parquet")
    with pytest.raises(CheckpointError, match="500000 rows in a file of"):
        read(tmp_path, archive)


def test_a_small_file_of_one_large_value_again_and_again_is_refused(tmp_path):
    archive = rooted()
    write_archive(archive, tmp_path, no_columns)
    table = pa.table({"cell": pa.array([b"x" * 2**20]).take(pa.array([0] * 400))})
    pq.write_table(table, tmp_path / "archive.parquet", compression="zstd")
    assert (tmp_path / "archive.parquet").stat().st_size < 2000
    with pytest.raises(CheckpointError, match="bytes of content in a file of"):
        read(tmp_path, archive)


def test_events_and_objectives_survive_the_disk(tmp_path):
    archive = Archive()
    archive.add_root(b"start", b"state of start", NOWHERE, 10.0)
    found = [
        candidate(b"a", objective=2.0),
        candidate(b"a", event="fall", objective=float("nan")),
        candidate(b"a", event="worker-crash", end=End.CRASHED, objective=float("nan")),
        candidate(b"b", event="odd", end=End.RAISED, objective=float("nan")),
        candidate(b"b", event="worker-hang", end=End.HUNG, objective=float("nan")),
    ]
    archive.update([archive[0]], [result(*found)], game_frame=1)
    write_archive(archive, tmp_path, no_columns)
    other = read(tmp_path, archive)
    table = pq.read_table(tmp_path / "archive.parquet")
    assert table["event"].to_pylist() == ["", "", "fall", "worker-crash", "odd", "worker-hang"]
    assert table["end"].to_pylist() == ["", "", "", "crashed", "raised", "hung"]
    assert table["objective"].to_pylist()[:2] == [10.0, 2.0]
    assert [(each.event, each.end) for each in other] == [(each.event, each.end) for each in archive]
    assert other.events == archive.events
    assert other.values("objective").tolist()[:2] == [10.0, 2.0]
    assert other.score_index.find(b"a", event_tag("fall")) == 2


def test_without_events_and_objectives_there_are_no_such_columns_not_even_of_the_cells(tmp_path):
    archive = rooted()
    write_archive(archive, tmp_path, lambda cells: {"event": np.array(["x"]), "colour": np.array(["red"])})
    names = pq.read_table(tmp_path / "archive.parquet").column_names
    assert "colour" in names
    assert not {"event", "objective"} & set(names)
    assert read(tmp_path, archive).events == {}


class TestRowGroups:
    """A table is written and read in pieces, whatever is in it."""

    @pytest.fixture(autouse=True)
    def small_groups(self, monkeypatch):
        monkeypatch.setattr(storage, "ROWS_OF_A_GROUP", 4)

    @pytest.mark.parametrize("kind", [Field, ShortCorridor, Lock])
    def test_an_archive_of_many_groups_survives_the_disk_to_the_same_bytes(self, kind, tmp_path):
        archive, folders = searched(kind), [tmp_path / "one", tmp_path / "two"]
        assert len(archive.segments._parents) > len(archive.segments), "numbers without a segment"
        for folder in folders:
            folder.mkdir()
            write_archive(archive, folder, no_columns)
            archive = read(folder, archive)
        for name in ("archive.parquet", "segments.parquet"):
            assert pq.ParquetFile(folders[0] / name).num_row_groups > 1
            assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()

    def test_its_content_is_that_of_one_group(self, tmp_path, monkeypatch):
        archive = searched()
        write_archive(archive, tmp_path, no_columns)
        many = [pq.read_table(tmp_path / name) for name in ("archive.parquet", "segments.parquet")]
        monkeypatch.setattr(storage, "ROWS_OF_A_GROUP", 2**15)
        write_archive(archive, tmp_path, no_columns)
        assert [pq.read_table(tmp_path / name) for name in ("archive.parquet", "segments.parquet")] == many

    def test_columns_of_cells_may_depend_on_all_of_them(self, tmp_path):
        archive = searched()

        def numbers_or_texts(cells):
            texts = [f"{len(cell)}" for cell in cells]
            return {"size": np.array(texts) if archive.cell(20) in cells else np.arange(len(cells))}

        write_archive(archive, tmp_path, numbers_or_texts)
        sizes = pq.read_table(tmp_path / "archive.parquet")["size"].to_pylist()
        assert sizes == [f"{len(entry.cell)}" for entry in archive]


@pytest.mark.parametrize("kind", [Field, ShortCorridor, Lock])
def test_an_archive_is_read_without_c_as_with_it(kind, tmp_path, monkeypatch):
    write_archive(archive := searched(kind), tmp_path, no_columns)
    with_c = read(tmp_path, archive)
    monkeypatch.setattr(native, "archive", None)
    without = read(tmp_path, archive)
    assert list(with_c) == list(without)
    assert with_c.score_index.memory() == without.score_index.memory()
    for entry in archive:
        tag = END if archive.has_ended(entry.number) else ""
        assert with_c.score_index.find(entry.cell, tag) == entry.number


@pytest.mark.parametrize("compiled", [True, False])
def test_a_cell_that_comes_twice_is_refused(compiled, tmp_path, monkeypatch):
    if not compiled:
        monkeypatch.setattr(native, "archive", None)
    archive = rooted()
    archive.update([archive[0]], [result(candidate(b"a"))], game_frame=1)
    write_archive(archive, tmp_path, no_columns)
    replace_column(tmp_path / "archive.parquet", "cell", pa.array([b"a", b"a"], pa.large_binary()))
    with pytest.raises(CheckpointError, match="cannot be read"):
        read(tmp_path, archive)
