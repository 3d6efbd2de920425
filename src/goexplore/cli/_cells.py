"""goexplore cells: list a run's cells by room, score, length or anything else in its table."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import tyro

from goexplore.archive import ARCHIVE_FILE, select
from goexplore.cli._arguments import parse
from goexplore.cli._progress import log
from goexplore.cli._text import printable
from goexplore.envs import NOWHERE
from goexplore.errors import require_at_least
from goexplore.files import open_parquet, open_to_read
from goexplore.runs import SearchDirectory


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
    """Sort the highest values first."""
    limit: int = 20
    """Show at most this many rows; 0 shows all."""
    csv: bool = False
    """Comma-separated values for other programs instead of a table."""


def run_cells(arguments: list[str]) -> int:
    """Run the verb."""
    chosen = parse(_Arguments, arguments, prog="goexplore cells")
    require_at_least("limit", chosen.limit, 0)
    checkpoint = SearchDirectory.open(chosen.run).last_checkpoint()
    for warning in checkpoint.warnings:
        log(f"warning: {warning}")
    file = checkpoint.folder / ARCHIVE_FILE
    hidden = {"snapshot", "segment", "offset"}
    with open_to_read(file) as opened, open_parquet(opened) as parquet:
        table = parquet.read([name for name in parquet.schema_arrow.names if name not in hidden])
    table = table.set_column(0, "cell", pa.array(f"0x{cell.hex()}" for cell in table["cell"].to_pylist()))
    table = table.add_column(0, "entry", pa.array(range(len(table))))
    found = select(table, chosen.where, sort=chosen.sort, descending=chosen.descending)
    shown = found.slice(0, chosen.limit or None)
    if chosen.csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(shown.column_names)
        writer.writerows(_rows(shown))
        return 0
    if all(room == NOWHERE.room for room in table["room"].to_pylist()):  # there are none
        shown = shown.drop_columns(["level", "room"])
    rows = _rows(shown)
    lines = [
        [printable(name) for name in shown.column_names],
        *([_text(value) for value in row] for row in rows),
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    print(f"{len(rows):,} of {len(found):,} cells that match, of {len(table):,}")
    return 0


def _rows(table: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _text(value: object) -> str:
    return f"{value:,.10g}" if isinstance(value, float) else printable(value)
