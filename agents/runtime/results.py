"""Results: as rows and frames, and printed as short tables.

`print(result)` and a result at the prompt show the tables of `tables_of`, cut to a screenful; `rows`, `to_frame` and
`to_dict` have everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from io import StringIO
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from agents.runtime.table_files import Row, frame
from agents.runtime.tables import fitted
from modal_env.console import PlainConsole

if TYPE_CHECKING:
    import pandas as pd

LONGEST = 2000  # characters of a printed result
WIDTH = 100
LONGEST_CELL, LONGEST_NOTE = 60, 300
ROWS = 10  # of each table


@singledispatch
def tables_of(result: object) -> Sequence[Table]:
    """The tables of a result; each kind of result registers its own function."""
    return [Table(title=type(result).__name__)]


class Printable:
    """Printed as short tables; its repr, as within lists, is one line."""

    def __str__(self) -> str:
        return as_text(tables_of(self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {_cut(str(tables_of(self)[0].title or ''), LONGEST_NOTE)}>"


class Result(Printable):
    """A result with rows; its repr is tables, too."""

    def __repr__(self) -> str:
        return str(self)

    def rows(self) -> list[Row]:
        """As a table: docs/results.md describes its columns."""
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame.

        Raises:
            TableError: pandas is not installed.
        """
        return frame(self.rows())


def as_text(tables: Sequence[Table]) -> str:
    """Tables as text of at most `LONGEST` characters: fewer rows of long ones, and long cells cut."""
    text = ""
    for most in (ROWS, ROWS // 2, 2, 1):
        text = "\n".join(_as_text(_shortened(table, most, LONGEST_CELL * most // ROWS + 20)) for table in tables)
        if len(text) <= LONGEST:
            break
    return _cut(text, LONGEST)


def _as_text(table: Table) -> str:
    file = StringIO()
    console = PlainConsole(file=file, width=WIDTH, no_color=True)
    title, caption = str(table.title or ""), str(table.caption or "")
    for part in (Text(title), fitted(table), Text(caption)):
        if part:
            console.print(part, overflow="fold")
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def _shortened(table: Table, most: int, longest: int) -> Table:
    """A table with its first rows only, and with its long texts cut."""
    more = [f"... and {table.row_count - most} more rows"] if table.row_count > most else []
    caption = "\n".join([_cut(str(table.caption or ""), LONGEST_NOTE), *more]).strip()
    short = Table(title=_cut(str(table.title or ""), LONGEST_NOTE), caption=caption, show_footer=table.show_footer)
    for column in table.columns:
        head, foot = (Text(_cut(str(text), longest)) for text in (column.header, column.footer))
        short.add_column(head, foot, justify=column.justify, overflow=column.overflow)
    rows = zip(*(list(column.cells)[:most] for column in table.columns), strict=True)
    for row, cells in zip(table.rows, rows, strict=False):
        short.add_row(*(Text(_cut(str(cell), longest)) for cell in cells), end_section=row.end_section)
    return short


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
