"""The options --csv, --parquet and --json, for commands with a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from agents.runtime.table_files import Row, TableError, check_file, check_parquet, write_csv, write_parquet

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
_CSV = typer.Option(help='Write a CSV table to this file (its columns: page "Columns of tables").', show_default="none")
_PARQUET = typer.Option(help="Write it as Parquet to this file (needs the extra tables).")


@dataclass(frozen=True)
class TableOptions:
    """Files for a result as a table; docs/results.md describes the columns."""

    csv: Annotated[Path | None, _CSV] = None
    parquet: Annotated[Path | None, _PARQUET] = None

    def check(self) -> None:
        """Check before any work that the files can be written.

        Raises:
            TableError: a file cannot be written, both are the same file, or pyarrow is missing.
        """
        if self.csv is not None and self.csv == self.parquet:
            raise TableError(f"{self.csv}: give --csv and --parquet different files")
        if self.csv is not None:
            check_file(self.csv)
        if self.parquet is not None:
            check_parquet(self.parquet)

    def write(self, rows: Sequence[Row]) -> None:
        """Write the requested files.

        Raises:
            TableError: a file cannot be written.
        """
        if self.csv is not None:
            write_csv(rows, self.csv)
        if self.parquet is not None:
            write_parquet(rows, self.parquet)
