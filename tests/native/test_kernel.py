"""Explorations on the native engine find what the reference kernel finds on ale-py."""

import contextlib
import itertools
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from goexplore import _native as native
from goexplore.archive import END, START, Archive, Entry, ScoreIndex, ScoreLength, write_archive
from goexplore.cells import Downscaling, unpack_frame, unpack_snapshot
from goexplore.errors import ConfigError, SnapshotError
from goexplore.exploration import NativeExecutor, Search, SerialExecutor, Task, ThreadExecutor
from goexplore.problems import DownscaledConfig, DynamicConfig, find_problem
from goexplore.random import SplitMix64, stream_state
from goexplore.runs import Limits, run_search

pytestmark = pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled")

MONTEZUMA = find_problem("montezuma")
MONTEZUMA_PIXELS = find_problem("montezuma-pixels")
PITFALL = find_problem("pitfall")
PITFALL_PIXELS = find_problem("pitfall-pixels")
DYNAMIC = DynamicConfig()


def with_settings(problem, part, **settings):
    return replace(problem, **{part: replace(getattr(problem, part), **settings)})


def on_native(problem):
    return problem.with_engine("native")[0]


def native_kernel(problem):
    return on_native(problem).env.make_kernel(problem.cells, problem.exploration)()


def make_search(problem, executor, seed=0):
    cell_env = problem.make_cell_env()
    return Search(
        cell_env=cell_env,
        selection=problem.make_selection(cell_env),
        executor=executor,
        archive=Archive(reset_seen=problem.selection.reset_seen),
        batch_size=problem.exploration.batch_size,
        seed=seed,
    )


# ---- one task ---------------------------------------------------------------------------------------------


class Recording(SerialExecutor):
    """Keeps all results."""

    def __init__(self, make_kernel):
        super().__init__(make_kernel)
        self.results = []

    def run(self, tasks, on_result):
        results = super().run(tasks, on_result)
        self.results += results
        return results


def all_results(problem, make_kernel):
    executor = Recording(make_kernel)
    search = make_search(with_settings(problem, "exploration", batch_size=3), executor)
    search.run(lambda status: status.batches >= 3)
    return [
        found._replace(candidates=tuple(each._replace(snapshot=b"") for each in found.candidates))
        for found in executor.results
    ]


@pytest.mark.parametrize(
    "problem",
    [
        MONTEZUMA,
        MONTEZUMA_PIXELS,
        PITFALL,
        with_settings(PITFALL, "cells", cell_width=2, cell_height=1),
        with_settings(MONTEZUMA_PIXELS, "cells", width=40, height=30, levels=255),
        replace(MONTEZUMA_PIXELS, cells=DYNAMIC.revised(Downscaling(40, 3, 200))),
        replace(PITFALL_PIXELS, cells=DYNAMIC),
        with_settings(MONTEZUMA, "env", frame_skip=3, episode_end="game-over"),
        with_settings(MONTEZUMA, "env", full_action_set=True),
        with_settings(MONTEZUMA, "exploration", training_frames=7, repeat_probability=0.3),
    ],
    ids=["montezuma", "pixels", "pitfall", "small", "fine", "dynamic", "both", "skip", "actions", "short"],
)
def test_every_task_finds_what_it_finds_on_ale_py(problem):
    results = all_results(on_native(problem), lambda: native_kernel(problem))
    reference = problem.reference()
    assert results == all_results(reference, reference.make_python_kernel)
    assert len({found.actions for found in results}) == 9
    assert any(found.frame for found in results) == (problem.cells.kind == "dynamic")
    assert any(found.candidates for found in results[3:])


def initial_task(problem, *, order=1, random_state=1):
    cell_env = on_native(problem).make_cell_env()
    start = Entry(
        number=0,
        cell=cell_env.reset(),
        score_length=ScoreLength(0.0, 0),
        branch=START,
        snapshot=cell_env.snapshot(),
    )
    return Task(order=order, start=start, random_state=random_state)


# Action x training frames: past the skull to the key, through the door on the left, and down two ladders.
DOWN_TWO_LADDERS = """
    11x3 6x9 3x1 14x7 13x8 12x3 1x7 14x4 7x1 6x7 9x10 12x28 1x7 15x7 2x16 15x2 3x8 10x5 5x9 15x17 16x3 3x10
    17x4 3x11 11x10 2x9 4x3 17x2 2x1 5x4 15x7 2x10 7x3 15x13 0x16 9x23 5x19 17x13 13x5 17x22 13x29
"""
# To the right, down a ladder, back underground by three rooms, and there again.
UNDERGROUND = "11x38 2x18 6x20 16x45 14x3 4x7 13x4 4x24 3x27 14x18 10x8"


