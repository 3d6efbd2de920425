"""Explorations on the native engine find what the reference kernel finds on ale-py."""

import contextlib
import itertools
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from goexplore import _native as native
from goexplore.archive import START, Archive, Entry, Scoreboard, Standing, write_archive
from goexplore.build import MakeKernel, MakeNativeKernel, build_executor, build_selection, build_world
from goexplore.config import DownscaledConfig
from goexplore.errors import ConfigError, SnapshotError
from goexplore.exploration import Search, SerialExecutor, Task, ThreadExecutor
from goexplore.presets import preset
from goexplore.random import SplitMix64, stream_state
from goexplore.running import Limits, Silence, explore

pytestmark = pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled")

MONTEZUMA = preset("montezuma")


def with_settings(config, part, **settings):
    return replace(config, **{part: replace(getattr(config, part), **settings)})


def make_search(config, executor, engine):
    return Search(
        world=build_world(config, engine),
        selection=build_selection(config),
        executor=executor,
        archive=Archive(reset_seen=config.selection.reset_seen),
        batch_size=config.exploration.batch_size,
        seed=config.seed,
    )


# ---- one task ---------------------------------------------------------------------------------------------


class Recording(SerialExecutor):
    """Keeps all findings."""

    def __init__(self, make_kernel):
        super().__init__(make_kernel)
        self.findings = []

    def run(self, tasks, hear):
        found = super().run(tasks, hear)
        self.findings += found
        return found


def all_findings(config, make_kernel, engine):
    executor = Recording(make_kernel(config))
    search = make_search(with_settings(config, "exploration", batch_size=3), executor, engine)
    search.run(lambda status: status.batches >= 3)
    return [
        found._replace(offers=tuple(offer._replace(snapshot=b"") for offer in found.offers))
        for found in executor.findings
    ]


@pytest.mark.parametrize(
    "config",
    [
        MONTEZUMA,
        preset("montezuma-pixels"),
        preset("pitfall"),
        with_settings(preset("pitfall"), "cells", cell_width=2, cell_height=1),
        with_settings(preset("montezuma-pixels"), "cells", width=40, height=30, levels=255),
        with_settings(MONTEZUMA, "env", frame_skip=3, episode_end="game-over"),
        with_settings(MONTEZUMA, "env", full_action_set=True),
        with_settings(MONTEZUMA, "exploration", training_frames=7, repeat_probability=0.3),
    ],
    ids=["montezuma", "pixels", "pitfall", "small", "fine", "skip", "actions", "short"],
)
def test_every_task_finds_what_it_finds_on_ale_py(config):
    findings = all_findings(config, MakeNativeKernel, "native")
    assert findings == all_findings(config, MakeKernel, "ale")
    assert len({found.actions for found in findings}) == 9
    assert any(found.offers for found in findings[3:])


