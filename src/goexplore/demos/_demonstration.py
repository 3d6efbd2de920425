"""A demonstration: a trajectory from the initial state with its rewards, and its file."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goexplore.config import EnvConfig, env_from_json
from goexplore.envs import Place
from goexplore.errors import ConfigError, DemonstrationError
from goexplore.files import json_sha256, versions, write_json

FORMAT = "goexplore demonstration"
VERSION = 1
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
    cuts: tuple[str, ...] = ()
    """How the trajectory was cut, in words."""


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """What to do from the initial state, and what it brings."""

    env: EnvConfig
    actions: bytes
    """One action per training frame: an index into the game's action set."""
    rewards: tuple[float, ...]
    """One per training frame."""
    end: Place
    """Where it ends."""
    trace: str
    """SHA-256 of every action and the observation that it led to."""
    provenance: Provenance
    versions: dict[str, str] = field(default_factory=versions)

    @property
    def score(self) -> float:
        """The search score: of the deterministic game."""
        return sum(self.rewards)

    @property
    def game_frames(self) -> int:
        """How long it plays."""
        return len(self.actions) * self.env.frame_skip


def write_demonstration(demonstration: Demonstration, file: Path) -> None:
    """Write a file of a few kilobytes."""
    content = {
        "env": dataclasses.asdict(demonstration.env),
        "training_frames": len(demonstration.actions),
        "score": demonstration.score,
        "actions": base64.b64encode(zlib.compress(demonstration.actions, 9)).decode(),
        "rewards": [[index, reward] for index, reward in enumerate(demonstration.rewards) if reward],
        "end": {"level": demonstration.end.level, "room": demonstration.end.room},
        "trace": demonstration.trace,
        "provenance": dataclasses.asdict(demonstration.provenance),
        "versions": demonstration.versions,
    }
    write_json(
        file, {"format": FORMAT, "version": VERSION, "content": content, "sha256": json_sha256(content)}
    )


def parse_demonstration(file: Path) -> Demonstration:
    """Return what a file says that `write_demonstration` wrote, if nothing in it has changed since."""
    try:
        written = json.loads(file.read_text(encoding="utf-8"))
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
            "use the version of goexplore that wrote it, or a newer one"
        )
    content = written.get("content")
    if json_sha256(content) != written.get("sha256"):
        raise DemonstrationError(
            f"expected the content that the checksum of {file} was made of, got another: it was changed or "
            "damaged, copy it again"
        )
    try:
        return _from_json(content or {})
    except (LookupError, TypeError, ValueError, AttributeError, zlib.error, ConfigError) as error:
        raise DemonstrationError(
            f"expected the fields of a demonstration in {file}, got {error!r}: make it anew"
        ) from error


def _from_json(content: dict[str, Any]) -> Demonstration:
    packed = base64.b64decode(content["actions"], validate=True)
    actions = zlib.decompressobj().decompress(packed, _MOST_TRAINING_FRAMES)
    rewards = [0.0] * len(actions)
    for index, reward in content["rewards"]:
        rewards[index] = float(reward)
    if len(actions) != content["training_frames"]:
        raise ValueError(f"{len(actions)} actions instead of {content['training_frames']}")
    if sum(rewards) != content["score"]:
        raise ValueError(f"rewards of {sum(rewards):g} instead of {content['score']:g}")
    provenance = content["provenance"]
    return Demonstration(
        env=env_from_json(content["env"]),
        actions=actions,
        rewards=tuple(rewards),
        end=Place(**content["end"]),
        trace=content["trace"],
        provenance=Provenance(**{**provenance, "cuts": tuple(provenance["cuts"])}),
        versions=content["versions"],
    )
