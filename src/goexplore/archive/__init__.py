"""The archive: entries, the tree of segments that holds their trajectories, and their storage.

An *end entry* is an entry for a state in which an episode ended. It counts for the best score and can become
a demonstration, and nothing is explored from it. An *event entry* is an entry for a state in which an event
happened: it is neither explored from nor counted, and can become a demonstration.
"""

from goexplore.archive._archive import VALUES, Archive, Chosen
from goexplore.archive._entries import AddStatus, Candidate, Entry, ExplorationResult
from goexplore.archive._memory_limit import MemoryLimit, parse_size, size_text
from goexplore.archive._packed import RECORD_VERSION, PackedResults, pack_results, unpack_result
from goexplore.archive._query import select
from goexplore.archive._recell import recell
from goexplore.archive._replays import Claim, Replay, plan_replays
from goexplore.archive._score_index import (
    END,
    NEVER,
    UNKNOWN,
    Changes,
    ScoreIndex,
    ScoreLength,
    event_tag,
)
from goexplore.archive._segments import (
    START,
    Actions,
    Branch,
    SegmentTree,
    action_bytes,
    as_actions,
    pack_actions,
    unpack_actions,
)
from goexplore.archive._storage import (
    ARCHIVE_FILE,
    FRAMES_FILE,
    SEGMENTS_FILE,
    read_archive,
    read_frames,
    write_archive,
    write_frames,
)
from goexplore.archive._update import Update

__all__ = [
    "ARCHIVE_FILE",
    "END",
    "FRAMES_FILE",
    "NEVER",
    "RECORD_VERSION",
    "SEGMENTS_FILE",
    "START",
    "UNKNOWN",
    "VALUES",
    "Actions",
    "AddStatus",
    "Archive",
    "Branch",
    "Candidate",
    "Changes",
    "Chosen",
    "Claim",
    "Entry",
    "ExplorationResult",
    "MemoryLimit",
    "PackedResults",
    "Replay",
    "ScoreIndex",
    "ScoreLength",
    "SegmentTree",
    "Update",
    "action_bytes",
    "as_actions",
    "event_tag",
    "pack_actions",
    "pack_results",
    "parse_size",
    "plan_replays",
    "read_archive",
    "read_frames",
    "recell",
    "select",
    "size_text",
    "unpack_actions",
    "unpack_result",
    "write_archive",
    "write_frames",
]