def parse(runs):
    for run in runs.split():
        action, count = map(int, run.split("x"))
        yield from [action] * count


def walk(problem, actions):
    """Yield cells and locations on a way, by a kernel that is given each step as an exploration."""
    problem = with_settings(problem, "exploration", training_frames=1)
    kernel, count = native_kernel(problem), problem.env().action_count
    draws = {(SplitMix64(draw).word() >> 32) * count >> 32: draw for draw in range(1000)}
    start = initial_task(problem).start._replace(cell=b"")  # so that every cell is another one, and offered
    for action in actions:
        (candidate,) = kernel.run(Task(1, start, draws[action]), ScoreIndex()).candidates
        start = start._replace(snapshot=candidate.snapshot)
        yield candidate.cell, candidate.location


@pytest.mark.parametrize(
    ("problem", "way", "rooms"),
    [(MONTEZUMA, DOWN_TWO_LADDERS, [1, 0, 4, 10]), (PITFALL, UNDERGROUND, [0, 1, 253, 1])],
    ids=["montezuma", "pitfall"],
)
def test_cells_are_tracked_through_rooms_as_on_ale_py(problem, way, rooms):
    cell_env, expected = problem.reference().make_cell_env(), []
    cell_env.reset()
    for action in parse(way):
        cell = cell_env.step(action).cell
        expected.append((cell, cell_env.location()))
    assert list(walk(problem, parse(way))) == expected
    assert [room for room, _ in itertools.groupby(location.room for _, location in expected)] == rooms


# BLAKE2b takes 128 bytes at a time.
@pytest.mark.parametrize(("width", "height"), [(1, 1), (127, 1), (16, 8), (43, 3), (16, 16), (160, 210)])
def test_known_cells_are_recognised_whatever_their_size(width, height):
    problem = replace(MONTEZUMA_PIXELS, cells=DownscaledConfig(width=width, height=height))
    task, score_index = initial_task(problem), ScoreIndex()
    score_index.add(task.start.cell, task.start.score_length)
    unknown = native_kernel(problem).run(task, score_index)
    for candidate in unknown.candidates:
        assert len(candidate.cell) == width * height
        score_index.add(candidate.cell, candidate.score_length)
    known = native_kernel(problem).run(task, score_index)
    assert list(unknown.seen) == [0]
    assert list(known.seen) == list(range(len(unknown.seen_new) + 1))
    assert known.seen_new == known.candidates == ()
    assert known.actions == unknown.actions


def test_snapshots_of_dynamic_cells_have_the_frames_that_the_reference_kernel_packs():
    """Beside the equality of results, in which the packed frame of each exploration is."""
    problem = on_native(replace(PITFALL_PIXELS, cells=DYNAMIC))
    snapshots = []
    for kernel in (problem.make_python_kernel(), native_kernel(problem)):
        found = kernel.run(initial_task(problem), ScoreIndex())
        snapshots.append([candidate.snapshot for candidate in found.candidates])
    assert snapshots[0] == snapshots[1]
    tracked, _ = unpack_snapshot(snapshots[0][-1][1:])
    assert unpack_frame(tracked).shape == (210, 160)


@pytest.mark.parametrize("tracked", [b"", b"12345"])
def test_a_snapshot_of_dynamic_cells_without_a_frame_is_refused(tracked):
    problem = replace(PITFALL_PIXELS, cells=DYNAMIC)
    task = initial_task(problem)
    _, state = unpack_snapshot(task.start.snapshot[1:])
    bad = b"\2" + len(tracked).to_bytes(2, "little") + tracked + state
    with pytest.raises(SnapshotError, match="expected a snapshot of the native engine"):
        native_kernel(problem).run(task._replace(start=task.start._replace(snapshot=bad)), ScoreIndex())


