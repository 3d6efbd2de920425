"""What helper processes do: everything that needs an environment, or the archive as objects."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from goexplore.archive import Actions, read_archive
from goexplore.cells import CellKey
from goexplore.demos import (
    Demonstration,
    Provenance,
    find_demonstrations,
    record_demonstration,
    write_demonstration,
)
from goexplore.envs import Location
from goexplore.errors import CheckpointError, ConfigError, EngineError
from goexplore.evaluation import EvaluationConfig
from goexplore.problems import EnvironmentSpec, Problem
from goexplore.report import (
    ArchiveView,
    Moment,
    TrainedRun,
    photograph,
    photograph_rooms,
    picture_of,
    play_episode,
)
from goexplore.serve._film import PICTURES_PER_PART, TrajectoryPlayer, take_part
from goexplore.serve._layout import RoomPlan

_trajectories = TrajectoryPlayer()
"""Of this process."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a page has to know of an environment."""

    plan: RoomPlan | None
    """Where its rooms lie on a map."""
    frame_skip: int
    pictures_per_step: int
    """Pictures that a video has for each training frame."""


def describe(env: EnvironmentSpec) -> Setting:
    """Return what is known of an environment before anything is played."""
    whole = env()
    single = whole.frame_by_frame()
    plan = None
    if whole.room_map is not None:
        whole.reset()
        height, width = picture_of(whole).shape[:2]
        top = whole.room_map.playfield_top
        plan = RoomPlan(
            rows=tuple(tuple(row) for row in whole.room_map.rows),
            top=top,
            height=height - top,
            width=width,
            pixel_aspect=whole.pixel_aspect,
        )
    setting = Setting(
        plan=plan,
        frame_skip=whole.frame_skip,
        pictures_per_step=whole.frame_skip // single.frame_skip,
    )
    for each in {id(whole): whole, id(single): single}.values():
        each.close()
    return setting


def cell_areas(problem: Problem, cells: Sequence[CellKey]) -> NDArray[np.int64] | None:
    """Return the part of its room's picture that each cell stands for, where cells have one."""
    env = problem.env()
    try:
        return problem.cells(env).areas(cells)
    finally:
        env.close()


def picture(env: EnvironmentSpec, actions: Actions) -> bytes:
    """Return the state that a trajectory leads to, as a PNG."""
    try:
        shown, aspect = _end_of(env, actions)
    except EngineError:
        shown, aspect = _end_of(env.reference(), actions)
    return png(shown, aspect)


def _end_of(env: EnvironmentSpec, actions: Actions) -> tuple[NDArray[np.uint8], float]:
    playing = env()
    try:
        playing.reset()
        if len(actions):
            playing.play(actions)
        return picture_of(playing).copy(), playing.pixel_aspect
    finally:
        playing.close()


def png(pixels: NDArray[np.uint8], pixel_aspect: float = 1.0) -> bytes:
    """Return a picture in the shape in which a screen shows it."""
    image = Image.fromarray(pixels)
    if pixel_aspect != 1.0:
        wide = round(image.width * pixel_aspect)
        image = image.resize((wide, image.height), Image.Resampling.NEAREST)
    written = io.BytesIO()
    image.save(written, "png")
    return written.getvalue()


def video_part(env: EnvironmentSpec, actions: Actions, number: int) -> bytes:
    """Return a part of the video of a trajectory."""
    return _trajectories.part(env, actions, number)


@dataclass(frozen=True, kw_only=True)
class Way:
    """A trajectory, training frame by training frame, the initial state first."""

    cells: tuple[CellKey, ...]
    """Where the state had none, the one before."""
    scores: tuple[float, ...]


def way(problem: Problem, actions: Actions) -> Way:
    """Replay a trajectory and return the cells and scores on its way."""
    try:
        return _way(problem, actions)
    except EngineError:
        return _way(replace(problem, env=problem.env.reference()), actions)


def _way(problem: Problem, actions: Actions) -> Way:
    playing = problem.make_cell_env()
    try:
        cells, scores = [playing.reset()], [0.0]
        for action in actions:
            step = playing.step(int(action))
            cells.append(cells[-1] if step.cell is None else step.cell)
            scores.append(scores[-1] + step.reward)
        return Way(cells=tuple(cells), scores=tuple(scores))
    finally:
        playing.close()


