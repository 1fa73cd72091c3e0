"""Output of the commands: errors on one line, tables as wide as the terminal, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from agents import progress
from agents.lm.errors import AccessError, BudgetError
from agents.progress import plain_console, print_error
from evaluation.report.tables import WIDE

KEPT = "Finished games and all replies are kept"


@contextmanager
def errors_told(kept: str = f"{KEPT.lower()}; run the same command to resume") -> Iterator[None]:
    """As `agents.progress.errors_told`; if a budget is used up or a model cannot be called, say how to resume."""
    with progress.errors_told(kept):
        try:
            yield
        except BudgetError as error:
            print_error(f"{error}. {KEPT}: run the same command with a larger budget to resume")
            raise typer.Exit(3) from error
        except AccessError as error:
            print_error(f"{error}. {KEPT}: fix this and run the same command to resume")
            raise typer.Exit(2) from error


def table_console() -> Console:
    """A console as wide as the terminal; files and pipes get wide tables."""
    return plain_console(width=None if sys.stdout.isatty() else WIDE)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, allow_nan=False))