def test_the_end_of_an_episode_in_a_cell_does_not_make_the_cell_known():
    """The index may come from a search that keeps ends, in which the reference kernel explores."""
    task, score_index = initial_task(MONTEZUMA), ScoreIndex()
    unknown = native_kernel(MONTEZUMA).run(task, score_index)
    for cell in unknown.seen_new:
        score_index.add(cell, ScoreLength(1e9, 0), tag=END)
    assert native_kernel(MONTEZUMA).run(task, score_index) == unknown
    assert unknown.seen_new


def test_a_kernel_does_not_offer_again_what_an_earlier_task_of_the_batch_has_found_as_good():
    kernel, score_index = native_kernel(MONTEZUMA), ScoreIndex()
    first, second, earlier = (
        kernel.run(initial_task(MONTEZUMA, order=order), score_index) for order in (3, 4, 2)
    )
    assert first.candidates
    assert second.candidates == ()
    assert second.seen_new == first.seen_new
    assert earlier == first  # what comes first in the batch must be offered, whoever ran first


@pytest.mark.parametrize(
    "damage",
    [
        lambda snapshot: b"",
        lambda snapshot: snapshot[:-1],
        lambda snapshot: b"\1" + snapshot[1:],
        lambda snapshot: snapshot[:5] + b"\xff" + snapshot[6:],  # a room that does not exist
        lambda snapshot: snapshot[:-14] + b"\xff" + snapshot[-13:],  # a position outside the screen
    ],
)
def test_bytes_that_are_no_snapshot_are_refused(damage):
    task = initial_task(MONTEZUMA)
    kernel = native_kernel(MONTEZUMA)
    bad = task._replace(start=task.start._replace(snapshot=damage(task.start.snapshot)))
    with pytest.raises(SnapshotError, match="expected a snapshot of the native engine"):
        kernel.run(bad, ScoreIndex())
    assert kernel.run(task, ScoreIndex()).training_frames > 0


# ---- whole searches ---------------------------------------------------------------------------------------

GAME_FRAMES = 40_000
PROBLEM = with_settings(find_problem("montezuma-2021"), "exploration", batch_size=20)


def saved(search, folder):
    """Return all that is written of an archive but the snapshots, which are each engine's own."""
    folder.mkdir()
    archive, segments = write_archive(search.archive, folder, lambda cells: {})
    return pq.read_table(archive).drop_columns(["snapshot"]), segments.read_bytes()


def searched(problem, executor, folder, *, seed=0, game_frames=GAME_FRAMES):
    search = make_search(problem, executor, seed)
    with contextlib.closing(executor):
        search.run(lambda status: status.game_frames >= game_frames)
    return saved(search, folder)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """What a search on ale-py finds."""
    problem = PROBLEM.reference()
    return searched(problem, problem.make_executor(2), tmp_path_factory.mktemp("reference") / "run")


@pytest.mark.parametrize("workers", [None, 1, 2, 3])
def test_the_archive_depends_neither_on_the_engine_nor_on_the_threads(workers, reference, tmp_path):
    problem = on_native(PROBLEM)
    executor = problem.make_executor(workers)
    assert isinstance(executor, SerialExecutor if workers is None else NativeExecutor)
    assert searched(problem, executor, tmp_path / "run") == reference


def test_another_seed_finds_something_else(reference, tmp_path):
    problem = on_native(PROBLEM)
    assert searched(problem, problem.make_executor(None), tmp_path / "run", seed=1) != reference


@pytest.mark.parametrize("make", [NativeExecutor, ThreadExecutor])
def test_a_batch_that_was_interrupted_can_be_run_again(make, reference, tmp_path, monkeypatch):
    monkeypatch.setattr("goexplore.exploration._native_executor._TICK_SECONDS", 0.001)
    problem = on_native(PROBLEM)
    executor = make(lambda: native_kernel(PROBLEM), workers=2)
    search = make_search(problem, executor)
    ticks = interrupts = 0

    def interrupt(search):
        nonlocal ticks
        ticks += 1
        if ticks % 29 == 0:
            raise KeyboardInterrupt

    while search.status.game_frames < GAME_FRAMES:
        with contextlib.suppress(KeyboardInterrupt):
            search.run(lambda status: status.game_frames >= GAME_FRAMES, tick=interrupt)
        interrupts += 1
    executor.close()
    assert interrupts > 3
    assert saved(search, tmp_path / "run") == reference


