"""What goes out of the archive to be explored from, and what comes back.

Named tuples, because they travel between processes: they are pickled four times as fast as dataclasses.
"""

from __future__ import annotations

from array import array
from enum import Enum, auto
from typing import NamedTuple

from goexplore.archive._score_index import END, ScoreLength, event_tag
from goexplore.archive._segments import Branch
from goexplore.cells import CellKey, End
from goexplore.envs import Location


class Entry(NamedTuple):
    """One cell with the four pieces of metadata of paper section 2.1.5, as they are at this moment."""

    number: int
    cell: CellKey
    score_length: ScoreLength
    """Score and length of the trajectory."""
    branch: Branch
    """The end of the trajectory in the tree of segments."""
    snapshot: bytes
    """Where the episode ended, or of an event: nothing, or only what dynamic cells track."""
    end: End = End.NONE
    """How the episode ended here, if it did."""
    event: str = ""
    """The event that the trajectory leads to, where it is the entry of one."""

    @property
    def score(self) -> float:
        """The search score of the trajectory."""
        return self.score_length.score

    @property
    def length(self) -> int:
        """Training frames of the trajectory."""
        return self.score_length.length


class Candidate(NamedTuple):
    """A visit to a cell that is new, or better than what is known, as far as the exploration can tell."""

    number: int
    """The cell's entry, or UNKNOWN."""
    cell: CellKey
    offset: int
    """Actions of the exploration that led here."""
    score_length: ScoreLength
    snapshot: bytes
    location: Location
    end: End = End.NONE
    """How the episode ended with this visit, if it did."""
    event: str = ""
    """The event that happened, where the candidate is for its entry."""

    @property
    def tag(self) -> str:
        """What tells its entry from others of the cell."""
        return event_tag(self.event) if self.event else END if self.end else ""

    def beats(self, known: ScoreLength) -> bool:
        """Whether it is better than what an entry has: the shortest way to an event is the best."""
        return self.score_length.length < known.length if self.event else self.score_length.beats(known)


class ExplorationResult(NamedTuple):
    """What one exploration brought back."""

    actions: bytes
    """One or two bytes per training frame that led to a cell or an event: see `pack_actions`."""
    training_frames: int
    """Training frames played, the one that ended the episode included."""
    seen: array[int]
    """Entries of the known cells that were passed through, once each."""
    seen_new: tuple[CellKey, ...]
    """Cells that were passed through and had no entry when the batch began, once each."""
    candidates: tuple[Candidate, ...]
    ended_in: CellKey | None = None
    """The cell of the end entry that the exploration came to, if it did."""
    end: End = End.NONE
    """How it ended there."""
    replayed: int = 0
    """Training frames that were played on the way back to where the exploration began."""
    events_seen: tuple[tuple[str, CellKey], ...] = ()
    """Events that happened, and the cell in which they did, once each."""
    frame: bytes = b""
    """A frame for revisions of dynamic cells, where the training frame that was drawn for it was played."""
    stopped: str | None = None
    """What stopped the engine, where the exploration ended because it could not go on."""
    given_up: bool = False
    """Whether it crashed or hung in every worker that ran it, with no action to blame."""


class AddStatus(Enum):
    """What the archive made of a candidate."""

    NEW = auto()
    IMPROVED = auto()
    REJECTED = auto()
