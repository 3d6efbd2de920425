"""A run directory from somebody else must not make us overwrite, delete or wait for anything outside it."""

import os

import pytest

from goexplore.errors import EvaluationError, RunDirectoryError
from goexplore.evaluation import default_folder
from goexplore.files import append_line, written_whole
from goexplore.planning import Recording, append_recording, drop_torn_line
from goexplore.problems import find_problem
from goexplore.runs import SearchDirectory
from tests.cli.commands import goexplore_here
from tests.training.test_session import train

PROBLEM = find_problem("montezuma")


@pytest.fixture
def run(tmp_path):
    with SearchDirectory.create(tmp_path / "run", PROBLEM) as run:
        pass
    return run


@pytest.fixture
def diary(tmp_path):
    """A file of the user, which nobody may touch."""
    file = tmp_path / "diary"
    file.write_text("Dear diary")
    yield file
    assert file.read_text() == "Dear diary"


def test_a_link_in_a_files_place_is_replaced_and_not_followed(run, diary):
    (run.path / "report.html").symlink_to(diary)
    with written_whole(run.path / "report.html") as aside:
        aside.write_text("new")
    assert not (run.path / "report.html").is_symlink()
    assert (run.path / "report.html").read_text() == "new"


def test_nobody_can_foresee_where_a_file_is_written_first(run):
    names = set()
    for _ in range(3):
        with written_whole(run.path / "report.html") as aside:
            names.add(aside.name)
    assert len(names) == 3


def test_what_is_written_has_the_permissions_of_any_new_file(run):
    before = os.umask(0o027)
    try:
        with written_whole(run.path / "report.html"):
            pass
    finally:
        os.umask(before)
    assert (run.path / "report.html").stat().st_mode & 0o777 == 0o640


def test_what_a_killed_process_left_goes_with_a_later_lock(run, diary):
    (run.path / ".0123.part.html").write_text("half")
    os.utime(run.path / ".0123.part.html", (0, 0))
    (run.path / ".4567.part.mp4").write_text("somebody is still writing this")
    (run.path / ".89ab.part.json").symlink_to(diary)
    with run.locked():
        assert [each.name for each in run.path.glob(".*")] == [".4567.part.mp4"]


def test_the_lock_is_never_a_link(run, diary):
    (run.path / "lock").unlink()
    (run.path / "lock").symlink_to(diary)
    with pytest.raises(RunDirectoryError, match="a symbolic link at"), run.locked():
        pass


def test_the_lock_is_never_a_pipe_that_nobody_writes_to(run):
    (run.path / "lock").unlink()
    os.mkfifo(run.path / "lock")
    with pytest.raises(RunDirectoryError, match="a pipe, a device or a folder at"), run.locked():
        pass


def test_the_lock_keeps_its_content(run):
    (run.path / "lock").write_text("mine")
    with run.locked():
        pass
    assert (run.path / "lock").read_text() == "mine"


@pytest.mark.parametrize("name", ["checkpoints", "tensorboard", "policies"])
def test_folders_that_are_links_are_refused(run, tmp_path, name):
    (tmp_path / "elsewhere" / "000001").mkdir(parents=True)
    if (run.path / name).exists():
        (run.path / name).rmdir()
    (run.path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunDirectoryError, match=f"got a symbolic link, {name}"):
        SearchDirectory.open(run.path)
    assert (tmp_path / "elsewhere" / "000001").is_dir()


def test_the_run_directory_itself_may_be_a_link(run, tmp_path):
    (tmp_path / "link").symlink_to(run.path)
    with SearchDirectory.open(tmp_path / "link").locked():
        pass


def test_nothing_is_evaluated_into_a_link(run, tmp_path):
    (run.path / "evaluations").symlink_to(tmp_path)
    with pytest.raises(EvaluationError, match="symbolic link"):
        default_folder(run.path)


def test_neither_are_the_tests_of_a_choice(tmp_path):
    train(tmp_path / "run", updates=1)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "run" / "evaluations").mkdir()
    (tmp_path / "run" / "evaluations" / "tests").symlink_to(tmp_path / "foreign")
    short = ("--repetitions", 1, "--max-game-frames", 80, "--workers", 1)
    result = goexplore_here("evaluate", tmp_path / "run", "--choose", 1, *short)
    assert result.returncode == 2
    assert "a symbolic link at" in result.stderr
    assert not list((tmp_path / "foreign").iterdir())


def test_metrics_are_not_appended_to_what_a_link_leads_to(run, diary):
    run.metrics_file.symlink_to(diary)
    with pytest.raises(RunDirectoryError, match="a symbolic link at"):
        run.append_metrics({"game_frames": 1})


def test_neither_are_recordings(tmp_path, diary):
    (tmp_path / "expert.jsonl").symlink_to(diary)
    recording = Recording(
        no_ops=0, played=b"", chosen=b"", rewards=(), taught_until=0, ending="goal", simulated=0, seed=0
    )
    with pytest.raises(OSError, match="a symbolic link at"):
        append_recording(tmp_path / "expert.jsonl", recording, 18)
    with pytest.raises(OSError, match="a symbolic link at"):
        drop_torn_line(tmp_path / "expert.jsonl", 18)


def test_a_device_is_not_written_to(tmp_path):
    with pytest.raises(OSError, match="a pipe, a device or a folder at"):
        append_line(tmp_path.__class__("/dev/null"), "a line")
