"""Explorations on the native Atari engine, without the interpreter and its lock."""

from array import array
from typing import Any

from goexplore.archive import Findings, Offer, Scoreboard, Standing
from goexplore.envs import Place
from goexplore.errors import SnapshotError
from goexplore.exploration._kernel import Task


class NativeKernel:
    """Finds what `PythonKernel` with `RandomRepeat` finds, task by task (_native/explore/kernel.h)."""

    def __init__(self, explorer: Any, *, room_numbers: bytes | None = None) -> None:
        """`explorer` is a `goexplore._native._atari.Explorer` of this kernel's own.

        `room_numbers` are the rooms' numbers by what it reads from memory, if that is where they come from.
        """
        self._explorer = explorer
        self._room_numbers = room_numbers

    def run(self, task: Task, board: Scoreboard) -> Findings:
        """Explore until the limit, the end of the episode, or where the engine cannot go on."""
        start = task.start
        try:
            actions, played, seen, seen_new, offers, stopped = self._explorer.run(
                task.order,
                task.random_state,
                start.snapshot,
                start.cell,
                start.number,
                start.standing.score,
                start.standing.length,
                board.memory(),
            )
        except ValueError as error:
            raise SnapshotError(
                f"expected a snapshot of the native engine, got {len(start.snapshot)} bytes that are none: "
                "resume with the versions in the run's config.json"
            ) from error
        numbers = self._room_numbers
        return Findings(
            actions=actions,
            training_frames=played,
            seen=array("i", seen),
            seen_new=seen_new,
            offers=tuple(
                Offer(
                    number,
                    cell,
                    offset,
                    Standing(score, length),
                    snapshot,
                    Place(level, numbers[room] if numbers else room),
                )
                for number, cell, offset, score, length, snapshot, level, room in offers
            ),
            stopped=stopped,
        )

    def close(self) -> None:
        """Nothing is open."""
