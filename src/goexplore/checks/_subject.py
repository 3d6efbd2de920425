"""An environment under test, and two plays of it side by side."""

from __future__ import annotations

import math
import traceback
from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from goexplore.cells import validate_step
from goexplore.envs import digest
from goexplore.errors import GoExploreError
from goexplore.problems import Problem


class Call(IntEnum):
    """What an environment is asked for."""

    NOTHING = 0
    CONSTRUCTOR = 1
    RESET = 2
    STEP = 3
    OBSERVATION = 4
    SNAPSHOT = 5
    RESTORE = 6
    CELLS = 7
    PICTURE = 8
    PLAY = 9

    @property
    def text(self) -> str:
        """How messages name it."""
        named = {Call.NOTHING: "its start", Call.CONSTRUCTOR: "the constructor", Call.CELLS: "the cells"}
        return named.get(self) or f"`{self.name.lower()}`"


Marks: TypeAlias = MutableSequence[int]
"""Shared with the parent: the call that is under way, the number of calls, of steps, and the action."""
MARKS = 4


def describe_marks(marks: Sequence[int]) -> str:
    """Return the call that was under way when a process died or hung."""
    call, _, steps, action = Call(marks[0]), *marks[1:]
    return f"{call.text} (step {steps:,}, action {action})" if call is Call.STEP else call.text


class Fault(Exception):
    """A promise that was not kept: what was expected, what came, what to do."""


class Seen(NamedTuple):
    """What a state looks like from outside, as digests."""

    observation: bytes
    location: bytes
    """Of `location` and `lives`."""

    def name_difference(self, other: Seen) -> str:
        """Return what of the other state is different."""
        return "observation" if self.observation != other.observation else "`location` or `lives`"


UNSEEN = Seen(b"", b"")


