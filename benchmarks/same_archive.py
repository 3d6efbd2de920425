"""Compare the newest archives of two runs: equal but for the snapshots, which are the engines' own?

python benchmarks/same_archive.py RUN OTHER_RUN
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as pq

from goexplore.runs import SearchDirectory


def main() -> int:
    folders = []
    for path in map(Path, sys.argv[1:3]):
        directory = SearchDirectory.open(path)
        checkpoint = directory.read_checkpoint()
        if checkpoint is None:
            print(f"expected a checkpoint in {path}, got none: let the run go on for a while")
            return 2
        folders.append(checkpoint.folder)
        frames, cells = checkpoint.status.game_frames, len(checkpoint.archive)
        print(f"{path}: {directory.engine()}, {frames:,} game frames, {cells:,} cells")
    archives = [pq.read_table(folder / "archive.parquet").drop_columns("snapshot") for folder in folders]
    segments = [(folder / "segments.parquet").read_bytes() for folder in folders]
    same = archives[0].equals(archives[1]) and segments[0] == segments[1]
    print("the same but for the snapshots" if same else "different")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
