from fractions import Fraction

import numpy as np
import pytest

from goexplore import _native as native
from goexplore.cells import DownscaledCells, grey_frame
from goexplore.cells._downscaled import ReferenceDownscaler
from goexplore.envs import AtariEnv
from goexplore.errors import ConfigError, EnvironmentContractError


def by_definition(image, width, height, levels):
    """The area mean of each target pixel, exactly, pixel by pixel."""
    rows, columns = image.shape
    values = []
    for row in range(height):
        for column in range(width):
            total = Fraction(0)
            for y in range(rows):
                tall = min(Fraction(y + 1), Fraction((row + 1) * rows, height)) - max(
                    Fraction(y), Fraction(row * rows, height)
                )
                if tall <= 0:
                    continue
                for x in range(columns):
                    wide = min(Fraction(x + 1), Fraction((column + 1) * columns, width)) - max(
                        Fraction(x), Fraction(column * columns, width)
                    )
                    if wide > 0:
                        total += tall * wide * int(image[y, x])
            mean = total / (Fraction(rows, height) * Fraction(columns, width))
            values.append(int(mean * levels / 255))
    return bytes(values)


@pytest.mark.parametrize("levels", [8, 16, 11, 255])
def test_cells_are_the_exact_area_means(levels):
    image = np.random.default_rng(0).integers(0, 256, (23, 32), dtype=np.uint8)
    cells = DownscaledCells(width=5, height=4, levels=levels)
    assert cells.reset(image) == by_definition(image, 5, 4, levels)


def test_white_is_the_highest_level_and_black_the_lowest():
    cells = DownscaledCells()
    assert cells.reset(np.full((210, 160), 255, np.uint8)) == bytes([8] * 88)
    assert cells.update(np.full((210, 160), 254, np.uint8)) == bytes([7] * 88)
    assert cells.update(np.zeros((210, 160), np.uint8)) == bytes(88)


def test_a_cell_depends_on_its_frame_alone():
    random = np.random.default_rng(1)
    used = DownscaledCells()
    image = random.integers(0, 256, (210, 160), dtype=np.uint8)
    for _ in range(50):
        image = image.copy()
        image[random.integers(210), random.integers(160)] ^= 0x80
        assert used.update(image) == DownscaledCells().reset(image)


def test_frames_too_large_for_single_precision_are_exact_too():
    image = np.full((600, 800), 255, np.uint8)
    assert DownscaledCells().reset(image) == bytes([8] * 88)
    image[-1, -1] = 254
    assert DownscaledCells().reset(image) == bytes([8] * 87 + [7])