class Moment(NamedTuple):
    """What one training frame brought."""

    reward: float
    terminated: bool
    truncated: bool
    seen: Seen

    @property
    def ended(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated


class Subject:
    """An environment under test. It marks each call, for the case that the process dies or hangs in it."""

    def __init__(self, problem: Problem, marks: Marks) -> None:
        self._marks = marks
        self._ended = True
        self.mark(Call.CONSTRUCTOR)
        factory = getattr(problem.env, "factory", None)
        missing = sorted(getattr(factory, "__abstractmethods__", ()))
        if missing:
            raise Fault(
                "expected a class with all abstract methods of goexplore.Environment, got "
                f"{problem.env.name} without {' and '.join(f'`{name}`' for name in missing)}: define them"
            )
        self.env = problem.env()
        self.raised = problem.exceptions
        """What `step` may raise, because it is an event: it ends the episode."""

    def mark(self, call: Call, action: int = -1) -> None:
        """Note the call that comes next."""
        marks = self._marks
        marks[0] = call
        marks[1] += 1
        marks[2] += call is Call.STEP
        marks[3] = action

    def see(self) -> Seen:
        """Return what the current state looks like."""
        self.mark(Call.OBSERVATION)
        return Seen(digest(self.env.observation()), digest((*self.env.location(), self.env.lives())))

    def reset(self) -> Seen:
        """Go to the initial state."""
        self.mark(Call.RESET)
        self.env.reset()
        self._ended = False
        return self.see()

    def step(self, action: int, *, look: bool = True) -> Moment:
        """Play one training frame."""
        self.mark(Call.STEP, action)
        try:
            step = self.env.step(action)
        except self.raised:
            self._ended = True
            return Moment(0.0, True, False, UNSEEN)
        validate_step(step)
        reward, terminated, truncated = step
        if not math.isfinite(reward):
            raise Fault(f"expected finite rewards, got {reward} after action {action}: fix `step`")
        self._ended = bool(terminated or truncated)
        return Moment(float(reward), bool(terminated), bool(truncated), self.see() if look else UNSEEN)

    def snapshot(self) -> bytes:
        """Return the state, which must be bytes."""
        self.mark(Call.SNAPSHOT)
        state: Any = self.env.snapshot()
        if type(state) is not bytes:
            raise Fault(
                f"expected bytes from {type(self.env).__name__}.snapshot, got {type(state).__name__}: return "
                "everything that `restore` needs, as bytes"
            )
        return state

    def try_snapshot(self) -> bytes | None:
        """Return the state if it can be compared: whether it can is looked at elsewhere."""
        try:
            state = self.snapshot()
            return state if self.snapshot() == state else None
        except Exception:  # of the user's code: any
            return None

    def restore(self, snapshot: bytes) -> None:
        """Go back to a state."""
        self.mark(Call.RESTORE)
        self.env.restore(snapshot)
        self._ended = False

    def play(self, actions: Sequence[int]) -> Iterator[Moment]:
        """Play actions, with a reset after each end of an episode."""
        for action in actions:
            if self._ended:
                self.reset()
            yield self.step(action)

    def play_from_start(self, actions: Sequence[int]) -> list[Moment]:
        """Play actions from the initial state."""
        self.reset()
        return list(self.play(actions))


class Difference(NamedTuple):
    """The first training frame in which two plays differ."""

    is_end: bool
    """Whether it is the end of an episode that came at another time."""
    text: str


def first_difference(expected: Sequence[Moment], got: Sequence[Moment]) -> Difference | None:
    """Return where two plays differ, or None."""
    for number, (one, other) in enumerate(zip(expected, got, strict=True), start=1):
        if one.ended != other.ended:
            how = "ends with" if other.ended else "goes on after"
            return Difference(True, f"an episode that {how} step {number}")
        if one.terminated != other.terminated or one.truncated != other.truncated:
            how = "terminated" if other.terminated else "truncated"
            return Difference(True, f"an episode that is {how} instead at step {number}")
        if one.reward != other.reward:
            return Difference(False, f"reward {other.reward:g} instead of {one.reward:g} at step {number}")
        if one.seen != other.seen:
            return Difference(False, f"another {one.seen.name_difference(other.seen)} after step {number}")
    return None


def until_end(moments: list[Moment]) -> list[Moment]:
    """Return what comes up to the end of the episode, that one included."""
    for number, moment in enumerate(moments, start=1):
        if moment.ended:
            return moments[:number]
    return moments


def find_lie(space: Any, observation: Any, name: str = "") -> str | None:
    """Return where an observation is not what a Gymnasium space says, or None."""
    if space is None or space.contains(observation):
        return None
    inner = getattr(space, "spaces", None)
    if isinstance(inner, Mapping) and isinstance(observation, Mapping) and inner.keys() == observation.keys():
        found = (find_lie(inner[key], observation[key], str(key)) for key in inner)
        return next((lie for lie in found if lie is not None), None)
    seen = f"{observation!r:.60}"
    if isinstance(observation, np.ndarray):
        seen = f"{observation.shape} {observation.dtype}"
        if observation.shape == space.shape and observation.dtype.kind in "iuf":
            seen += f" from {observation.min():g} to {observation.max():g}"
    return (
        f"the observation space says {space}{f' for {name}' if name else ''}, but there are observations of "
        f"{seen}: a grid with `bins` takes its bounds from there"
    )


def name_error(error: BaseException) -> str:
    """Return an exception's class and text in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


def explain(error: Exception, call: Call) -> str:
    """Return one line for an exception that came out of a call: what happened, where, what to do."""
    if isinstance(error, Fault | GoExploreError):
        return " ".join(str(error).split())
    ours = str(Path(__file__).parents[1])
    frames = traceback.extract_tb(error.__traceback__)
    frame = next((each for each in reversed(frames) if not each.filename.startswith(ours)), frames[-1])
    where = f"{Path(frame.filename).name}, line {frame.lineno}"
    return f"expected {call.text} to raise nothing, got {name_error(error)} ({where}): fix it"
