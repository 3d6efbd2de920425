"""Episodes of the stochastic game that can be replayed: every action that was really played."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from goexplore.archive import Actions, action_bytes, pack_actions, unpack_actions
from goexplore.errors import CheckpointError
from goexplore.files import append_line, as_record, json_sha256, open_regular, open_to_read, parse_json, sync

Ending: TypeAlias = Literal["goal", "death", "game over", "stuck", "cut"]
"""As far as the demonstrations; a lost life; the end of the episode; no progress any more; long enough."""

_MOST_ACTIONS = 10_000_000
"""No file makes us unpack more."""


_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, zlib.error)
"""What a line that is no recording raises."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What was played from the real start on, step by step of the environment, and what was meant."""

    no_ops: int
    """Game frames of doing nothing at the start."""
    played: Actions
    """What every step of the environment played: with its sticky actions, so it is the same again."""
    chosen: Actions
    """What was chosen in every training frame."""
    rewards: tuple[float, ...]
    """Of every training frame."""
    taught_from: int = 0
    """The training frame from which on the expert chose."""
    taught_until: int
    """The training frame before which it chose well: a lost life is not to be learnt from."""
    stuck: tuple[tuple[int, int], ...] = ()
    """Training frames between which it did not know how to go on, until a search found a way: the first of
    each stretch, and the first after it."""
    ending: Ending
    simulated: int
    """Training frames that the expert tried plans out for."""
    seed: int
    """Of the episode."""

    @property
    def score(self) -> float:
        """What was won."""
        return sum(self.rewards)

    @property
    def is_correction(self) -> bool:
        """Whether the expert took over from a policy, and did not play a whole episode."""
        return self.ending == "cut"

    @property
    def training_frames(self) -> int:
        """How long it is."""
        return len(self.chosen)

    def lessons(self) -> list[int]:
        """Return the training frames that are to be learnt from."""
        stuck = {step for first, after in self.stuck for step in range(first, after)}
        return [step for step in range(self.taught_from, self.taught_until) if step not in stuck]

    def step(self, number: int) -> Actions:
        """Return what was played in a training frame."""
        length = len(self.played) // self.training_frames
        return self.played[number * length : (number + 1) * length]


def append_recording(file: Path, recording: Recording, action_count: int) -> None:
    """Add a line to a file; when this returns, it is on the disk."""
    values = asdict(recording)
    size = action_bytes(action_count)
    for name in ("played", "chosen"):
        packed = pack_actions(getattr(recording, name), size)
        values[name] = base64.b64encode(zlib.compress(packed, 9)).decode()
    values["rewards"] = [[step, reward] for step, reward in enumerate(recording.rewards) if reward]
    line = json.dumps({"recording": values, "sha256": json_sha256(values)})
    append_line(file, line)
    sync(file)


def read_recordings(files: Iterable[Path], action_count: int) -> Iterator[Recording]:
    """Yield the recordings of these files; a last line that a crash cut off is left out."""
    for file in files:
        with open_to_read(file) as stream:
            lines = stream.read().split(b"\n")
        for number, line in enumerate(lines):
            if number + 1 == len(lines):  # complete files end with a new line
                break
            try:
                yield _parse(line, action_count)
            except _DAMAGE as error:
                if number + 2 == len(lines):
                    break
                raise CheckpointError(
                    f"expected a recorded episode in line {number + 1} of {file}, got {error!r}: delete the "
                    "line, and resume"
                ) from error


def drop_torn_line(file: Path, action_count: int) -> None:
    """Cut off a last line that a crash left in pieces, so that the next one begins a line of its own."""
    if not file.exists():
        return
    with open_to_read(file) as stream:
        content = stream.read()
    whole = content[: content.rfind(b"\n") + 1]
    last = whole[:-1].rfind(b"\n") + 1
    try:
        if whole:
            _parse(whole[last:-1], action_count)
    except _DAMAGE:
        whole = whole[:last]
    if whole != content:
        with os.fdopen(open_regular(file, os.O_RDWR), "rb+") as opened:
            opened.truncate(len(whole))


def _parse(line: bytes, action_count: int) -> Recording:
    content = parse_json(line)
    values: dict[str, Any] = content["recording"]
    if json_sha256(values) != content["sha256"]:
        raise ValueError("another checksum")
    size = action_bytes(action_count)
    unpacked = {
        name: unpack_actions(
            zlib.decompressobj().decompress(
                base64.b64decode(values[name], validate=True), size * _MOST_ACTIONS
            ),
            size,
        )
        for name in ("played", "chosen")
    }
    rewards = [0.0] * len(unpacked["chosen"])
    for step, reward in values["rewards"]:
        rewards[step] = float(reward)
    return as_record(Recording, {**values, **unpacked, "rewards": rewards})
