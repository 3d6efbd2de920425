"""Dynamic cells: frames that travel with states, and parameters chosen by how frames fall into cells."""

import math
import subprocess
import sys

import numpy as np
import pytest

from goexplore.cells import (
    PAPER_DOWNSCALING,
    DownscaledCells,
    Downscaling,
    DynamicCells,
    choose_downscaling,
    objective,
    pack_frame,
    unpack_frame,
)
from goexplore.errors import EnvironmentContractError, SnapshotError
from goexplore.random import SplitMix64

# ---- packed frames ----------------------------------------------------------------------------------------


def noise(rows, columns):
    return (SplitMix64(0).words(rows * columns) >> np.uint64(56)).astype(np.uint8).reshape(rows, columns)


def square(rows=40, columns=50, top=3, left=4, size=7):
    frame = np.full((rows, columns), 80, np.uint8)
    frame[top : top + size, left : left + size] = 200
    return frame


@pytest.mark.parametrize(
    "frame",
    [square(), noise(30, 20), np.zeros((210, 160), np.uint8), np.zeros((1, 1), np.uint8), noise(1, 300)],
    ids=["square", "noise", "long runs", "one pixel", "one row"],
)
def test_a_packed_frame_is_the_frame(frame):
    packed = pack_frame(frame)
    assert np.array_equal(unpack_frame(packed), frame)
    assert pack_frame(unpack_frame(packed)) == packed


def test_a_screen_takes_little_and_noise_not_more_than_its_pixels():
    assert len(pack_frame(square())) < 100
    assert len(pack_frame(noise(30, 20))) == 5 + 600


def test_runs_are_of_rows_combined_with_those_above():
    frame = np.array([[7, 7, 7], [7, 7, 7], [7, 5, 5], [7, 5, 5], [7, 5, 5]], np.uint8)
    assert pack_frame(frame) == bytes([5, 0, 3, 0, 1]) + bytes([3, 7, 4, 0, 2, 7 ^ 5, 6, 0])


# ---- the objective ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "target", "expected"),
    [
        ([5, 5], 2, 1.0),  # as even as can be, and as many cells as wanted
        ([10], 1, 0.0),  # one cell tells nothing apart
        ([1, 1, 1, 1], 8, 1 / math.sqrt(1.5)),  # half as many as wanted
        ([1] * 16, 8, 1 / math.sqrt(2)),  # twice as many
        ([3, 1], 2, (0.75 * math.log(4 / 3) + 0.25 * math.log(4)) / math.log(2)),
    ],
)
def test_the_objective_is_the_share_of_the_entropy_over_the_penalty(counts, target, expected):
    assert objective(counts, target) == pytest.approx(expected, rel=1e-12)


def test_the_objective_does_not_depend_on_the_order_of_cells():
    counts = (1 + SplitMix64(1).below(50, 300)).tolist()
    assert objective(counts, 100) == objective(counts[::-1], 100)


# ---- the choice -------------------------------------------------------------------------------------------


