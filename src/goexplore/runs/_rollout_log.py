"""How the rollouts of a training ended: the newest of them, one line each."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from goexplore.files import append_line, as_record, open_to_read, parse_json, written_whole
from goexplore.runs._directory import clear_errors

MOST_LINES = 10_000
"""Of one file: when it is full it becomes the older one, whose lines are dropped."""


@dataclass(frozen=True, kw_only=True)
class EndedRollout:
    """One rollout of a training, as it ended."""

    training_frames: int = 0
    """Of the training, after the update in which it ended."""
    demonstration: int | None
    """The demonstration that it began in, or with method search the recording of the expert; None where it
    began right after a death, or in a state that the policy itself had reached."""
    start: int | None
    """Training frames of it that were over already; 0 is the real start."""
    success: bool
    ending: str
    """success, death, game over, lagging or truncated."""
    level: int
    room: int
    """Where it ended; -1 where there are none."""
    x: int | None
    y: int | None
    """Column and row of the character in the picture, where they are known."""


class RolloutLog:
    """rollouts.jsonl and rollouts.older.jsonl of a training, which together never grow beyond some megabytes.

    They are for people to look at: nothing that is learnt depends on them.
    """

    def __init__(self, folder: Path) -> None:
        self.newer, self.older = folder / "rollouts.jsonl", folder / "rollouts.older.jsonl"
        self._folder = folder
        self._lines: int | None = None

    def append(self, ended: Sequence[EndedRollout]) -> None:
        """Add rollouts; let go of the oldest ones when there are many."""
        if not ended:
            return
        if self._lines is None:
            self._lines = sum(1 for _ in _read(self.newer))
        with clear_errors(self._folder):
            append_line(self.newer, "\n".join(json.dumps(asdict(each)) for each in ended))
            self._lines += len(ended)
            if self._lines >= MOST_LINES:
                self.newer.replace(self.older)
                self._lines = 0

    def read(self) -> list[EndedRollout]:
        """Return those that are kept, the oldest first; lines that are damaged are left out."""
        return [*_read(self.older), *_read(self.newer)]

    def rewind(self, training_frames: int) -> None:
        """Drop those that ended after a checkpoint: a resumed training plays them again."""
        for file in (self.older, self.newer):
            if file.exists():
                kept = [each for each in _read(file) if each.training_frames <= training_frames]
                with clear_errors(self._folder), written_whole(file) as aside:
                    aside.write_text("".join(json.dumps(asdict(each)) + "\n" for each in kept))
        self._lines = None


def _read(file: Path) -> Iterator[EndedRollout]:
    try:
        with open_to_read(file) as stream:
            content = stream.read()
    except OSError:
        return
    for line in filter(None, content.split(b"\n")):
        with contextlib.suppress(ValueError):
            yield as_record(EndedRollout, parse_json(line))