def room_pictures(
    problem: Problem, snapshots: Mapping[Location, Sequence[bytes]]
) -> dict[Location, bytes | None]:
    """Return a picture of each room, of which states are given, as a PNG without score and lives."""
    playing = problem.make_cell_env()
    try:
        top = 0 if playing.env.room_map is None else playing.env.room_map.playfield_top
        found: dict[Location, bytes | None] = {}
        for location, states in snapshots.items():
            shown = photograph(playing, ((state, location) for state in states))
            found[location] = None if shown is None else png(shown[top:], playing.env.pixel_aspect)
        return found
    finally:
        playing.close()


def probabilities(
    folder: Path, problem: Problem, action_bytes: int, locations: Sequence[tuple[int, int]]
) -> NDArray[np.float64]:
    """Return how likely each entry of an archive is to be chosen next."""
    archive = read_archive(
        folder,
        reset_seen=problem.selection.reset_seen,
        action_bytes=action_bytes,
        locations=[Location(*location) for location in locations],
    )
    view = ArchiveView(archive, problem)
    try:
        return view.values("probability")
    finally:
        view.cell_env.close()


def demonstration(
    problem: Problem, actions: Actions, score: float, fatal_action: int | None, provenance: dict[str, Any]
) -> bytes:
    """Return the file of a demonstration, replayed on the reference."""
    found: Demonstration = record_demonstration(
        problem, actions, score=score, provenance=Provenance(**provenance, fatal_action=fatal_action)
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "demonstration.json"
        write_demonstration(found, file)
        return file.read_bytes()


def demonstrated_rooms(path: Path, problem: Problem | None) -> dict[Location, bytes]:
    """Return pictures of the rooms that a training's demonstrations pass, as `room_pictures` does."""
    demonstrations = find_demonstrations(str(path / "demos"), problem, verify=False)
    env = demonstrations[0].env()
    top = 0 if env.room_map is None else env.room_map.playfield_top
    aspect = env.pixel_aspect
    env.close()
    return {
        location: png(shown[top:], aspect) for location, shown in photograph_rooms(demonstrations).items()
    }


@dataclass(frozen=True, kw_only=True)
class _EpisodeKey:
    path: Path
    evaluation: int
    no_ops: int
    repetition: int


class _EpisodePlayer:
    """Plays one episode of an evaluation at a time: in order, because chance is drawn in order."""

    def __init__(self) -> None:
        self._key: _EpisodeKey | None = None
        self._moments: Iterator[Moment] = iter(())
        self._next = 0

    def part(self, key: _EpisodeKey, problem: Problem | None, number: int) -> bytes:
        if key != self._key or number < self._next:
            self._moments, self._key, self._next = _play_again(key, problem), key, 0
        skipped = (number - self._next) * PICTURES_PER_PART
        for _ in islice(self._moments, skipped):
            pass
        self._next = number + 1
        return take_part(self._moments, 60)


_episodes = _EpisodePlayer()
"""Of this process."""


def _play_again(key: _EpisodeKey, problem: Problem | None) -> Iterator[Moment]:
    training = TrainedRun(name=key.path.name, path=key.path, problem=problem)
    if not 0 <= key.evaluation < len(training.results):
        raise ConfigError(f"expected an evaluation of {key.path}, got number {key.evaluation}: reload")
    result = training.results[key.evaluation]
    player = training.player_of(result)
    if player is None:
        raise CheckpointError(
            "expected PyTorch and the policy that played this episode, got another policy or none: evaluate "
            "again"
        )
    config: EvaluationConfig = result.evaluation.config
    return play_episode(player, config, no_ops=key.no_ops, repetition=key.repetition)


def episode_part(
    path: Path, problem: Problem | None, evaluation: int, no_ops: int, repetition: int, number: int
) -> bytes:
    """Return a part of the video of an episode of an evaluation."""
    key = _EpisodeKey(path=path, evaluation=evaluation, no_ops=no_ops, repetition=repetition)
    return _episodes.part(key, problem, number)