def initial_task(config, *, order=1, random_state=1):
    world = build_world(config, "native")
    start = Entry(
        number=0, cell=world.reset(), standing=Standing(0.0, 0), branch=START, snapshot=world.snapshot()
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


def walk(config, actions):
    """Yield cells and places on a way, by a kernel that is given each step as an exploration of its own."""
    config = with_settings(config, "exploration", training_frames=1)
    kernel, count = MakeNativeKernel(config)(), build_world(config).action_count
    draws = {(SplitMix64(draw).word() >> 32) * count >> 32: draw for draw in range(1000)}
    start = initial_task(config).start._replace(cell=b"")  # so that every cell is another one, and offered
    for action in actions:
        (offer,) = kernel.run(Task(1, start, draws[action]), Scoreboard()).offers
        start = start._replace(snapshot=offer.snapshot)
        yield offer.cell, offer.place


@pytest.mark.parametrize(
    ("config", "way", "rooms"),
    [(MONTEZUMA, DOWN_TWO_LADDERS, [1, 0, 4, 10]), (preset("pitfall"), UNDERGROUND, [0, 1, 253, 1])],
    ids=["montezuma", "pitfall"],
)
def test_cells_are_tracked_through_rooms_as_on_ale_py(config, way, rooms):
    world, expected = build_world(config), []
    world.reset()
    for action in parse(way):
        cell = world.step(action).cell
        expected.append((cell, world.place()))
    assert list(walk(config, parse(way))) == expected
    assert [room for room, _ in itertools.groupby(place.room for _, place in expected)] == rooms


# BLAKE2b takes 128 bytes at a time.
@pytest.mark.parametrize(("width", "height"), [(1, 1), (127, 1), (16, 8), (43, 3), (16, 16), (160, 210)])
def test_known_cells_are_recognised_whatever_their_size(width, height):
    config = replace(preset("montezuma-pixels"), cells=DownscaledConfig(width=width, height=height))
    task, board = initial_task(config), Scoreboard()
    board.add(task.start.cell, task.start.standing)
    unknown = MakeNativeKernel(config)().run(task, board)
    for offer in unknown.offers:
        assert len(offer.cell) == width * height
        board.add(offer.cell, offer.standing)
    known = MakeNativeKernel(config)().run(task, board)
    assert list(unknown.seen) == [0]
    assert list(known.seen) == list(range(len(unknown.seen_new) + 1))
    assert known.seen_new == known.offers == ()
    assert known.actions == unknown.actions


def test_a_kernel_does_not_offer_again_what_an_earlier_task_of_the_batch_has_found_as_good():
    kernel, board = MakeNativeKernel(MONTEZUMA)(), Scoreboard()
    first, second, earlier = (kernel.run(initial_task(MONTEZUMA, order=order), board) for order in (3, 4, 2))
    assert first.offers
    assert second.offers == ()
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
    kernel = MakeNativeKernel(MONTEZUMA)()
    bad = task._replace(start=task.start._replace(snapshot=damage(task.start.snapshot)))
    with pytest.raises(SnapshotError, match="expected a snapshot of the native engine"):
        kernel.run(bad, Scoreboard())
    assert kernel.run(task, Scoreboard()).training_frames > 0


# ---- whole searches ---------------------------------------------------------------------------------------

GAME_FRAMES = 40_000
CONFIG = with_settings(preset("montezuma-2021"), "exploration", batch_size=20)


def saved(search, folder):
    """Return all that is written of an archive but the snapshots, which are each engine's own."""
    folder.mkdir()
    archive, segments = write_archive(search.archive, folder, lambda cells: {})
    return pq.read_table(archive).drop_columns(["snapshot"]), segments.read_bytes()


def searched(executor, engine, folder):
    search = make_search(CONFIG, executor, engine)
    with contextlib.closing(executor):
        search.run(lambda status: status.game_frames >= GAME_FRAMES)
    return saved(search, folder)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """What a search on ale-py finds."""
    return searched(build_executor(CONFIG, 2, "ale"), "ale", tmp_path_factory.mktemp("reference") / "run")


@pytest.mark.parametrize("workers", [None, 1, 2, 3])
def test_the_archive_depends_neither_on_the_engine_nor_on_the_threads(workers, reference, tmp_path):
    executor = build_executor(CONFIG, workers, "native")
    assert isinstance(executor, SerialExecutor if workers is None else ThreadExecutor)
    assert searched(executor, "native", tmp_path / "run") == reference


def test_another_seed_finds_something_else(reference, tmp_path):
    search = make_search(replace(CONFIG, seed=1), build_executor(CONFIG, None, "native"), "native")
    search.run(lambda status: status.game_frames >= GAME_FRAMES)
    assert saved(search, tmp_path / "run") != reference


def test_a_batch_that_was_interrupted_can_be_run_again(reference, tmp_path):
    executor = build_executor(CONFIG, 2, "native")
    search = make_search(CONFIG, executor, "native")
    explorations = interrupts = 0

    def interrupt(search):
        nonlocal explorations
        explorations += 1
        if explorations % 29 == 0:
            raise KeyboardInterrupt

    while search.status.game_frames < GAME_FRAMES:
        with contextlib.suppress(KeyboardInterrupt):
            search.run(lambda status: status.game_frames >= GAME_FRAMES, tick=interrupt)
        interrupts += 1
    executor.close()
    assert interrupts > 3
    assert saved(search, tmp_path / "run") == reference


# ---- threads ----------------------------------------------------------------------------------------------


class Broken:
    """A kernel that fails at its third task."""

    def __init__(self):
        self._kernel, self._tasks = MakeNativeKernel(MONTEZUMA)(), 0

    def run(self, task, board):
        self._tasks += 1
        if self._tasks == 3:
            raise RuntimeError("the simulator is on fire")
        return self._kernel.run(task, board)

    def close(self):
        pass


def some_tasks(count):
    start = initial_task(MONTEZUMA).start
    return [Task(order, start, stream_state(order)) for order in range(1, count + 1)]


def test_an_exception_in_a_thread_reaches_the_caller_and_the_next_batch_runs():
    with contextlib.closing(ThreadExecutor(Broken, workers=2)) as executor:
        executor.start(Scoreboard())
        with pytest.raises(RuntimeError, match="the simulator is on fire"):
            executor.run(some_tasks(20), lambda found: None)
        heard = []
        findings = executor.run(some_tasks(2), heard.append)
    assert len(findings) == 2
    assert sorted(map(id, heard)) == sorted(map(id, findings))


def test_findings_come_in_the_order_of_the_tasks():
    with contextlib.closing(build_executor(MONTEZUMA, 3, "native")) as executor:
        executor.start(Scoreboard())
        findings = executor.run(some_tasks(30), lambda found: None)
    kernel = MakeNativeKernel(MONTEZUMA)()
    alone = [kernel.run(task, Scoreboard()) for task in some_tasks(30)]
    assert [found.actions for found in findings] == [found.actions for found in alone]


def test_no_workers_are_refused():
    with pytest.raises(ConfigError, match="at least 1 worker, got 0"):
        ThreadExecutor(MakeNativeKernel(MONTEZUMA), workers=0)


def test_settings_beyond_the_engines_limits_are_refused():
    with pytest.raises(ValueError, match="expected known cells of a size that fits the screen"):
        MakeNativeKernel(replace(preset("montezuma-pixels"), cells=DownscaledConfig(width=161)))()


# ---- where the engine stops -------------------------------------------------------------------------------

# LDX #0 STX $91 LDX #255 TXS; each frame LDA #2 STA WSYNC STA VSYNC STA WSYNC STA WSYNC LDA #0 STA WSYNC
# STA VSYNC, INC $91 LDA $91 CMP #100 BEQ to the end, LDX #200 STA WSYNC DEX BNE, JMP; at the end JAM.
HUNDRED_FRAMES = bytes.fromhex(
    "A2008691 A2FF9A A90285028500850285 02 A90085028500 E691A591C964F00A A2C88502CAD0FB 4C07F0 02"
)


class Listener(Silence):
    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)


def test_an_exploration_ends_where_the_engine_cannot_go_on(tmp_path, monkeypatch):
    """And what it found until there counts: the search goes on, and tells of it."""
    rom = HUNDRED_FRAMES.ljust(4092, b"\0") + b"\x00\xf0\x00\xf0"
    cartridge = native.atari.Cartridge(rom, "pitfall")
    monkeypatch.setattr("goexplore.envs._native_atari._load", lambda name: (cartridge, None))
    config = preset("pitfall-pixels")
    found = MakeNativeKernel(config)().run(initial_task(config), Scoreboard())
    assert found.stopped == "an instruction that stops the processor or is not emulated"
    assert found.training_frames == len(found.actions) + 1 == 8  # 100 game frames, without the 69 of booting
    listener = Listener()
    outcome = explore(
        with_settings(config, "exploration", batch_size=2),
        run_dir=tmp_path / "run",
        limits=Limits(game_frames=100),
        engine="native",
        reporter=listener,
    )
    assert outcome.run.read_checkpoint().status.game_frames >= 100
    (warning,) = [line for line in listener.lines if "explorations ended" in line][:1]
    assert "where the native engine could not go on, the last at an instruction that stops" in warning
