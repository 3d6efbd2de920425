"""Maps of rooms: a real picture of each, and over it the cells that were found, coloured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from goexplore.envs import Location
from goexplore.report._picture import picture_of
from goexplore.report._view import MEANING, ArchiveView, Colouring, Spot

_UNKNOWN = (38, 40, 46)
"""Where a room is that was not found."""
_BETWEEN = 2
"""Pixels between rooms."""
_OPACITY = 165

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Cells as a transparent picture over the rooms."""

    pixels: Pixels
    """RGB and opacity."""
    low: float
    high: float
    logarithmic: bool


@dataclass(frozen=True, kw_only=True)
class LevelMap:
    """One level."""

    level: int
    rooms: int
    """Found."""
    pixels: Pixels
    layers: dict[Colouring, Layer]
    pixel_aspect: float

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width as it should be shown: a pixel of the game may be wider than high."""
        height, width = self.pixels.shape[:2]
        return height, int(width * self.pixel_aspect)


def has_map(view: ArchiveView) -> bool:
    """Whether the game's rooms lie on a map."""
    return view.cell_env.env.room_map is not None


def draw_levels(view: ArchiveView, colourings: Sequence[Colouring]) -> Iterator[LevelMap]:
    """Yield the map of each level that was reached."""
    env = view.cell_env.env
    assert env.room_map is not None
    env.reset()
    rows, width = picture_of(env).shape[:2]
    top = env.room_map.playfield_top
    tiles = RoomTiles(env.room_map.rows, rows - top, width)
    seen = view.values("seen")
    entries_at: dict[Location, list[int]] = {}
    for entry, location in enumerate(view.locations):
        entries_at.setdefault(location, []).append(entry)
    colours = {colouring: _colour(view, colouring) for colouring in colourings}
    for level in sorted({location.level for location in entries_at}):
        pixels = tiles.empty()
        rooms = 0
        for room in tiles.rooms:
            entries = entries_at.get(Location(level, room), [])
            if entries:
                rooms += 1
                picture = view.photograph(sorted(entries, key=lambda entry: -seen[entry]))
                if picture is not None:
                    tiles.put(pixels, room, picture[top:])
        layers = {
            colouring: Layer(
                pixels=_overlay(tiles, level, coloured.of),
                low=coloured.low,
                high=coloured.high,
                logarithmic=coloured.logarithmic,
            )
            for colouring, coloured in colours.items()
        }
        yield LevelMap(
            level=level,
            rooms=rooms,
            pixels=tiles.numbered(pixels),
            layers=layers,
            pixel_aspect=env.pixel_aspect,
        )


class RoomTiles:
    """Where each room of a level is drawn."""

    def __init__(self, rows: Sequence[Sequence[int]], height: int, width: int) -> None:
        self._height, self._width = height, width
        columns = max(len(row) for row in rows)
        self.shape = (
            len(rows) * (height + _BETWEEN) - _BETWEEN,
            columns * (self._width + _BETWEEN) - _BETWEEN,
        )
        self._corner = {
            room: (
                down * (height + _BETWEEN),
                (self._width + _BETWEEN) * (columns - len(row)) // 2 + right * (self._width + _BETWEEN),
            )
            for down, row in enumerate(rows)
            for right, room in enumerate(row)
        }

    @property
    def rooms(self) -> Sequence[int]:
        """The rooms of the map."""
        return list(self._corner)

    def empty(self) -> Pixels:
        """Return a map on which no room was found."""
        pixels = np.zeros((*self.shape, 4), np.uint8)
        for room in self._corner:
            self.put(pixels, room, np.array(_UNKNOWN, np.uint8))
        return pixels

    def put(self, pixels: Pixels, room: int, picture: Pixels) -> None:
        """Show a picture, or one colour, as a room."""
        area = self.area(pixels, room)
        area[..., :3] = picture
        area[..., 3] = 255

    def numbered(self, pixels: Pixels) -> Pixels:
        """Write each room's number into its corner."""
        image = Image.fromarray(pixels)
        draw = ImageDraw.Draw(image)
        font = ImageFont.load_default(11)
        for room, (top, left) in self._corner.items():
            at = (left + 3, top + self._height - 15)
            draw.rectangle(draw.textbbox(at, str(room), font=font), fill=(0, 0, 0, 255))
            draw.text(at, str(room), fill=(230, 230, 230, 255), font=font)
        return np.asarray(image)

    def middle(self, room: int) -> tuple[int, int]:
        """Return row and column of a room's middle."""
        top, left = self._corner[room]
        return top + self._height // 2, left + self._width // 2

    def area(self, pixels: Pixels, room: int) -> Pixels:
        """Return the part of the map that shows a room."""
        top, left = self._corner[room]
        return pixels[top : top + self._height, left : left + self._width]


