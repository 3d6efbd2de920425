"""One exploration: return to a cell, act from there, note what is new or better."""

from array import array
from typing import NamedTuple, Protocol

from goexplore.archive import (
    NEVER,
    UNKNOWN,
    Candidate,
    Entry,
    ExplorationResult,
    ScoreIndex,
    ScoreLength,
    action_bytes,
    pack_actions,
)
from goexplore.cells import CellEnvironment, CellKey, DynamicCells, End
from goexplore.errors import require_between
from goexplore.exploration._actions import ActionSource
from goexplore.random import SplitMix64, stream_state


class Task(NamedTuple):
    """An exploration to run: where from, and with which draws."""

    order: int
    """Its position in the batch: results are applied in this order."""
    start: Entry
    """The entry as it was when it was chosen."""
    random_state: int
    """State of the stream that all draws of this exploration come from."""

    def sampled(self, limit: int) -> int:
        """Return the training frame, of 1 to `limit`, whose frame is kept for revisions of dynamic cells.

        So each training frame is kept with the probability 1 / `limit`: 1 %, as in the follow-up.
        """
        return 1 + SplitMix64(stream_state(self.random_state, 0)).index(limit)


class Kernel(Protocol):
    """Runs explorations. Whichever kernels run the tasks of a batch, the archive becomes the same.

    For that, a kernel must return every visit that the archive would take as a candidate. It may leave out a
    visit that is not better than a candidate of a task with a lower order of the same batch.
    """

    def run(self, task: Task, score_index: ScoreIndex) -> ExplorationResult:
        """Explore, comparing visits with `score_index`: what was known when the batch began."""
        ...

    def initial_digest(self) -> bytes:
        """Return a digest of the initial state: equal for all kernels of a search."""
        ...

    def close(self) -> None:
        """Free what the kernel holds."""
        ...


class PythonKernel:
    """The reference kernel: any environment, any cells, any source of actions."""

    def __init__(
        self, cell_env: CellEnvironment, actions: ActionSource, *, training_frames: int = 100
    ) -> None:
        """Explore for up to `training_frames` (k in paper section 2.1.4)."""
        require_between("training_frames", training_frames, 1, 65_535)
        self._cell_env, self._actions, self._limit = cell_env, actions, training_frames
        self._action_bytes = action_bytes(cell_env.action_count)
        self._sent: dict[tuple[CellKey, bool], ScoreLength] = {}
        self._last_order = 0

    def run(self, task: Task, score_index: ScoreIndex) -> ExplorationResult:
        """Explore from the task's entry until the limit or the end of the episode."""
        if task.order <= self._last_order:
            self._sent.clear()  # it was for tasks that come after this one, or for another batch
        self._last_order = task.order
        cell_env, start, sent = self._cell_env, task.start, self._sent
        cell_env.restore(start.snapshot)
        score, length = start.score_length
        numbers = {(start.cell, False): start.number}
        best = {(start.cell, False): start.score_length}
        candidates: dict[tuple[CellKey, bool], Candidate] = {}
        taken: list[int] = []
        played, end, frame = 0, End.NONE, b""
        sampled = task.sampled(self._limit) if isinstance(cell_env.cells, DynamicCells) else 0
        for action in self._actions.actions(cell_env, SplitMix64(task.random_state), self._limit):
            played += 1
            reward, cell, end = cell_env.step(action)
            if cell is None:
                break  # the action that lost the episode has no destination cell
            if played == sampled:
                frame = cell_env.cells.state()
            taken.append(action)
            score += reward
            length += 1
            key = (cell, end != End.NONE)
            if key not in best:
                numbers[key] = number = score_index.find(cell, ended=key[1])
                known = sent.get(key) or (score_index.score_length(number) if number != UNKNOWN else NEVER)
                best[key] = known
            else:
                known = best[key]
            if score > known.score or (score == known.score and length < known.length):
                best[key] = sent[key] = score_length = ScoreLength(score, length)
                candidates[key] = Candidate(
                    number=numbers[key],
                    cell=cell,
                    offset=len(taken),
                    score_length=score_length,
                    snapshot=cell_env.end_snapshot() if end else cell_env.snapshot(),
                    location=cell_env.location(),
                    end=end,
                )
            if end:
                break  # nothing follows
        return ExplorationResult(
            actions=pack_actions(taken, self._action_bytes),
            training_frames=played,
            seen=array(
                "i", (number for (_, ended), number in numbers.items() if number != UNKNOWN and not ended)
            ),
            seen_new=tuple(
                cell for (cell, ended), number in numbers.items() if number == UNKNOWN and not ended
            ),
            candidates=tuple(candidates.values()),
            ended_in=cell if end and cell is not None else None,
            frame=frame,
        )

    def initial_digest(self) -> bytes:
        """Return a digest of the initial state."""
        return self._cell_env.initial_digest()

    def close(self) -> None:
        """Close the environment."""
        self._cell_env.close()