def test_atari_screens_give_the_cells_of_their_grey_frames():
    env = AtariEnv(game="montezuma_revenge")
    cells, plain = DownscaledCells(palette=env), DownscaledCells()
    for step in range(100):
        env.step(step // 5 % 18)
        assert cells.update(env.observation()) == plain.update(env._ale.getScreenGrayscale())


def test_a_view_of_a_frame_is_as_good_as_a_copy():
    colours = np.random.default_rng(0).integers(0, 256, (210, 160, 3), dtype=np.uint8)
    assert DownscaledCells().reset(colours[..., 1]) == DownscaledCells().reset(colours[..., 1].copy())


@pytest.mark.parametrize(
    ("colour", "grey"),
    [
        ((255, 0, 0), 76),  # 0.299 * 255 = 76.2
        ((0, 255, 0), 149),  # 0.587 * 255 = 149.7
        ((0, 0, 255), 29),  # 0.114 * 255 = 29.1
        ((255, 255, 255), 255),
        ((0, 0, 0), 0),
        ((10, 20, 30), 18),  # 2.99 + 11.74 + 3.42 = 18.15
    ],
)
def test_colours_are_as_good_as_their_grey_levels(colour, grey):
    frame = np.zeros((21, 32, 3), np.uint8)
    frame[5:, 7:] = colour
    assert (grey_frame(frame)[5:, 7:] == grey).all()
    cells, plain = (DownscaledCells(width=5, height=4, levels=255) for _ in range(2))
    expected = np.zeros((21, 32), np.uint8)
    expected[5:, 7:] = grey
    assert cells.reset(frame) == plain.reset(expected)


def test_frames_too_small_for_the_cells_are_refused():
    with pytest.raises(ConfigError, match="at least 11 x 8 pixels, got 160 x 7"):
        DownscaledCells().reset(np.zeros((7, 160), np.uint8))
    with pytest.raises(ConfigError, match="at least 11 x 8 pixels, got 10 x 210"):
        DownscaledCells().reset(np.zeros((210, 10, 3), np.uint8))


@pytest.mark.parametrize(
    ("observation", "what"),
    [
        (np.zeros((210, 160, 4), np.uint8), r"\(210, 160, 4\) uint8"),
        (np.zeros((210, 160, 1), np.uint8), r"\(210, 160, 1\) uint8"),
        (np.zeros((3, 210, 160), np.uint8), r"\(3, 210, 160\) uint8"),
        (np.zeros((210, 160), np.float32), r"\(210, 160\) float32"),
        (np.zeros((210, 160, 3), np.int64), r"\(210, 160, 3\) int64"),
        (np.zeros(160, np.uint8), r"\(160,\) uint8"),
        ((1, 2), "tuple"),
    ],
)
def test_observations_that_are_no_images_are_refused(observation, what):
    with pytest.raises(
        EnvironmentContractError, match=rf"uint8, for downscaled cells, got {what}: name a cell"
    ):
        DownscaledCells().reset(observation)


@pytest.mark.parametrize("settings", [{"levels": 256}, {"levels": 0}, {"width": 0}, {"height": 0}])
def test_settings_that_cannot_be_are_refused(settings):
    with pytest.raises(ConfigError, match="1 to 255 levels"):
        DownscaledCells(**settings)


@pytest.fixture
def without_compiler(monkeypatch):
    monkeypatch.setattr(native, "cells", None)


@pytest.mark.usefixtures("without_compiler")
@pytest.mark.parametrize("levels", [8, 11])
def test_the_reference_is_exact_and_used_where_nothing_was_compiled(levels):
    image = np.random.default_rng(0).integers(0, 256, (23, 32), dtype=np.uint8)
    cells = DownscaledCells(width=5, height=4, levels=levels)
    assert cells.reset(image) == by_definition(image, 5, 4, levels)
    assert isinstance(cells._downscaler, ReferenceDownscaler)


@pytest.mark.skipif(native.cells is None, reason="installed without a C compiler")
def test_the_compiled_downscaler_equals_the_reference():
    random = np.random.default_rng(0)
    for _ in range(300):
        rows, columns = random.integers(1, 60, 2).tolist()
        shape = (
            rows,
            columns,
            *random.integers(1, (columns + 1, rows + 1)).tolist(),
            int(random.integers(1, 256)),
        )
        compiled, reference = native.cells.Downscaler(*shape), ReferenceDownscaler(*shape)
        grey = random.integers(0, 256, 256).astype(np.int16)
        frame = random.integers(0, 256, (rows, columns), dtype=np.uint8)
        for _ in range(3):
            assert compiled.update(frame, grey) == reference.update(frame, grey)
            frame[int(random.integers(rows))] = random.integers(0, 256, columns, dtype=np.uint8)


@pytest.mark.skipif(native.cells is None, reason="installed without a C compiler")
def test_what_changed_before_a_colour_was_known_is_not_forgotten():
    shape = 20, 10, 3, 7, 255
    compiled, reference = native.cells.Downscaler(*shape), ReferenceDownscaler(*shape)
    grey = np.arange(256, dtype=np.int16)
    frame = np.zeros((20, 10), np.uint8)
    assert compiled.update(frame, grey) == reference.update(frame, grey)
    frame[2], frame[15] = 40, 200
    grey[200] = -1
    assert compiled.update(frame, grey) is None
    grey[200] = 200
    assert compiled.update(frame, grey) == reference.update(frame, grey)


@pytest.mark.skipif(native.cells is None, reason="installed without a C compiler")
def test_the_compiled_downscaler_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="expected 1 <= width"):
        native.cells.Downscaler(8, 8, 9, 1, 8)
    with pytest.raises(ValueError, match="rows x columns bytes"):
        native.cells.Downscaler(8, 8, 2, 2, 8).update(bytes(63), np.zeros(256, np.int16))


def test_a_colour_that_is_not_known_yet_is_learnt():
    class Learning:
        grey = np.full(256, -1, np.int16)

        def learn_colours(self):
            self.grey[:] = np.arange(256)

    image = np.arange(210 * 160, dtype=np.uint32).astype(np.uint8).reshape(210, 160)
    assert DownscaledCells(palette=Learning()).reset(image) == DownscaledCells().reset(image)
