"""The archive: entries, the tree of segments that holds their trajectories, and their storage."""

from goexplore.archive._archive import Archive, Update
from goexplore.archive._entries import AddStatus, Entry, Findings, Offer
from goexplore.archive._scoreboard import NEVER, UNKNOWN, Changes, Scoreboard, Standing
from goexplore.archive._segments import START, Branch, SegmentTree
from goexplore.archive._storage import ARCHIVE_FILE, SEGMENTS_FILE, read_archive, write_archive

__all__ = [
    "ARCHIVE_FILE",
    "NEVER",
    "SEGMENTS_FILE",
    "START",
    "UNKNOWN",
    "AddStatus",
    "Archive",
    "Branch",
    "Changes",
    "Entry",
    "Findings",
    "Offer",
    "Scoreboard",
    "SegmentTree",
    "Standing",
    "Update",
    "read_archive",
    "write_archive",
]
