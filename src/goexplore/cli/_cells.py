"""goexplore cells: list a run's cells by room, score, length or anything else in its table."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import tyro
from rich.console import Console
from rich.table import Table

from goexplore.archive import ARCHIVE_FILE
from goexplore.errors import ConfigError
from goexplore.query import select
from goexplore.runs import RunDirectory


@dataclass(frozen=True, kw_only=True)
class _Arguments:
    """List cells of a run. Columns: `entry`, their number, and those of archive.parquet (docs/format.md)."""

    run: tyro.conf.Positional[Path]
    """The run directory."""
    where: str | None = None
    """Condition, such as "room == 5 and score > 100"."""
    sort: str | None = None
    """Column to sort by."""
    descending: bool = False
    """The highest first."""
    limit: int = 20
    """Rows at most; 0 means all."""
    csv: bool = False
    """Comma-separated values for other programs instead of a table."""


def run_cells(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = tyro.cli(_Arguments, prog="goexplore cells", args=arguments)
    if chosen.limit < 0:
        raise ConfigError(f"expected --limit to be 0 or more, got {chosen.limit}: change it")
    checkpoint = RunDirectory.open(chosen.run).last_checkpoint()
    table = pq.read_table(checkpoint.folder / ARCHIVE_FILE)
    kept = [name for name in table.column_names if name not in ("snapshot", "segment", "offset")]
    table = table.select(kept)
    table = table.set_column(0, "cell", pa.array(cell.hex() for cell in table["cell"].to_pylist()))
    table = table.add_column(0, "entry", pa.array(range(len(table))))
    found = select(table, chosen.where, sort=chosen.sort, descending=chosen.descending)
    shown = found.slice(0, chosen.limit or None)
    rows = list(zip(*(column.to_pylist() for column in shown.columns), strict=True))
    if chosen.csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(shown.column_names)
        writer.writerows(rows)
        return 0
    drawn = Table(*shown.column_names, box=None, header_style="bold")
    for row in rows:
        drawn.add_row(*(f"{value:,.10g}" if isinstance(value, float) else str(value) for value in row))
    Console(width=None if sys.stdout.isatty() else 240).print(drawn)
    print(f"{len(rows):,} of {len(found):,} cells that match, of {len(table):,}")
    return 0
