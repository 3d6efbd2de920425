"""One exploration: return to a cell, act from there, note what is new or better."""

from array import array
from typing import NamedTuple, Protocol

from goexplore.archive import NEVER, UNKNOWN, Entry, Findings, Offer, Scoreboard, Standing
from goexplore.cells import CellKey
from goexplore.exploration._actions import ActionSource
from goexplore.exploration._world import World
from goexplore.random import SplitMix64


class Task(NamedTuple):
    """An exploration to run: where from, and with which draws."""

    order: int
    """Its place in the batch: findings are applied in this order."""
    start: Entry
    """The entry as it was when it was chosen."""
    random_state: int
    """State of the stream that all draws of this exploration come from."""


class Kernel(Protocol):
    """Runs explorations. Whichever kernels run the tasks of a batch, the archive becomes the same.

    For that, a kernel must offer every visit that the archive would take. It may keep to itself a visit that
    is not better than one that it has offered for a task with a lower order of the same batch.
    """

    def run(self, task: Task, board: Scoreboard) -> Findings:
        """Explore, judging visits by `board`: what was known when the batch began."""
        ...

    def close(self) -> None:
        """Free what the kernel holds."""
        ...


class PythonKernel:
    """The reference kernel: any environment, any cells, any source of actions."""

    def __init__(self, world: World, actions: ActionSource, *, training_frames: int = 100) -> None:
        """Explore for up to `training_frames` (k in paper section 2.1.4)."""
        self._world, self._actions, self._limit = world, actions, training_frames
        self._offered: dict[CellKey, Standing] = {}
        self._last_order = 0

    def run(self, task: Task, board: Scoreboard) -> Findings:
        """Explore from the task's entry until the limit or the end of the episode."""
        if task.order <= self._last_order:
            self._offered.clear()  # it was for tasks that come after this one, or for another batch
        self._last_order = task.order
        world, start, offered = self._world, task.start, self._offered
        world.restore(start.snapshot)
        score, length = start.standing
        numbers = {start.cell: start.number}
        best = {start.cell: start.standing}
        offers: dict[CellKey, Offer] = {}
        taken = bytearray()
        played = 0
        for action in self._actions.actions(world, SplitMix64(task.random_state), self._limit):
            played += 1
            reward, cell = world.step(action)
            if cell is None:
                break  # the action that ended the episode has no destination cell
            taken.append(action)
            score += reward
            length += 1
            if cell not in best:
                numbers[cell] = number = board.find(cell)
                known = offered.get(cell) or (board.standing(number) if number != UNKNOWN else NEVER)
                best[cell] = known
            else:
                known = best[cell]
            if score > known.score or (score == known.score and length < known.length):
                best[cell] = offered[cell] = standing = Standing(score, length)
                offers[cell] = Offer(
                    number=numbers[cell],
                    cell=cell,
                    offset=len(taken),
                    standing=standing,
                    snapshot=world.snapshot(),
                    place=world.place(),
                )
        return Findings(
            actions=bytes(taken),
            training_frames=played,
            seen=array("i", (number for number in numbers.values() if number != UNKNOWN)),
            seen_new=tuple(cell for cell, number in numbers.items() if number == UNKNOWN),
            offers=tuple(offers.values()),
        )

    def close(self) -> None:
        """Close the world."""
        self._world.close()
