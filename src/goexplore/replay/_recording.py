"""Playing trajectories: what they bring, and a digest of everything that they show."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from goexplore.archive import Actions, action_bytes, pack_actions
from goexplore.cells import End
from goexplore.envs import Environment, Location, observation_bytes
from goexplore.errors import DemonstrationError

_MARK_EVERY = 100
"""Training frames between the states to which `survey` can go back."""


def total_score(rewards: Sequence[float]) -> float:
    """Return the sum of rewards, added in their order, as a search does: Python's `sum` rounds otherwise."""
    return reduce(add, rewards, 0.0)


class TrajectoryDigest:
    """SHA-256 over every action and the observation that it led to: finds any single change."""

    def __init__(self, action_count: int) -> None:
        self._digest = hashlib.sha256()
        self._action_bytes = action_bytes(action_count)

    def add(self, action: int, observation: object) -> None:
        """Take in one training frame."""
        self._digest.update(pack_actions([action], self._action_bytes) + observation_bytes(observation))

    def text(self) -> str:
        """Return the digest in hexadecimal."""
        return self._digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What a trajectory brings, training frame by training frame."""

    rewards: tuple[float, ...]
    location: Location
    """Where it ends."""
    end: End
    """Whether and how it ends the episode."""
    digest: str
    """Of every action and the observation that it led to."""


def record(env: Environment, actions: Sequence[int]) -> Recording:
    """Play a trajectory from the initial state."""
    env.reset()
    rewards, location, end = [], env.location(), End.NONE
    digest = TrajectoryDigest(env.action_count)
    for position, action in enumerate(actions):
        if action >= env.action_count:
            raise DemonstrationError(
                f"expected actions below {env.action_count}, got {action} at training frame {position}: it "
                "belongs to another game"
            )
        reward, terminated, truncated = env.step(action)
        rewards.append(float(reward))
        location = env.location_after(location)
        digest.add(action, env.observation())
        if terminated or truncated:
            end = End.TERMINATED if terminated else End.TRUNCATED
            if position + 1 < len(actions):
                raise DemonstrationError(
                    f"expected an episode of {len(actions)} training frames, got one that ends after "
                    f"{position + 1}"
                )
    return Recording(rewards=tuple(rewards), location=location, end=end, digest=digest.text())


def shared_length(one: Actions, other: Actions) -> int:
    """Return how many actions two trajectories have in common before they part."""
    size = min(len(one), len(other))
    if isinstance(one, bytes) and isinstance(other, bytes):
        parted = np.frombuffer(one + b"\0", np.uint8)[:size] != np.frombuffer(other + b"\0", np.uint8)[:size]
    else:
        parted = np.array(one[:size], np.int64) != np.array(other[:size], np.int64)
    return int(parted.argmax()) if parted.any() else size


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What one of many trajectories brings."""

    rewards: Sequence[float]
    """One per training frame."""
    levels: Sequence[int]
    """The highest so far, after each training frame."""


def survey(env: Environment, trajectories: Sequence[Actions]) -> Iterator[tuple[int, Survey]]:
    """Play trajectories, each stretch that several share only once; yield the number and survey of each.

    A survey is only valid until the next one is asked for.
    """
    rewards: list[float] = []
    levels: list[int] = []
    marks: list[tuple[int, bytes, Location]] = []
    played: Actions = b""
    env.reset()
    location = env.location()
    for number in sorted(range(len(trajectories)), key=trajectories.__getitem__):
        actions = trajectories[number]
        shared = shared_length(played, actions) if played else 0
        if shared < len(played):
            while marks[-1][0] > shared:
                marks.pop()
            start, state, location = marks[-1]
            env.restore(state)
            del rewards[start:], levels[start:]
        for position in range(len(rewards), len(actions)):
            if position % _MARK_EVERY == 0 and (not marks or marks[-1][0] < position):
                marks.append((position, env.snapshot(), location))
            rewards.append(float(env.step(actions[position]).reward))
            location = env.location_after(location)
            levels.append(max(location.level, levels[-1] if levels else location.level))
        played = actions
        yield number, Survey(rewards=rewards, levels=levels)
