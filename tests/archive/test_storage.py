import numpy as np
import pyarrow.parquet as pq
import pytest

from goexplore.archive import Archive, read_archive, write_archive
from goexplore.errors import CheckpointError
from goexplore.exploration import Search, SerialExecutor
from tests.worlds import make_kernel, make_selection, make_world


def no_columns(cells):
    return {}


def searched() -> Archive:
    search = Search(
        world=make_world(), selection=make_selection(), executor=SerialExecutor(make_kernel), batch_size=10
    )
    search.run(lambda status: status.batches >= 20)
    return search.archive


def test_an_archive_survives_the_disk(tmp_path):
    archive = searched()
    write_archive(archive, tmp_path, no_columns)
    read = read_archive(tmp_path, reset_seen=False, places=sorted(archive.places))
    assert len(read) == len(archive)
    for entry in archive:
        other = read[entry.number]
        assert (other.cell, other.standing, other.snapshot) == (entry.cell, entry.standing, entry.snapshot)
        assert read.trajectory(entry.number) == archive.trajectory(entry.number)
    for name in ("times_seen", "times_chosen", "times_chosen_since_new", "found_at_game_frame"):
        assert (read.values(name) == archive.values(name)).all()
    assert read.best == archive.best
    assert len(read.segments) == len(archive.segments)


def test_reading_and_writing_again_gives_the_same_bytes(tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    archive = searched()
    for folder in folders:
        folder.mkdir()
        write_archive(archive, folder, no_columns)
        archive = read_archive(folder, reset_seen=False, places=[])
    for name in ("archive.parquet", "segments.parquet"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()


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
        "size",
        "snapshot",
    ]
    assert pq.read_schema(tmp_path / "segments.parquet").names == ["parent", "parent_offset", "actions"]


def test_files_that_are_no_archive_are_refused(tmp_path):
    write_archive(searched(), tmp_path, no_columns)
    (tmp_path / "segments.parquet").write_bytes(b"PAR1")
    with pytest.raises(CheckpointError, match="cannot be read"):
        read_archive(tmp_path, reset_seen=False, places=[])
