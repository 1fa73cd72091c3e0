"""Code shared by the commands: options, the choice of the game, printing, files."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console

from modal_env.cli.tables import agents_table
from modal_env.console import errors_printed
from modal_env.errors import GameError, ModalError
from modal_env.games.costs import COSTS, UNITS
from modal_env.games.payoffs import NAMED, PayoffTable, as_table, read_payoffs
from modal_env.logic.library import LIBRARY, SHORT
from modal_env.logic.syntax import Agent
from modal_env.text_tables import WIDE, TextTable

AGENTS = (
    "An agent is a name, a formula, or NAME=FORMULA; other formulas may then say X(NAME). Quote formulas: "
    "'[](X(me) & (X(DefectBot) -> []false))'. A name defined once can be used again: play 'Wary=[]X(PB)' Wary."
)
NAMES = f"Names: {', '.join(LIBRARY)}; for short {', '.join(SHORT)}."
NARROW = 30  # minimum width of a table in characters, even on a narrower terminal
INTERRUPTED = "interrupted: nothing was saved; the same command starts over"

Agents = Annotated[
    Optional[list[str]],  # noqa: UP045 (typer reads it)
    typer.Argument(help=AGENTS, show_default="the four of the post", metavar="AGENT"),
]
Epsilon = Annotated[str, typer.Option(metavar="NUMBER", help="Price of one unit of cost: 1/10 or 0.1.")]
Cost = Annotated[
    str,
    typer.Option(
        help=f"What modeling costs: {', '.join(COSTS)}; or prices, as depth=1,box=1/2 (units: {', '.join(UNITS)})."
    ),
]
GameName = Annotated[
    str, typer.Option("--game", metavar="NAME", help=f"The game that programs play: {NAMED}.", show_default=True)
]
PayoffFile = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        "--payoffs",
        metavar="FILE",
        help="A game of your own, in TOML: CC = 2, CD = 0, DC = 3, DD = 1, own move first; or CC = [2, 1] and so on, "
        "row player first.",
    ),
]
Formulas = Annotated[bool, typer.Option("--formulas", help="List the agents' formulas even if all are in the library.")]


def refuse(context: typer.Context, options: Sequence[str], reason: str) -> None:
    """Check that none of these options was given.

    Raises:
        GameError: an option was given; the message gives the reason.
    """
    for option in options:
        source = context.get_parameter_source(option)
        if source is not None and source.name == "COMMANDLINE":
            raise GameError(f"--{option} {reason}")


def chosen_game(context: typer.Context, name: str, path: Path | None) -> PayoffTable:
    """The game given by --game or --payoffs.

    Raises:
        GameError: both are given; an unknown game; not a file of payoffs.
    """
    if path is None:
        return as_table(name)
    refuse(context, ["game"], "names a game, and --payoffs gives another: leave one out")
    return read_payoffs(path)


def check_file(option: str, path: Path, ending: str) -> None:
    """Check the name of a file, before anything is computed.

    Raises:
        GameError: another ending, or a missing folder.
    """
    if path.is_dir():
        raise GameError(f"{option} {path}: it is a folder, not a file")
    if path.suffix.lower() != ending:
        raise GameError(f"{option} {path}: end the name in {ending}")
    if not path.parent.is_dir():
        raise GameError(f"{option} {path}: there is no folder {path.parent}")


def who(agents: Sequence[Agent], formulas: bool) -> list[TextTable]:
    """The table of the agents' formulas; empty if all are in the library and `formulas` is false."""
    known = all(LIBRARY.get(agent.name) == agent for agent in agents)
    return [] if known and not formulas else [agents_table(agents)]


def show(*tables: TextTable) -> None:
    """Print tables; in a file or pipe they have the width COLUMNS, or `WIDE` if it is not set."""
    fitted = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    Console(width=max(Console().width, NARROW) if fitted else WIDE).print(*tables, sep="\n")


def all_errors_printed() -> AbstractContextManager[None]:
    """Print errors of this package and of files in one line, and exit."""
    return errors_printed(INTERRUPTED, (ModalError, OSError), _text_of)


def _text_of(error: Exception) -> str:
    return f"{error.filename or 'output'}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
