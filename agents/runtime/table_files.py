"""Rows of a table as files and frames: CSV by the standard library; Parquet by pyarrow, frames by pandas (the extra
`tables`).
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from agents.runtime.files import irregular, reason, shown
from welfare_env.errors import WelfareEnvError
from welfare_env.extras import install_extra
from welfare_env.writing import replaced

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, str | int | float | bool]


class TableError(WelfareEnvError):
    """A table cannot be made or written; the message says why."""


def frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Rows as a pandas DataFrame.

    Raises:
        TableError: pandas is not installed.
    """
    _check_installed("to_frame()", "pandas")
    import pandas as pd

    return pd.DataFrame(list(rows))


def check_file(path: Path) -> None:
    """Check before the first game that a file can be written; creates its folder.

    Raises:
        TableError: the file cannot be written, or pyarrow, which writes Parquet, is not installed.
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


def check_parquet(path: Path, option: str = "--parquet") -> None:
    """As `check_file`, and that pyarrow is installed.

    Raises:
        TableError: pyarrow is not installed, or the file cannot be written.
    """
    _check_installed(option, "pyarrow")
    check_file(path)


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write rows as CSV in UTF-8 with a header; nan becomes an empty field. Replaces an existing file.

    Raises:
        TableError: the file cannot be written.
    """

    def write(part: Path) -> None:
        with part.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]) if rows else [])
            writer.writeheader()
            writer.writerows({name: value if value == value else "" for name, value in row.items()} for row in rows)

    _replace(path, write)


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """Write rows as Parquet. Replaces an existing file.

    Raises:
        TableError: pyarrow is not installed, or the file cannot be written.
    """
    _check_installed("--parquet", "pyarrow")
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})
    _replace(path, lambda part: parquet.write_table(table, part))


def _check_installed(what: str, package: str) -> None:
    if find_spec(package) is None:
        raise TableError(f"{what} needs {package}: pip install {package}, or {install_extra('tables')}")


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    try:
        with replaced(path) as draft:
            write(draft)
    except (OSError, ValueError) as error:
        raise _unwritten(path, error) from error


def _unwritten(path: Path, error: Exception) -> TableError:
    return TableError(f"{shown(path)}: the file cannot be written there: {reason(error)}")
