"""The trajectory that a search begins at the end of, as config.json keeps it."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from typing import Any

from goexplore.archive import Actions, action_bytes, pack_actions, unpack_actions
from goexplore.files import as_record

_MOST_TRAINING_FRAMES = 10_000_000
"""No file makes us unpack more."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """A way from the initial state to the state that a search begins with."""

    actions: Actions
    """One action per training frame."""
    action_count: int
    """How many actions the environment has."""
    score: float
    """What the actions win in the deterministic game."""
    source: str
    """Where they come from, in words."""

    def __str__(self) -> str:
        return f"{self.source}: score {self.score:g} after {len(self.actions):,} training frames"

    def settings(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        packed = pack_actions(self.actions, action_bytes(self.action_count))
        return {
            "source": self.source,
            "score": self.score,
            "training_frames": len(self.actions),
            "action_count": self.action_count,
            "actions": base64.b64encode(zlib.compress(packed, 9)).decode(),
        }

    @classmethod
    def from_settings(cls, settings: Any) -> Start:
        """Return what `settings` was made of; raise ValueError if it is something else."""
        written = as_record(_Written, settings)
        size = action_bytes(written.action_count)
        if not 0 < written.training_frames <= _MOST_TRAINING_FRAMES:
            raise ValueError(f"a start after {written.training_frames} training frames")
        try:
            packed = base64.b64decode(written.actions, validate=True)
            actions = unpack_actions(
                zlib.decompressobj().decompress(packed, size * (written.training_frames + 1)), size
            )
        except zlib.error as error:
            raise ValueError(f"actions that cannot be unpacked ({error})") from error
        if len(actions) != written.training_frames:
            raise ValueError(f"{len(actions)} actions instead of {written.training_frames}")
        return cls(
            actions=actions, action_count=written.action_count, score=written.score, source=written.source
        )


@dataclass(frozen=True, kw_only=True)
class _Written:
    source: str
    score: float
    training_frames: int
    action_count: int
    actions: str