@dataclass(frozen=True)
class _Coloured:
    of: dict[Spot, tuple[int, ...]]
    low: float
    high: float
    logarithmic: bool


def _colour(view: ArchiveView, colouring: Colouring) -> _Coloured:
    """Return a colour for each spot; counts and probabilities are shown on a logarithmic scale."""
    values = view.spot_values(colouring)
    numbers = np.array(list(values.values()))
    logarithmic = colouring in ("seen", "chosen", "probability")
    low, high = float(numbers.min()), float(numbers.max())
    scaled = _scale(numbers, low, high, logarithmic)
    colours = (gradient()[(255 * scaled).astype(int)]).tolist()
    return _Coloured(dict(zip(values, map(tuple, colours), strict=True)), low, high, logarithmic)


def _scale(values: NDArray[np.float64], low: float, high: float, logarithmic: bool) -> NDArray[np.float64]:
    if logarithmic:
        least = values[values > 0].min(initial=high or 1.0)
        values = np.log(np.maximum(values, least))
        low, high = float(values.min()), float(values.max())
    return np.zeros_like(values) if high <= low else (values - low) / (high - low)


def _overlay(tiles: RoomTiles, level: int, colours: dict[Spot, tuple[int, ...]]) -> Pixels:
    pixels = np.zeros((*tiles.shape, 4), np.uint8)
    known = set(tiles.rooms)
    for spot, colour in colours.items():
        if spot.location.level == level and spot.location.room in known:
            # The last row and column of a cell stay free, so that cells are seen apart.
            area = tiles.area(pixels, spot.location.room)
            bottom, right = max(spot.top + 1, spot.bottom - 1), max(spot.left + 1, spot.right - 1)
            area[spot.top : bottom, spot.left : right] = (*colour, _OPACITY)
    return pixels


@cache
def gradient() -> Pixels:
    """Return the 256 colours from low to high."""
    import matplotlib

    colours: Pixels = (matplotlib.colormaps["viridis"](range(256))[:, :3] * 255).astype(np.uint8)
    return colours


def tick(value: float) -> str:
    """Return a number as it is written at the end of a scale."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2g}"


def draw_poster(level: LevelMap, colouring: Colouring, title: str) -> Image.Image:
    """Return a map as one picture with a title and a scale."""
    layer = level.layers[colouring]
    height, width = level.shape
    shown = Image.new("RGB", (width, height + 64), (255, 255, 255))
    for pixels in (level.pixels, layer.pixels):
        scaled = Image.fromarray(pixels).resize((width, height), Image.Resampling.NEAREST)
        shown.paste(scaled, (0, 32), scaled)
    draw = ImageDraw.Draw(shown)
    font = ImageFont.load_default(18)
    draw.text((4, 4), title, fill=(0, 0, 0), font=font)
    bar = Image.fromarray(np.repeat(gradient()[None], 14, axis=0))
    shown.paste(bar, (4, height + 42))
    text = f"{tick(layer.low)} to {tick(layer.high)} {MEANING[colouring]}"
    draw.text(
        (270, height + 37), text + (", logarithmic" if layer.logarithmic else ""), fill=(0, 0, 0), font=font
    )
    return shown
