"""Tables for the terminal: drawn by rich, without markup, as formulas contain brackets."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.table import Table
from rich.text import Text

WIDE = 124  # width of a table written to a file or a pipe, in characters
BETWEEN = 3  # characters between the contents of two columns
JUSTIFIED: dict[str, JustifyMethod] = {">": "right", "=": "center"}


@dataclass(frozen=True)
class TextTable:
    """A table with a legend below it.

    Attributes:
        title, legend: texts.
        columns: names; a leading > aligns right, a leading = centers.
        rows: cells.
        is_square: a column per agent, after their names; split into several tables if it is too wide.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]] = ()
    legend: str = ""
    is_square: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for places in self._parts(options.max_width):
            yield Text(self.title, style="table.title")
            table = Table()
            for name in (self.columns[place] for place in places):
                head = name[1:] if name[:1] in JUSTIFIED else name
                table.add_column(Text(head), justify=JUSTIFIED.get(name[:1], "left"), overflow="fold")
            for row in self.rows:
                table.add_row(*(Text(row[place]) for place in places))
            yield table
        if self.legend:
            yield Text(self.legend, style="table.caption")

    def _parts(self, width: int) -> list[list[int]]:
        """The columns of each table."""
        if not self.is_square:
            return [list(range(len(self.columns)))]
        widths = [max(map(cell_len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        parts: list[list[int]] = []
        taken = 0
        for place in range(1, len(widths)):
            if not parts or taken + BETWEEN + widths[place] > width:
                parts.append([0])
                taken = 1 + BETWEEN + widths[0]
            parts[-1].append(place)
            taken += BETWEEN + widths[place]
        return parts


def as_text(table: TextTable) -> str:
    """A table without color codes."""
    lines = io.StringIO()
    Console(file=lines, width=WIDE, no_color=True).print(table)
    return "\n".join(line.rstrip() for line in lines.getvalue().splitlines())
