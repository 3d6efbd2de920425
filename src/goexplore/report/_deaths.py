"""Where lives end: the rooms of a game, coloured by how many lives ended there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from goexplore.demos import Demonstration
from goexplore.envs import Location
from goexplore.errors import ConfigError, EngineError
from goexplore.files import output_errors, written_whole
from goexplore.problems import EnvironmentSpec
from goexplore.report._map import RoomTiles, gradient, tick
from goexplore.report._picture import Picture, font, picture_of
from goexplore.report._view import colour_count

_PLAIN = (84, 88, 98)
"""A room in which lives ended, where there is no picture of it."""
_OPACITY = 0.55
"""Of the colour over a room's picture."""
_MARGIN = 32
"""Rows of a poster above the map, and below it, for title and scale."""
_BETWEEN_PICTURES = 8
"""Training frames of a demonstration between pictures of a room that are compared."""


@dataclass(frozen=True, kw_only=True)
class DeathMap:
    """One level."""

    level: int
    deaths: int
    """Lives that ended in this level's rooms."""
    rooms: int
    """In which they ended."""
    image: Image.Image = field(repr=False)
    """In the shape in which a screen shows the game."""
    most: int
    """Lives that ended in the worst room of all levels: where the scale of colours ends."""

    @property
    def title(self) -> str:
        """What it shows, for people to read."""
        lives, rooms = _count(self.deaths, "life", "lives"), _count(self.rooms, "room", "rooms")
        return f"level {self.level}: {lives} ended in {rooms}"


def _count(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def require_room_map(spec: EnvironmentSpec) -> None:
    """Raise ConfigError for a game whose rooms lie on no map."""
    env = spec()
    has_map = env.room_map is not None
    env.close()
    if not has_map:
        raise ConfigError(
            f"expected a game whose rooms lie on a map for `deaths_map`, got {spec.name}: omit it"
        )


def draw_deaths(
    spec: EnvironmentSpec, deaths: Mapping[Location, int], pictures: Mapping[Location, Picture] | None = None
) -> Iterator[DeathMap]:
    """Yield the map of the first level, and of each further one in which lives ended.

    `pictures` are whole pictures of the game in the rooms; a room that has none is a plain tile.
    Pictures of rooms in which no life ended are darker.
    """
    env = spec()
    assert env.room_map is not None
    env.reset()
    height, width = picture_of(env).shape[:2]
    top, aspect = env.room_map.playfield_top, env.pixel_aspect
    tiles = RoomTiles(env.room_map.rows, height - top, width)
    env.close()
    known = {location: count for location, count in deaths.items() if location.room in tiles.rooms}
    most = max(known.values(), default=0)
    for level in sorted({0} | {location.level for location in known}):
        here = {location.room: count for location, count in known.items() if location.level == level}
        pixels = tiles.empty()
        for room in tiles.rooms:
            picture = (pictures or {}).get(Location(level, room))
            if room not in here and picture is None:
                continue
            below = np.array(_PLAIN) if picture is None else picture[top:]
            above = gradient()[255 * here[room] // most] if room in here else np.zeros(3)
            tiles.put(pixels, room, ((1 - _OPACITY) * below + _OPACITY * above).astype(np.uint8))
        whole = Image.fromarray(tiles.numbered(pixels))
        shown = whole.resize((int(whole.width * aspect), whole.height), Image.Resampling.NEAREST)
        _write_counts(shown, tiles, here, aspect)
        yield DeathMap(level=level, deaths=sum(here.values()), rooms=len(here), image=shown, most=most)


def _write_counts(image: Image.Image, tiles: RoomTiles, counts: Mapping[int, int], aspect: float) -> None:
    """Write each room's count into its middle."""
    draw = ImageDraw.Draw(image)
    for room, count in counts.items():
        row, column = tiles.middle(room)
        draw.text(
            (column * aspect, row),
            f"{count:,}",
            fill=(255, 255, 255, 255),
            stroke_fill=(0, 0, 0, 255),
            stroke_width=3,
            font=font(48),
            anchor="mm",
        )


def death_poster(level: DeathMap, title: str) -> Image.Image:
    """Return a map as one picture with a title and a scale."""
    width, height = level.image.size
    shown = Image.new("RGB", (width, height + 2 * _MARGIN), (255, 255, 255))
    shown.paste(level.image, (0, _MARGIN), level.image)
    draw = ImageDraw.Draw(shown)
    draw.text((4, 4), f"{title}, {level.title}", fill=(0, 0, 0), font=font(18))
    shown.paste(Image.fromarray(np.repeat(gradient()[None], 14, axis=0)), (4, height + _MARGIN + 10))
    scale = f"0 to {tick(level.most)} lives ended there"
    draw.text((270, height + _MARGIN + 5), scale, fill=(0, 0, 0), font=font(18))
    return shown


def write_death_maps(
    file: Path,
    spec: EnvironmentSpec,
    deaths: Mapping[Location, int],
    *,
    title: str,
    pictures: Mapping[Location, Picture] | None = None,
) -> dict[Path, DeathMap]:
    """Write the first level's map to a PNG, and further ones beside it with their number added."""
    check_death_map(file)
    written = {}
    for level in draw_deaths(spec, deaths, pictures):
        name = file if level.level == 0 else file.with_stem(f"{file.stem}-{level.level}")
        with output_errors(name), written_whole(name) as aside:
            death_poster(level, title).save(aside, format="png")
        written[name] = level
    return written


def check_death_map(file: Path) -> None:
    """Raise ConfigError for a file that is no PNG."""
    if file.suffix.lower() != ".png":
        raise ConfigError(f"expected `deaths_map` to be a file name that ends in .png, got {file}")


def photograph_rooms(demonstrations: Sequence[Demonstration]) -> dict[Location, Picture]:
    """Return the most colourful picture of each room on the way of demonstrations."""
    best: dict[Location, Picture] = {}
    for demonstration in demonstrations:
        env = demonstration.env.with_engine("auto").env()
        env.reset()
        location = env.location()
        stayed = 0
        try:
            for action in demonstration.actions:
                ended = env.step(action).ended
                before, location = location, env.location_after(location)
                stayed = stayed + 1 if location == before else 0
                # The first pictures of a room may still show the one before.
                if stayed % _BETWEEN_PICTURES == _BETWEEN_PICTURES // 2:
                    picture = picture_of(env)
                    if location not in best or colour_count(picture) > colour_count(best[location]):
                        best[location] = picture.copy()
                if ended:
                    break
        except EngineError:  # what was seen until there will do
            pass
        env.close()
    return best
