"""Searches with dynamic cells: revised on the way, the same for any worker and after any kill."""

import json
import signal
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from goexplore import _native as native
from goexplore import explore, open_run
from goexplore.archive import recell
from goexplore.cells import PAPER_DOWNSCALING, DownscaledCells, Downscaling, DynamicCells, unpack_frame
from goexplore.cli._explore import take_cells
from goexplore.envs import Environment, Step
from goexplore.errors import ConfigError
from goexplore.exploration import ExplorationConfig
from goexplore.games.two_mazes import TWO_MAZES
from goexplore.problems import DynamicConfig, Problem, find_problem
from goexplore.runs import Limits, run_search
from tests.cli.commands import COMMAND, goexplore, goexplore_here, tables, wait_until

DYNAMIC = DynamicConfig(target_share=0.5, first_revision=6_000, sample_frames=300, draws=20)
MAZES = replace(TWO_MAZES, cells=DYNAMIC)
GAME_FRAMES = 30_000


class Belt(Environment):
    """Left and right on a belt of 30 fields, seen as a picture. The right end pays and ends the episode."""

    action_count = 2
    size = 30

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.x = 0

    def step(self, action: int) -> Step:
        self.x = max(self.x + (1 if action else -1), 0)
        at_the_end = self.x == self.size - 1
        return Step(10.0 * at_the_end, terminated=at_the_end)

    def observation(self) -> np.ndarray:
        picture = np.zeros((30, 4 * self.size), np.uint8)
        picture[10:20, 4 * self.x : 4 * self.x + 4] = 250
        return picture

    def snapshot(self) -> bytes:
        return bytes([self.x])

    def restore(self, snapshot: bytes) -> None:
        (self.x,) = snapshot


BELT = Problem(
    env=Belt,
    cells=DYNAMIC,
    exploration=ExplorationConfig(training_frames=20, batch_size=20, repeat_probability=0.7),
)


def search(problem, folder, *, workers=None, game_frames=GAME_FRAMES, **settings):
    run_search(problem, run_dir=folder, limits=Limits(game_frames=game_frames), workers=workers, **settings)
    return folder


@pytest.fixture(scope="module")
def mazes(tmp_path_factory):
    return search(MAZES, tmp_path_factory.mktemp("dynamic") / "run")


# ---- what a run is ----------------------------------------------------------------------------------------


def test_cells_are_revised_whenever_twice_as_much_was_played(mazes):
    revisions = open_run(mazes, MAZES).revisions
    thresholds = [6_000, 12_000, 24_000]
    assert len(revisions) == len(thresholds)
    for revision, threshold in zip(revisions, thresholds, strict=True):
        assert threshold <= revision.game_frames < threshold + 3_500  # at the end of a batch
    assert len({PAPER_DOWNSCALING, *(revision.downscaling for revision in revisions)}) > 2


def test_every_trajectory_ends_in_its_cell_after_revisions(mazes):
    run = open_run(mazes, MAZES)
    assert len(run.archive) > 20
    assert run.verify(workers=1).passed


def test_frames_of_the_search_are_kept_for_the_next_revision(mazes):
    checkpoint = open_run(mazes, MAZES).directory.last_checkpoint()
    assert 0 < len(checkpoint.frames) <= 300
    assert len(set(checkpoint.frames)) == len(checkpoint.frames)
    assert unpack_frame(checkpoint.frames[-1]).shape == (15, 20)


def test_the_history_is_in_the_checkpoint_the_metrics_and_the_summary(mazes):
    run = open_run(mazes, MAZES)
    meta = json.loads((run.checkpoint / "meta.json").read_text())
    assert [each["width"] for each in meta["content"]["revisions"]] == [each.width for each in run.revisions]
    assert run.metrics()[-1].revisions == len(run.revisions)
    lines = [
        line for line in goexplore_here("info", mazes).stdout.splitlines() if line.startswith("revision ")
    ]
    assert len(lines) == len(run.revisions)
    last = run.revisions[-1]
    assert f"{last.width} x {last.height} x {last.levels} at {last.game_frames:,} game frames" in lines[-1]


def test_report_and_demonstrations_are_made_of_it(mazes, tmp_path):
    run = open_run(mazes, MAZES)
    page = run.report(tmp_path / "report.html", videos=0).read_text()
    assert "Revisions of the cells" in page
    assert f"<td>{run.revisions[-1].cells_before:,}</td>" in page.replace(' class="number"', "")
    (demonstration,) = run.demos()
    assert demonstration.score == run.best.score


def test_cells_of_an_opened_run_are_those_of_the_last_revision(mazes):
    run = open_run(mazes, MAZES)
    cells = DownscaledCells(**run.revisions[-1].downscaling._asdict())
    env = run.problem.env()
    for number in (0, len(run.archive) // 2, len(run.archive) - 1):
        env.reset()
        for action in run.trajectory(number).actions:
            env.step(action)
        assert run.archive.cell(number) == cells.update(env.observation())


# ---- a revision -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [MAZES, BELT], ids=["mazes", "ends kept"])
def test_a_revised_archive_is_what_the_same_trajectories_give_from_scratch(problem, tmp_path):
    run = open_run(search(problem, tmp_path / "run", game_frames=5_000), problem)
    parameters = Downscaling(12, 9, 60)
    cells = DownscaledCells(**parameters._asdict())
    env, expected = run.problem.env(), {}
    for entry in run.archive:
        env.reset()
        for action in run.archive.trajectory(entry.number):
            env.step(action)
        key = cells.update(env.observation()), bool(entry.end)
        if key not in expected or entry.score_length.beats(expected[key]):
            expected[key] = entry.score_length
    cell_env = replace(problem, cells=DYNAMIC.revised(parameters)).make_cell_env()
    new = recell(run.archive, lambda entry: cell_env.cells.cell_of(cell_env.tracked(entry.snapshot)))
    assert {(entry.cell, bool(entry.end)): entry.score_length for entry in new} == expected
    assert len(new) > 1


def test_ends_of_episodes_are_kept_through_revisions(tmp_path):
    run = open_run(search(BELT, tmp_path / "run"), BELT)
    assert len(run.revisions) == 3
    assert run.status.ends > 0
    assert run.best.score == 10.0
    assert run.best.end
    assert run.verify(workers=1).passed


# ---- the same for all -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"workers": 1},
        {"workers": 2},
        pytest.param({"workers": 2, "start_method": "spawn"}, marks=pytest.mark.slow),
    ],
    ids=["one process", "two processes", "spawned"],
)
def test_the_number_of_workers_does_not_change_a_byte(mazes, settings, tmp_path):
    assert tables(search(MAZES, tmp_path / "run", **settings)) == tables(mazes)


