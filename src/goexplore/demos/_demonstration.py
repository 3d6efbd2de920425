"""A demonstration: a trajectory from the initial state with its rewards, and its file."""

from __future__ import annotations

import base64
import dataclasses
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goexplore.archive import Actions, action_bytes, pack_actions, unpack_actions
from goexplore.cells import End
from goexplore.envs import Location
from goexplore.errors import ConfigError, DemonstrationError
from goexplore.files import json_sha256, read_json, versions, write_json
from goexplore.problems import EnvironmentSpec, Problem, environment_from_file
from goexplore.replay import total_score

FORMAT = "goexplore demonstration"
VERSION = 2
"""Raised when older versions of goexplore could not read the file; docs/format.md describes it."""

SUFFIX = ".demo.json"

_MOST_TRAINING_FRAMES = 10_000_000
"""No file makes us unpack more."""


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where a demonstration comes from."""

    run: str
    """The run directory's own name."""
    seed: int
    """Of the search."""
    entry: int
    """The number of the archive's entry whose trajectory it is, before it was cut."""
    cell: str
    """The entry's cell, in hexadecimal."""
    search_game_frames: int
    """Game frames that the search had played."""
    truncation: tuple[str, ...] = ()
    """How the trajectory was cut, in words."""
    event: str = ""
    """The event that it leads to, if it is a way to one."""
    fatal_action: int | None = None
    """The action after its last one, which crashes, hangs or raises an exception in this very state. It is no
    part of the demonstration, because it has no result that could be replayed."""

    def __post_init__(self) -> None:
        # A folder's name need not be UTF-8; what a file says has to be.
        object.__setattr__(self, "run", self.run.encode(errors="replace").decode())


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """What to do from the initial state, and what it brings."""

    target: str
    """What finds the environment again: an id, or the name of a problem."""
    env: EnvironmentSpec
    actions: Actions
    """One action per training frame."""
    action_count: int
    """How many actions the environment has."""
    frame_skip: int
    """Game frames per training frame."""
    rewards: tuple[float, ...]
    """One per training frame."""
    location: Location
    """Where it ends."""
    end: End
    """Whether and how it ends the episode."""
    digest: str
    """SHA-256 of every action and the observation that it led to."""
    provenance: Provenance
    versions: dict[str, str] = field(default_factory=versions)

    @property
    def score(self) -> float:
        """The search score: of the deterministic game."""
        return total_score(self.rewards)

    @property
    def game_frames(self) -> int:
        """How long it plays."""
        return len(self.actions) * self.frame_skip


def write_demonstration(demonstration: Demonstration, file: Path) -> None:
    """Write a file of a few kilobytes."""
    packed = pack_actions(demonstration.actions, action_bytes(demonstration.action_count))
    content = {
        "target": demonstration.target,
        "env": demonstration.env.settings(),
        "action_count": demonstration.action_count,
        "frame_skip": demonstration.frame_skip,
        "training_frames": len(demonstration.actions),
        "score": demonstration.score,
        "actions": base64.b64encode(zlib.compress(packed, 9)).decode(),
        "rewards": [[index, reward] for index, reward in enumerate(demonstration.rewards) if reward],
        "location": {"level": demonstration.location.level, "room": demonstration.location.room},
        "end": demonstration.end.name.lower(),
        "digest": demonstration.digest,
        "provenance": _provenance_values(demonstration.provenance),
        "versions": demonstration.versions,
    }
    write_json(
        file, {"format": FORMAT, "version": VERSION, "content": content, "sha256": json_sha256(content)}
    )


def _provenance_values(provenance: Provenance) -> dict[str, Any]:
    """Return where a demonstration comes from; of an event only if it leads to one."""
    values = dataclasses.asdict(provenance)
    return {
        name: value for name, value in values.items() if value not in ("", None) or name not in _OF_EVENTS
    }


_OF_EVENTS = ("event", "fatal_action")


def parse_demonstration(file: Path, problem: Problem | None = None) -> Demonstration:
    """Return what a file says that `write_demonstration` wrote, if nothing in it has changed since.

    The `problem` has to be given where it comes from an import path: a file never makes us import code.
    """
    try:
        written = read_json(file)
    except OSError as error:
        raise DemonstrationError(
            f"expected a demonstration in {file}, got {error.strerror}: check the path"
        ) from error
    except (ValueError, RecursionError) as error:
        raise DemonstrationError(
            f"expected a demonstration in {file}, got text that is no whole JSON ({error}): copy it again"
        ) from error
    if not isinstance(written, dict) or written.get("format") != FORMAT:
        raise DemonstrationError(
            f"expected a demonstration in {file}, got another kind of file: make one with `goexplore demos`"
        )
    if written.get("version") != VERSION:
        raise DemonstrationError(
            f"expected a demonstration of version {VERSION}, got {written.get('version')!r} in {file}: "
            "make it anew with `goexplore demos`, or use the version of goexplore that wrote it"
        )
    content: Any = written.get("content")
    if json_sha256(content) != written.get("sha256"):
        raise DemonstrationError(
            f"expected the content that the checksum of {file} was made of, got another: it was changed or "
            "damaged, copy it again"
        )
    try:
        target, settings = str(content["target"]), dict(content["env"])
    except (LookupError, TypeError, ValueError) as error:
        raise DemonstrationError(
            f"expected the fields of a demonstration in {file}, got {error!r}: make it anew"
        ) from error
    try:
        env = environment_from_file(target, settings, problem, str(file))
    except ConfigError as error:
        if problem is not None:
            raise  # it is another problem than the file's
        raise DemonstrationError(
            f"expected the fields of a demonstration in {file}, got {error!r}: make it anew"
        ) from error
    try:
        return _from_json(content, env)
    except (LookupError, TypeError, ValueError, AttributeError, zlib.error, ConfigError) as error:
        raise DemonstrationError(
            f"expected the fields of a demonstration in {file}, got {error!r}: make it anew"
        ) from error


def _from_json(content: dict[str, Any], env: EnvironmentSpec) -> Demonstration:
    packed = base64.b64decode(content["actions"], validate=True)
    size = action_bytes(content["action_count"])
    actions = unpack_actions(zlib.decompressobj().decompress(packed, size * _MOST_TRAINING_FRAMES), size)
    rewards = [0.0] * len(actions)
    for index, reward in content["rewards"]:
        rewards[index] = float(reward)
    if len(actions) != content["training_frames"]:
        raise ValueError(f"{len(actions)} actions instead of {content['training_frames']}")
    if total_score(rewards) != content["score"]:
        raise ValueError(f"rewards of {total_score(rewards):g} instead of {content['score']:g}")
    provenance = content["provenance"]
    return Demonstration(
        target=content["target"],
        env=env,
        actions=actions,
        action_count=content["action_count"],
        frame_skip=content["frame_skip"],
        rewards=tuple(rewards),
        location=Location(**content["location"]),
        end=End[content["end"].upper()],
        digest=content["digest"],
        provenance=Provenance(**{**provenance, "truncation": tuple(provenance["truncation"])}),
        versions=content["versions"],
    )