def moving_dots():
    """Return frames with a dot in each of 256 places, in random order, some of them more than once."""
    frames = []
    for place in SplitMix64(3).below(256, 400).tolist():
        frame = np.zeros((64, 64), np.uint8)
        row, column = 4 * (place // 16), 4 * (place % 16)
        frame[row : row + 4, column : column + 4] = 255
        frames.append(frame)
    return frames


def choose(frames, seed=0, draws=200, start=PAPER_DOWNSCALING, share=0.125):
    return choose_downscaling(frames, start=start, target_share=share, draws=draws, random=SplitMix64(seed))


def value(frames, parameters, share=0.125):
    cells = DownscaledCells(**parameters._asdict())
    different = {frame.tobytes(): frame for frame in frames}.values()
    keys = [cells.update(frame) for frame in different]
    return objective([keys.count(key) for key in set(keys)], share * len(different)), len(set(keys))


def test_the_choice_is_better_than_the_paper_s_parameters_and_near_the_target():
    frames = moving_dots()
    chosen = choose(frames)
    quality, cells = value(frames, chosen)
    assert quality > value(frames, PAPER_DOWNSCALING)[0]
    assert quality > 0.9
    assert 15 <= cells <= 40  # the target is an eighth of about 200 different frames


def test_the_more_cells_are_wanted_the_more_there_are():
    frames = moving_dots()
    few, many = (value(frames, choose(frames, share=share), share)[1] for share in (0.05, 0.4))
    assert few < many


def test_parameters_that_are_best_already_stay():
    frames = moving_dots()
    best = choose(frames, draws=400)
    assert value(frames, choose(frames, seed=9, start=best))[0] >= value(frames, best)[0]


def test_frames_count_once_however_often_they_were_seen():
    frames = moving_dots()
    assert choose(frames + frames[:5] * 50) == choose(frames)


def test_frames_that_are_all_alike_change_nothing():
    start = Downscaling(5, 6, 7)
    assert choose([square()] * 20, start=start) == start


def test_parameters_fit_into_small_frames():
    frames = [noise(3, 2) // np.uint8(1 + number) for number in range(20)]
    width, height, levels = choose(frames)
    assert (width <= 2, height <= 3, levels <= 255) == (True, True, True)


def test_another_process_chooses_the_same():
    program = (
        "from tests.cells.test_dynamic_cells import choose, moving_dots\n"
        "print(*choose(moving_dots(), draws=60))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert tuple(map(int, done.stdout.split())) == choose(moving_dots(), draws=60)


# ---- the representation -----------------------------------------------------------------------------------


class Inverted:
    """A palette."""

    grey = np.arange(255, -1, -1, dtype=np.int16)

    def learn_colours(self):
        raise AssertionError("all are known")


@pytest.mark.parametrize("palette", [None, Inverted()], ids=["grey", "palette"])
def test_cells_are_those_of_downscaled_ones_also_of_kept_frames(palette):
    parameters = Downscaling(9, 7, 30)
    cells = DynamicCells(downscaling=parameters, palette=palette)
    fixed = DownscaledCells(**parameters._asdict(), palette=palette)
    for left in range(0, 40, 3):
        frame = square(left=left)
        assert cells.update(frame) == fixed.update(frame)
        assert cells.cell_of(cells.state()) == fixed.update(frame)


def test_after_a_revision_kept_frames_have_the_cells_that_new_frames_have():
    cells = DynamicCells()
    cells.reset(square())
    state = cells.state()
    before = cells.cell_of(state)
    cells.revise(Downscaling(20, 20, 255))
    assert cells.cell_of(state) == cells.update(square()) != before


def test_a_frame_is_kept_though_the_environment_draws_over_it():
    cells, frame = DynamicCells(), square()
    cells.update(frame)
    frame[:] = 0
    assert np.array_equal(DynamicCells.kept_frame(cells.state()), square())


def test_the_state_is_the_frame_that_was_restored_until_the_next():
    cells = DynamicCells()
    cells.update(square(left=1))
    state = cells.state()
    cells.update(square(left=9))
    assert cells.state() != state
    cells.restore(state)
    assert cells.state() == state


def test_large_images_are_averaged_before_they_are_kept():
    cells, colours = DynamicCells(downscaling=Downscaling(10, 10, 100)), np.zeros((600, 800, 3), np.uint8)
    colours[:300] = 200
    key = cells.update(colours)
    assert cells.cell_of(cells.state()) == key
    assert DynamicCells.kept_frame(cells.state()).shape == (200, 266)
    assert key == bytes([78] * 50 + [0] * 50)


def test_images_smaller_than_the_parameters_have_cells_too():
    assert len(DynamicCells().reset(noise(4, 5))) == 20


def test_what_is_no_image_and_no_frame_is_refused():
    with pytest.raises(EnvironmentContractError, match="expected observations that are images"):
        DynamicCells().reset((1, 2))
    for other in (b"", b"123", bytes([5, 0, 3, 0, 1, 200, 1])):
        with pytest.raises(SnapshotError, match="expected the frame of a state"):
            DynamicCells().cell_of(other)
