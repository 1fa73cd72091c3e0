"""Output of the commands: errors on one line, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from agents.lm.errors import AccessError, BudgetError, ModelError
from agents.runtime import progress
from modal_env.console import print_error

SAVED = "Finished games and all replies are saved"
KEPT = f"{SAVED.lower()}; run the same command to resume"
RESTARTS = "run the same command to start over"  # for commands that play no games


@contextmanager
def errors_in_one_line(kept: str = KEPT) -> Iterator[None]:
    """Like `agents.runtime.progress.errors_in_one_line`; also tells how to resume after an error of language models."""
    with progress.errors_in_one_line(kept):
        try:
            yield
        except BudgetError as error:
            print_error(f"{error}. {SAVED}: run the same command with a larger budget to resume")
            raise typer.Exit(3) from error
        except ModelError as error:
            print_error(f"{error}. {SAVED}: run the same command later to resume")
            raise typer.Exit(2) from error
        except AccessError as error:
            print_error(f"{error}. {SAVED}: fix this and run the same command to resume")
            raise typer.Exit(2) from error


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, allow_nan=False))
