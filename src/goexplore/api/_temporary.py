"""A folder for a run that nobody named a place for."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path


class TemporaryFolder:
    """A folder that is removed together with this object, or else when Python ends.

    Python's own TemporaryDirectory warns when it goes in this way: it wants to be closed by hand.
    """

    def __init__(self) -> None:
        """Make the folder."""
        self.path = Path(tempfile.mkdtemp(prefix="goexplore-"))
        weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path: Path, process_id: int) -> None:
    if os.getpid() == process_id:  # a forked process has a copy of the object, but not of the folder
        shutil.rmtree(path, ignore_errors=True)