def test_where_ends_are_kept_both_engines_find_the_same_too(tmp_path):
    problem = with_settings(PROBLEM, "exploration", ends="keep")
    tables = [
        searched(each, each.make_executor(2), tmp_path / each.env.engine, game_frames=15_000)
        for each in (on_native(problem), problem.reference())
    ]
    assert tables[0] == tables[1]
    assert "terminated" in tables[0][0]["end"].to_pylist()


# ---- threads ----------------------------------------------------------------------------------------------


class Broken:
    """A kernel that fails at its third task."""

    def __init__(self):
        self._kernel, self._tasks = native_kernel(MONTEZUMA), 0

    def run(self, task, score_index):
        self._tasks += 1
        if self._tasks == 3:
            raise RuntimeError("the simulator is on fire")
        return self._kernel.run(task, score_index)

    def close(self):
        pass


def some_tasks(count):
    start = initial_task(MONTEZUMA).start
    return [Task(order, start, stream_state(order)) for order in range(1, count + 1)]


def test_an_exception_in_a_thread_reaches_the_caller_and_the_next_batch_runs():
    with contextlib.closing(ThreadExecutor(Broken, workers=2)) as executor:
        executor.start(ScoreIndex())
        with pytest.raises(RuntimeError, match="the simulator is on fire"):
            executor.run(some_tasks(20), lambda found: None)
        heard = []
        results = executor.run(some_tasks(2), heard.append)
    assert len(results) == 2
    assert sorted(map(id, heard)) == sorted(map(id, results))


def test_results_come_in_the_order_of_the_tasks():
    with contextlib.closing(on_native(MONTEZUMA).make_executor(3)) as executor:
        executor.start(ScoreIndex())
        results = executor.run(some_tasks(30), lambda found: None)
    kernel = native_kernel(MONTEZUMA)
    alone = [kernel.run(task, ScoreIndex()) for task in some_tasks(30)]
    assert [found.actions for found in results] == [found.actions for found in alone]


@pytest.mark.parametrize("make", [NativeExecutor, ThreadExecutor])
def test_no_workers_are_refused(make):
    with pytest.raises(ConfigError, match="expected `workers` to be 1 or more, got 0"):
        make(lambda: native_kernel(MONTEZUMA), workers=0)


def test_settings_beyond_the_engines_limits_are_refused():
    with pytest.raises(ValueError, match="expected known cells of a size that fits the screen"):
        native_kernel(replace(MONTEZUMA_PIXELS, cells=DownscaledConfig(width=161)))


# ---- where the engine stops -------------------------------------------------------------------------------

# LDX #0 STX $91 LDX #255 TXS; each frame LDA #2 STA WSYNC STA VSYNC STA WSYNC STA WSYNC LDA #0 STA WSYNC
# STA VSYNC, INC $91 LDA $91 CMP #100 BEQ to the end, LDX #200 STA WSYNC DEX BNE, JMP; at the end JAM.
HUNDRED_FRAMES = bytes.fromhex(
    "A2008691 A2FF9A A90285028500850285 02 A90085028500 E691A591C964F00A A2C88502CAD0FB 4C07F0 02"
)


class Listener:
    def __init__(self):
        self.lines = []

    def progress(self, progress):
        pass

    def log(self, line):
        self.lines.append(line)


def test_an_exploration_ends_where_the_engine_cannot_go_on(tmp_path, monkeypatch):
    """And what it found until there counts: the search goes on, and tells of it."""
    rom = HUNDRED_FRAMES.ljust(4092, b"\0") + b"\x00\xf0\x00\xf0"
    cartridge = native.atari.Cartridge(rom, "pitfall")
    monkeypatch.setattr("goexplore.envs._native_atari._load", lambda name: (cartridge, None))
    problem = find_problem("pitfall-pixels")
    found = native_kernel(problem).run(initial_task(problem), ScoreIndex())
    assert found.stopped == "an instruction that stops the processor or is not emulated"
    assert found.training_frames == len(found.actions) + 1 == 8  # 100 game frames, without the 69 of booting
    listener = Listener()
    outcome = run_search(
        with_settings(problem, "exploration", batch_size=2),
        run_dir=tmp_path / "run",
        limits=Limits(game_frames=100),
        engine="native",
        reporter=listener,
    )
    assert outcome.run.last_checkpoint().status.game_frames >= 100
    (warning,) = [line for line in listener.lines if "explorations ended" in line][:1]
    assert "where the native engine could not go on, the last at an instruction that stops" in warning
