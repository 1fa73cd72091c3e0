"""Tables on the terminal: drawn by rich, which breaks long policies; words and numbers stay whole, to be copied."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from textwrap import fill

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from modal_env.console import WIDE, plain_console

LEAST = 12  # characters of a column of policies


def new_table(title: str, caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table of plain texts (no markup).

    Args:
        columns: heads; ">gain" for numbers (aligned right), "|policy" for texts that may break within a word.
    """
    table = Table(
        title=Text(title, style="table.title"),
        caption=Text(caption, style="table.caption") if caption else None,
        title_justify="left",
        caption_justify="left",
    )
    for head in columns:
        is_number, is_folded = head.startswith(">"), head.startswith("|")
        table.add_column(
            Text(head[is_number or is_folded :]),
            justify="right" if is_number else "left",
            overflow="fold" if is_folded else "ellipsis",
        )
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def print_tables(*tables: Table) -> None:
    """Print tables on stdout, fitted to the terminal or to COLUMNS; wide in files and pipes."""
    console = _console()
    for table in tables:
        title, caption = str(table.title or ""), str(table.caption or "")
        print_text(title, "table.title")
        console.print(fitted(table), overflow="ignore", crop=False)
        print_text(caption, "table.caption")


def print_text(text: str, style: str = "") -> None:
    """Print a text on stdout in lines that end between words; nothing for ""."""
    console = _console()
    for line in text.splitlines():
        wrapped = fill(line, console.width, break_long_words=False, break_on_hyphens=False)
        console.print(Text(wrapped, style), overflow="ignore", crop=False)


def print_line(text: str) -> None:
    """Print a line on stdout without breaking it, so that it can be copied."""
    plain_console().print(text, soft_wrap=True)


def fitted(table: Table) -> Table:
    """The table without title and caption; columns with overflow="fold", those of policies, may break words."""
    table.title = table.caption = None
    for column in table.columns:
        texts = (column.header, *column.cells, column.footer)
        longest = max((cell_len(word) for text in texts for word in str(text).split()), default=0)
        column.min_width = min(longest, LEAST) if column.overflow == "fold" else longest
        column.overflow = "fold"
    return table


def _console() -> Console:
    is_fitted = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return plain_console(width=None if is_fitted else WIDE)
