"""Playing trajectories: what they bring, and proof that a demonstration does what it says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from goexplore.build import build_env
from goexplore.demos._demonstration import Demonstration, parse_demonstration
from goexplore.envs import Environment, Place
from goexplore.errors import DemonstrationError

_MARK_EVERY = 100
"""Training frames between the states to which `survey` can go back."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What a trajectory brings, training frame by training frame."""

    rewards: tuple[float, ...]
    end: Place
    trace: str
    """SHA-256 of every action and the observation that it led to."""


def record(env: Environment, actions: bytes) -> Recording:
    """Play a trajectory from the initial state."""
    env.reset()
    rewards, place = [], env.place()
    digest = hashlib.sha256()
    for position, action in enumerate(actions):
        if action >= env.action_count:
            raise DemonstrationError(
                f"expected actions below {env.action_count}, got {action} at training frame {position}: it "
                "belongs to another game"
            )
        reward, ended = env.step(action)
        rewards.append(reward)
        place = env.place_after(place)
        digest.update(bytes([action]) + np.ascontiguousarray(env.observation()).tobytes())
        if ended and position + 1 < len(actions):
            raise DemonstrationError(
                f"expected an episode of {len(actions)} training frames, got one that ends after "
                f"{position + 1}"
            )
    return Recording(rewards=tuple(rewards), end=place, trace=digest.hexdigest())


def read_demonstration(file: Path) -> Demonstration:
    """Read a demonstration's file, and prove by replay that the game still plays as it says."""
    demonstration = parse_demonstration(file)
    verify_demonstration(demonstration)
    return demonstration


def verify_demonstration(demonstration: Demonstration) -> None:
    """Replay a demonstration on the reference emulator; raise DemonstrationError where it differs."""
    name = demonstration.env.game
    found = record(build_env(demonstration.env), demonstration.actions)
    pairs = zip(demonstration.rewards, found.rewards, strict=True)
    for position, (expected, reward) in enumerate(pairs):
        if expected != reward:
            raise DemonstrationError(
                f"expected a reward of {expected:g} at training frame {position} of {name}, got {reward:g}: "
                "the demonstration is not what the game plays; make it anew"
            )
    if found.trace != demonstration.trace or found.end != demonstration.end:
        raise DemonstrationError(
            f"expected the actions and screens that the demonstration was made with, got others from {name}: "
            "an action was changed, or the emulator is another one; make it anew"
        )


def shared_length(one: bytes, other: bytes) -> int:
    """Return how many actions two trajectories have in common before they part."""
    size = min(len(one), len(other))
    parted = np.frombuffer(one + b"\0", np.uint8)[:size] != np.frombuffer(other + b"\0", np.uint8)[:size]
    return int(parted.argmax()) if parted.any() else size


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What one of many trajectories brings."""

    rewards: Sequence[float]
    """One per training frame."""
    levels: Sequence[int]
    """The highest so far, after each training frame."""


def survey(env: Environment, trajectories: Sequence[bytes]) -> Iterator[tuple[int, Survey]]:
    """Play trajectories, each stretch that several share only once; yield the number and survey of each.

    A survey is only valid until the next one is asked for.
    """
    rewards: list[float] = []
    levels: list[int] = []
    marks: list[tuple[int, bytes, Place]] = []
    played = b""
    env.reset()
    place = env.place()
    for number in sorted(range(len(trajectories)), key=trajectories.__getitem__):
        actions = trajectories[number]
        shared = shared_length(played, actions)
        if shared < len(played):
            while marks[-1][0] > shared:
                marks.pop()
            start, state, place = marks[-1]
            env.restore(state)
            del rewards[start:], levels[start:]
        for position in range(len(rewards), len(actions)):
            if position % _MARK_EVERY == 0 and (not marks or marks[-1][0] < position):
                marks.append((position, env.snapshot(), place))
            rewards.append(env.step(actions[position]).reward)
            place = env.place_after(place)
            levels.append(max(place.level, levels[-1] if levels else place.level))
        played = actions
        yield number, Survey(rewards=rewards, levels=levels)
