"""The options that commands share, and how they print."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from modal_env.console import WIDE, errors_printed
from modal_env.errors import GameError, ModalError
from modal_env.games.costs import COSTS, UNITS
from modal_env.games.payoffs import NAMED
from modal_env.logic.library import LIBRARY, SHORT

AGENTS = (
    "An agent is a name, a formula, or NAME=FORMULA; other formulas may then say X(NAME). Quote formulas: "
    "'[](X(me) & (X(DefectBot) -> []false))'. A name defined once can be used again: play 'Wary=[]X(PB)' Wary."
)
NAMES = f"Names: {', '.join(LIBRARY)}; for short {', '.join(SHORT)}."
NARROW = 30  # minimum width in characters, even on a narrower terminal
INTERRUPTED = "interrupted: nothing was saved; the same command starts over"

Agents = Annotated[
    list[str] | None,
    typer.Argument(help=AGENTS, show_default="the four of the post", metavar="AGENT"),
]
Epsilon = Annotated[str, typer.Option(metavar="NUMBER", help="Price of one unit of cost: 1/10 or 0.1.")]
Cost = Annotated[
    str,
    typer.Option(
        help=f"What modeling costs: {', '.join(COSTS)}; or prices, as depth=1,box=1/2 (units: {', '.join(UNITS)})."
    ),
]
Game = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"The game that programs play: {NAMED}; or payoffs, own move first, as CC=2,CD=0,DC=3,DD=1; or "
        "of both players, as CC=2:1,CD=0:0,DC=0:0,DD=1:2.",
    ),
]


def refuse(context: typer.Context, options: Sequence[str], reason: str) -> None:
    """Check that none of these options was given.

    Raises:
        GameError: an option was given; the message gives the reason.
    """
    for option in options:
        source = context.get_parameter_source(option)
        if source is not None and source.name == "COMMANDLINE":
            raise GameError(f"--{option} {reason}")


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table of texts, without markup; a leading > in a column's name aligns right."""
    drawn = Table(title=Text(title), title_justify="left")
    for name in columns:
        drawn.add_column(Text(name.lstrip(">")), justify="right" if name[:1] == ">" else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text, row))
    return drawn


def show(*parts: Table | str) -> None:
    """Print tables and lines; in a file or pipe they have the width COLUMNS, or `WIDE` if it is not set."""
    fitted = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    console = Console(width=max(Console().width, NARROW) if fitted else WIDE)
    for part in parts:
        console.print(Text(part) if isinstance(part, str) else part, soft_wrap=isinstance(part, str))


def all_errors_printed() -> AbstractContextManager[None]:
    """Print errors of this package and of files in one line, and exit."""
    return errors_printed(INTERRUPTED, (ModalError, OSError), _text_of)


def _text_of(error: Exception) -> str:
    return f"{error.filename or 'output'}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