def test_another_seed_finds_other_parameters(mazes, tmp_path):
    other = open_run(search(MAZES, tmp_path / "run", game_frames=14_000, seed=1), MAZES)
    assert other.revisions[:2] != open_run(mazes, MAZES).revisions[:2]


@pytest.mark.parametrize("stop", [300, 5_900, 6_100, 13_000])
def test_a_search_that_was_resumed_before_or_after_a_revision_finds_the_same(mazes, stop, tmp_path):
    search(MAZES, tmp_path / "run", game_frames=stop)
    search(MAZES, tmp_path / "run", resume=True)
    assert tables(tmp_path / "run") == tables(mazes)
    assert open_run(tmp_path / "run", MAZES).revisions == open_run(mazes, MAZES).revisions


OPTIONS = """
    --cells dynamic --cells.target-share 0.5 --cells.first-revision 6000 --cells.sample-frames 300
    --cells.draws 20
"""


def test_killed_at_any_moment_and_resumed_the_archive_is_the_same(mazes, tmp_path):
    run = tmp_path / "run"
    arguments = ["explore", "two-mazes", *OPTIONS.split(), "--run-dir", run, "--game-frames", GAME_FRAMES]
    arguments = [*map(str, arguments), "--workers", "2", "--checkpoint-minutes", "0.0001"]
    for number in (2, 5):
        process = subprocess.Popen(
            [*COMMAND, *arguments, *(["--resume"] if run.exists() else [])],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until((run / "checkpoints" / f"{number:06}").exists)
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = goexplore(*arguments, "--resume")
    assert done.returncode == 0, done.stderr
    assert tables(run) == tables(mazes)
    verified = goexplore_here("verify", run, "--all")
    assert verified.returncode == 0, verified.stdout


@pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled")
def test_native_threads_and_ale_py_find_the_same_cells(tmp_path):
    cells = DynamicConfig(first_revision=6_000, draws=15)
    problem = replace(
        find_problem("ALE/MontezumaRevenge-v5"),
        cells=cells,
        exploration=ExplorationConfig(batch_size=20, ends="drop"),
    )
    found = []
    for name, settings in {
        "serial": {"engine": "native"},
        "threads": {"engine": "native", "workers": 2},
        "ale": {"engine": "ale", "workers": 2},
    }.items():
        run = open_run(search(problem, tmp_path / name, game_frames=20_000, **settings), problem)
        found.append((run.to_pandas().drop(columns="snapshot"), run.revisions))
    assert len(found[0][1]) == 2
    for table, revisions in found[1:]:
        assert revisions == found[0][1]
        assert table.equals(found[0][0])
    assert tables(tmp_path / "serial") == tables(tmp_path / "threads")
    assert open_run(tmp_path / "serial").verify(sample=40, workers=1).passed


# ---- by name ----------------------------------------------------------------------------------------------


def test_cells_can_be_given_by_name():
    assert Problem(env=Belt, cells="dynamic").cells == DynamicConfig()
    with pytest.raises(ConfigError, match="Did you mean dynamic"):
        Problem(env=Belt, cells="dynamc")


@pytest.mark.parametrize("words", [["--cells", "dynamic"], ["--cells=dynamic"]])
def test_the_command_line_takes_cells_by_name_before_their_settings(words):
    problem, rest = take_cells(TWO_MAZES, ["--seed", "1", *words, "--cells.draws", "5"])
    assert problem.cells == DynamicConfig()
    assert rest == ["--seed", "1", "--cells.draws", "5"]


def test_without_a_name_the_problem_keeps_its_cells_and_their_settings():
    for words in (["--cells.width", "16"], ["--cells", "downscaled", "--cells.width", "16"]):
        problem, rest = take_cells(TWO_MAZES, words)
        assert problem == TWO_MAZES
        assert rest == ["--cells.width", "16"]


def test_images_have_dynamic_cells_by_default(tmp_path):
    problem = Problem(env=Belt, exploration=BELT.exploration)
    cell_env = problem.make_cell_env()
    assert isinstance(cell_env.cells, DynamicCells)
    assert problem.make_reviser(cell_env) is not None
    run = explore(problem, run_dir=tmp_path / "run", game_frames=3_000, workers=0)
    assert run.verify(workers=1).passed
    again = explore(problem, run_dir=tmp_path / "run", game_frames=4_000, workers=0, resume=True)
    assert again.status.game_frames >= 4_000


def test_cells_of_another_kind_than_the_problem_s_are_found_again_in_the_run_directory(tmp_path):
    for name, kind in (("dynamic", "dynamic"), ("downscaled", "downscaled")):
        target = "two-mazes" if kind == "dynamic" else "ALE/Freeway-v5"
        run = explore(target, cell=name, run_dir=tmp_path / name, game_frames=500, workers=0)
        assert open_run(run.path).problem.cells.kind == kind
