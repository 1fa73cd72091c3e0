"""Tables on the terminal that fit its width and cut no word, number or policy, so that all of them can be copied.

A piece is text that is never broken: in columns of numbers (right-aligned) and of policies (overflow="fold") a line, in
others and in heads a word. If the pieces do not fit side by side, intervals go below their values; then the longest
pieces are replaced by marks, with a list below the table; a table that is still too wide is split by columns.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import fill

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from modal_env.console import plain_console
from modal_env.text_tables import BETWEEN, WIDE, column_widths

LONG = 12  # characters of the longest piece that is never replaced by a mark
MARK = "(10)"  # as wide as a mark


def print_tables(*tables: Table) -> None:
    """Print tables on stdout, fitted to the terminal or to COLUMNS; wide in files and pipes."""
    console = _console()
    for table in tables:
        parts, marks = fit(table, console.width)
        print_text(str(table.title or ""), "table.title")
        console.print(*parts, overflow="ignore", crop=False)
        print_text(str(table.caption or ""), "table.caption")
        for piece, mark in marks.items():
            print_line(f"{mark} {piece}")


def print_text(text: str, style: str = "") -> None:
    """Print a text on stdout in lines that end between words; nothing for ""."""
    console = _console()
    for line in text.splitlines():
        wrapped = fill(line, console.width, break_long_words=False, break_on_hyphens=False)
        console.print(Text(wrapped, style), overflow="ignore", crop=False)


def print_line(text: str) -> None:
    """Print a line on stdout without breaking it, so that it can be copied."""
    plain_console().print(text, soft_wrap=True)


def _console() -> Console:
    is_fitted = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return plain_console(width=None if is_fitted else WIDE)


def fit(table: Table, width: int) -> tuple[list[Table], dict[str, str]]:
    """Splits a table into parts that fit a width, without its title and caption.

    Returns:
        The parts; and the pieces to print below them: piece -> its mark, "(1)".
    """
    columns = [_Texts.of(column) for column in table.columns]
    if _width(columns) > width:
        columns = [column.stacked() for column in columns]
    long: dict[str, str] = {}
    while _width([column.marked(long) for column in columns]) > width and (left := _candidates(columns) - long.keys()):
        long[max(left, key=lambda piece: (cell_len(piece), piece))] = MARK
    inside = dict.fromkeys(bare for row in _rows(columns) for piece in row if (bare := _bare(piece)) in long)
    marks = {piece: f"({number})" for number, piece in enumerate(inside, 1)}
    columns = [column.marked(marks) for column in columns]
    return [_drawn(table, part, width) for part in _parts(columns, width)], marks


@dataclass(frozen=True)
class _Texts:
    """The texts of a column: of its head, its cells and its foot."""

    column: Column
    head: str
    cells: tuple[str, ...]

    @classmethod
    def of(cls, column: Column) -> _Texts:
        return cls(column, str(column.header), (*map(str, column.cells), str(column.footer)))

    @property
    def is_number(self) -> bool:
        return self.column.justify == "right"

    def pieces(self, cell: str) -> list[str]:
        """The pieces of a cell, which are never broken."""
        return cell.split("\n") if self.is_number or self.column.overflow == "fold" else cell.split()

    @property
    def least(self) -> int:
        """Characters of the widest piece."""
        pieces = [*self.head.split(), *(piece for cell in self.cells for piece in self.pieces(cell))]
        return max(map(cell_len, pieces), default=0)

    @property
    def most(self) -> int:
        """Characters of the widest line."""
        return max(cell_len(line) for text in (self.head, *self.cells) for line in text.split("\n"))

    def stacked(self) -> _Texts:
        """With intervals below their values."""
        return replace(self, cells=tuple(cell.replace(" [", "\n[") for cell in self.cells)) if self.is_number else self

    def marked(self, marks: Mapping[str, str]) -> _Texts:
        """With marks in place of pieces."""

        def changed(text: str, pieces: Sequence[str]) -> str:
            for piece in set(map(_bare, pieces)) & marks.keys():
                text = re.sub(rf"(?<!\S){re.escape(piece)}(?=,?(?:\s|$))", marks[piece], text)
            return text

        return replace(
            self,
            head=changed(self.head, self.head.split()),
            cells=tuple(changed(cell, self.pieces(cell)) for cell in self.cells),
        )


def _candidates(columns: Sequence[_Texts]) -> set[str]:
    """Pieces that a mark can replace: long ones that are not numbers."""
    cells = (
        piece for column in columns if not column.is_number for cell in column.cells for piece in column.pieces(cell)
    )
    heads = (piece for column in columns for piece in column.head.split())
    return {_bare(piece) for piece in (*heads, *cells) if cell_len(piece) > LONG}


def _bare(piece: str) -> str:
    """A piece without the comma of a list, so that it can be copied."""
    return piece.rstrip(",")


def _rows(columns: Sequence[_Texts]) -> Iterator[list[str]]:
    """The pieces of the heads, and of each row."""
    yield [piece for column in columns for piece in column.head.split()]
    for row in zip(*(column.cells for column in columns), strict=True):
        yield [piece for column, cell in zip(columns, row, strict=True) for piece in column.pieces(cell)]


def _width(columns: Sequence[_Texts]) -> int:
    """Characters of a table whose columns are as narrow as their pieces allow."""
    return 1 + sum(BETWEEN + column.least for column in columns)


def _parts(columns: Sequence[_Texts], width: int) -> list[list[_Texts]]:
    """The columns of each part; all have the first column."""
    first, *others = columns
    parts = [[first]]
    for column in others:
        if len(parts[-1]) > 1 and _width([*parts[-1], column]) > width:
            parts.append([first])
        parts[-1].append(column)
    return parts


def _drawn(table: Table, columns: Sequence[_Texts], width: int) -> Table:
    """A part of a table."""
    widths = column_widths([column.least for column in columns], [column.most for column in columns], width)
    drawn = Table(show_footer=table.show_footer)
    for column, wide in zip(columns, widths, strict=True):
        drawn.add_column(
            Text(column.head),
            Text(column.cells[-1]),
            justify=column.column.justify,
            overflow="fold",
            width=wide,
        )
    for row, source in zip(zip(*(column.cells[:-1] for column in columns), strict=True), table.rows, strict=True):
        drawn.add_row(*map(Text, row), end_section=source.end_section)
    return drawn
