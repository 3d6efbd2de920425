"""TensorBoard event files, written in this thread: worker processes are forked from this process."""

from __future__ import annotations

import time
from pathlib import Path
from typing import IO


class EventFile:
    """Appends scalars to an event file that TensorBoard opens."""

    def __init__(self, folder: Path) -> None:
        """Make a new event file in `folder`; TensorBoard shows all files of a folder as one run."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.record_writer import RecordWriter

        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        self._stream: IO[bytes] = (folder / f"events.out.tfevents.{now:017.6f}").open("xb")
        self._records = RecordWriter(self._stream)
        self._write(Event(wall_time=now, file_version="brain.Event:2"))

    def scalars(self, step: int, values: dict[str, float]) -> None:
        """Write values at a step: a number of game frames."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        summary = Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])
        self._write(Event(wall_time=time.time(), step=step, summary=summary))

    def _write(self, event: object) -> None:
        self._records.write(event.SerializeToString())  # type: ignore[attr-defined]
        self._records.flush()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
