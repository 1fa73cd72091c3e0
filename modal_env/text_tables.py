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

WIDE = 124  # width of a table written to a file or a pipe, in characters
HEAD = 6  # minimum width of a name in a column head, in characters
BETWEEN = 3  # characters between the contents of two columns


def as_text(shown: Group) -> str:
    """A table without color codes."""
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
        """The column indices of each partial table."""
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
    """A table; on a terminal too narrow for the longest words of its columns, a list with one line per cell.

    Attributes:
        columns: names; a leading > aligns right, a leading = centers.
        rows: cells.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def heads(self) -> list[str]:
        """The column heads."""
        return [column[1:] if column[:1] in (">", "=") else column for column in self.columns]

    @property
    def widest_words(self) -> list[int]:
        """Characters of the longest word in each column."""
        columns = zip(self.heads, *self.rows, strict=True)
        return [max((cell_len(word) for cell in column for word in cell.split()), default=0) for column in columns]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if 1 + sum(BETWEEN + width for width in self.widest_words) <= options.max_width:
            yield self.as_table(options.max_width)
        else:
            yield from self._as_list()

    def as_table(self, width: int | None = None) -> Table:
        """As a table with borders.

        Args:
            width: of the terminal, enough for the longest word of each column; None: rich chooses the widths.
        """
        widest = [max(map(cell_len, column)) for column in zip(self.heads, *self.rows, strict=True)]
        widths = [None] * len(widest) if width is None else column_widths(self.widest_words, widest, width)
        table = Table(title=Text(self.title, style="table.title"), title_justify="left")
        for column, head, wide in zip(self.columns, self.heads, widths, strict=True):
            justify: JustifyMethod = {">": "right", "=": "center"}.get(column[:1], "left")  # type: ignore[assignment]
            table.add_column(Text(head), justify=justify, overflow="fold", width=wide)
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def _as_list(self) -> Iterator[Text]:
        yield Text(self.title, style="table.title")
        for row in self.rows:
            for head, cell in zip(self.heads, row, strict=True):
                yield Text(f"{head} {cell}".strip(), overflow="fold")
            yield Text("")


def column_widths(least: Sequence[int], most: Sequence[int], width: int) -> list[int]:
    """The widths of a table's columns: the minimum of each; spare width goes first to those that need least more.

    Args:
        least, most: minimum and maximum useful width of each column, in characters.
    """
    spare = width - 1 - sum(BETWEEN + needed for needed in least)
    widths = list(least)
    for column in sorted(range(len(least)), key=lambda column: most[column] - least[column]):
        added = max(0, min(spare, most[column] - least[column]))
        widths[column] += added
        spare -= added
    return widths


def new_table(title: str, *columns: str) -> Rows:
    """A table without rows; see `Rows` for its columns."""
    return Rows(title, columns)


def add_row(table: Rows, *cells: str) -> None:
    """Add a row, with one cell per column."""
    table.rows.append(cells)


def with_legend(table: Rows | Square, legend: str = "") -> Group:
    """A table with a legend below it."""
    return Group(table, Text(legend, style="table.caption")) if legend else Group(table)
