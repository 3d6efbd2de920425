"""Explorations on the native Atari engine, without the interpreter and its lock."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from goexplore.archive import Candidate, ExplorationResult, ScoreIndex, ScoreLength
from goexplore.envs import Location
from goexplore.errors import SnapshotError
from goexplore.exploration._kernel import Task

if TYPE_CHECKING:
    from goexplore._native._atari import Explorer


class NativeKernel:
    """Finds what `PythonKernel` with `RandomRepeat` finds, task by task (_native/explore/kernel.h)."""

    def __init__(
        self, explorer: Explorer, *, training_frames: int, room_numbers: bytes | None = None
    ) -> None:
        """`explorer` is this kernel's own, and explores for up to `training_frames`.

        `room_numbers` are the rooms' numbers by what it reads from memory, if that is where they come from.
        """
        self.explorer = explorer
        self.room_numbers = room_numbers
        self._limit = training_frames

    def run(self, task: Task, score_index: ScoreIndex) -> ExplorationResult:
        """Explore until the limit, the end of the episode, or where the engine cannot go on."""
        start = task.start
        try:
            actions, played, seen, seen_new, candidates, stopped, frame = self.explorer.run(
                task.order,
                task.random_state,
                start.snapshot,
                start.cell,
                start.number,
                start.score_length.score,
                start.score_length.length,
                score_index.memory(),
                task.sampled(self._limit),
            )
        except ValueError as error:
            raise SnapshotError(
                f"expected a snapshot of the native engine, got {len(start.snapshot)} other bytes: "
                "resume with the versions in the run's config.json"
            ) from error
        numbers = self.room_numbers
        return ExplorationResult(
            actions=actions,
            training_frames=played,
            seen=array("i", seen),
            seen_new=seen_new,
            candidates=tuple(
                Candidate(
                    number,
                    cell,
                    offset,
                    ScoreLength(score, length),
                    snapshot,
                    Location(level, numbers[room] if numbers else room),
                )
                for number, cell, offset, score, length, snapshot, level, room in candidates
            ),
            frame=frame,
            stopped=stopped,
        )

    def initial_digest(self) -> bytes:
        """Return nothing: machines of one engine and game begin alike, and the snapshots' size is checked."""
        return b""

    def close(self) -> None:
        """Nothing is open."""
