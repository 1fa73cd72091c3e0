"""What commands print: errors as one line, tables as wide as the terminal, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from agents.lm.errors import AccessError, BudgetError
from agents.progress import plain_console
from evaluation.report.tables import WIDE
from welfare_env import WelfareEnvError

KEPT = "Finished games and all replies are kept"


@contextmanager
def errors_told() -> Iterator[None]:
    """Our own errors as one line, an interruption as what to do next, and a line where something is compiled."""
    from agents.compiling import compiling_told  # which loads numba

    try:
        with compiling_told():
            yield
    except BudgetError as error:
        _tell(f"{error}. {KEPT}: the same command with a larger budget goes on")
        raise typer.Exit(3) from error
    except AccessError as error:
        _tell(f"{error}. {KEPT}: after mending it, the same command goes on from them")
        raise typer.Exit(2) from error
    except WelfareEnvError as error:
        _tell(str(error))
        raise typer.Exit(2) from error
    except KeyboardInterrupt as interruption:
        print(
            "interrupted: finished games and all replies are kept; the same command goes on from them", file=sys.stderr
        )
        raise typer.Exit(130) from interruption


def _tell(error: str) -> None:
    plain_console(stderr=True).print(f"error: {error}", style="red", soft_wrap=True)


def table_console() -> Console:
    """The terminal; a file or a pipe gets wide tables."""
    return plain_console(width=None if sys.stdout.isatty() else WIDE)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, allow_nan=False))
