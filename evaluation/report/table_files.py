"""Rows of a table as files: CSV by the standard library, Parquet by pyarrow (the extra `tables`)."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from agents.files import irregular, reason, shown
from evaluation.measures.rows import Row, TableError, missing
from welfare_env.writing import replaced


def check_file(path: Path) -> None:
    """Check before the first game that a file can be written there; creates its folder.

    Raises:
        TableError: it cannot.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        wrong = irregular(path)
        if not wrong and not os.access(path if path.exists() else path.parent, os.W_OK):
            wrong = "may not be written to"
    except (OSError, ValueError) as error:
        raise _unwritten(path, error) from error
    if wrong:
        raise TableError(f"{shown(path)}: it {wrong}: choose another path")


def check_parquet(path: Path) -> None:
    """As `check_file`, and that pyarrow is installed.

    Raises:
        TableError: it is not, or the file cannot be written.
    """
    if find_spec("pyarrow") is None:
        raise TableError(missing("--parquet", "pyarrow"))
    check_file(path)


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write rows as CSV in UTF-8 with a header; nan becomes an empty field. Replaces an existing file.

    Raises:
        TableError: the file cannot be written.
    """

    def write(part: Path) -> None:
        with part.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows({name: "" if _is_nan(value) else value for name, value in row.items()} for row in rows)

    _replace(path, write)


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """Write rows as Parquet. Replaces an existing file.

    Raises:
        TableError: pyarrow is not installed, or the file cannot be written.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise TableError(missing("--parquet", "pyarrow")) from error
    table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
    _replace(path, lambda part: parquet.write_table(table, part))


def write_page(page: str, path: Path) -> None:
    """Write an HTML page. Replaces an existing file.

    Raises:
        TableError: the file cannot be written.
    """
    _replace(path, lambda part: part.write_text(page, encoding="utf-8", errors="replace"))


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    try:
        with replaced(path) as draft:
            write(draft)
    except (OSError, ValueError) as error:
        raise _unwritten(path, error) from error


def _unwritten(path: Path, error: Exception) -> TableError:
    return TableError(f"{shown(path)}: the file cannot be written there: {reason(error)}")


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)
