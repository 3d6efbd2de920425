"""Files of one JSON object per line, as they grow: only what is new is read."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Any

from goexplore.files import as_record, open_to_read, parse_json
from goexplore.runs import EndedRollout, SearchMetrics, TrainingMetrics

Kind = type[SearchMetrics] | type[TrainingMetrics] | type[EndedRollout]


class Tail:
    """The lines of a file such as metrics.jsonl, read once each."""

    def __init__(self, file: Path, kind: Kind) -> None:
        self._file, self._kind = file, kind
        self.epoch = 0
        """Raised when the file was written anew: a resumed run drops lines that it will write again."""
        self.lines: list[Any] = []
        self._position = 0
        self._identity: tuple[int, int] | None = None

    def read(self) -> None:
        """Take in the lines that were added; leave out damaged ones and one that is not whole yet."""
        try:
            with open_to_read(self._file) as file:
                about = self._file.stat()
                identity = (about.st_dev, about.st_ino)
                if identity != self._identity or about.st_size < self._position:
                    self.epoch += bool(self.lines)
                    self.lines, self._position, self._identity = [], 0, identity
                if about.st_size == self._position:
                    return
                file.seek(self._position)
                content = file.read()
        except OSError:
            return
        whole, _, _ = content.rpartition(b"\n")
        if not whole:
            return
        self._position += len(whole) + 1
        for line in filter(None, whole.split(b"\n")):
            with contextlib.suppress(ValueError):
                self.lines.append(as_record(self._kind, parse_json(line)))

    def since(self, count: int) -> dict[str, list[Any]]:
        """Return the lines after the first `count`, a list for each field."""
        lines = self.lines[count:]
        names = [field.name for field in dataclasses.fields(self._kind)]
        return {name: [getattr(line, name) for line in lines] for name in names}
