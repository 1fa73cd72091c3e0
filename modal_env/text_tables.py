"""Tables for the terminal and as plain text, fitted to the available width.

Formulas contain brackets, so all cells are `Text`, in which rich does not interpret markup.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderResult
from rich.table import Table
from rich.text import Text

WIDE = 124  # columns of a table that goes to a file or a pipe
HEAD = 6  # characters of a name in a column head, at least
BETWEEN = 3  # characters between the contents of two columns


def as_text(shown: Group) -> str:
    """A table without colour codes."""
    lines = io.StringIO()
    Console(file=lines, width=WIDE, no_color=True).print(shown)
    return "\n".join(line.rstrip() for line in lines.getvalue().splitlines())


@dataclass(frozen=True)
class Square:
    """A square table with a row and a column per agent; split into several tables if it is too wide."""

    title: str
    labels: Sequence[str]
    cells: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for columns in self._parts(options.max_width):
            table = new_table(self.title, "", *(f"={self.labels[column]}" for column in columns))
            for label, row in zip(self.labels, self.cells, strict=True):
                add_row(table, label, *(row[column] for column in columns))
            yield table.as_table()

    def _parts(self, width: int) -> list[list[int]]:
        """The numbers of the columns of each table."""
        parts: list[list[int]] = []
        taken = 0
        for column, label in enumerate(self.labels):
            needed = BETWEEN + max(min(cell_len(label), HEAD), *(cell_len(row[column]) for row in self.cells))
            if not parts or taken + needed > width:
                parts.append([])
                taken = BETWEEN + 1 + max(map(cell_len, self.labels))
            parts[-1].append(column)
            taken += needed
        return parts


@dataclass(frozen=True)
class Rows:
    """A table; if the columns do not fit, a list with one line per cell.

    Attributes:
        columns: names; a leading > aligns right, a leading = centres.
        rows: cells.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def heads(self) -> list[str]:
        """The column heads."""
        return [column[1:] if column[:1] in (">", "=") else column for column in self.columns]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = (max(map(cell_len, column)) for column in zip(self.heads, *self.rows, strict=True))
        if 1 + sum(BETWEEN + min(width, HEAD) for width in widths) <= options.max_width:
            yield self.as_table()
        else:
            yield from self._as_list()

    def as_table(self) -> Table:
        """As a table with borders, however narrow the cells become."""
        table = Table(title=Text(self.title, style="table.title"), title_justify="left")
        for column, head in zip(self.columns, self.heads, strict=True):
            justify: JustifyMethod = {">": "right", "=": "center"}.get(column[:1], "left")  # type: ignore[assignment]
            table.add_column(Text(head), justify=justify, overflow="fold")
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def _as_list(self) -> Iterator[Text]:
        yield Text(self.title, style="table.title")
        for row in self.rows:
            for head, cell in zip(self.heads, row, strict=True):
                yield Text(f"{head} {cell}".strip(), overflow="fold")
            yield Text("")


def new_table(title: str, *columns: str) -> Rows:
    """A table without rows; see `Rows` for its columns."""
    return Rows(title, columns)


def add_row(table: Rows, *cells: str) -> None:
    """Add a row, with one cell per column."""
    table.rows.append(cells)


def with_legend(table: Rows | Square, legend: str = "") -> Group:
    """A table with a legend below it."""
    return Group(table, Text(legend, style="table.caption")) if legend else Group(table)
