"""The commands ``store export`` and ``store merge``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from agents.runtime.table_options import Json
from evaluation.cli.console import errors_in_one_line, print_json
from evaluation.cli.options import Kept, Keys, Store
from evaluation.play.store import DEFAULT_PATH, Copied, GameStore
from evaluation.play.stored_games import SHOWN_KEY, open_store, whole_keys

SHOWN = 5  # damaged games that are named

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, help="Copy games between stores.")


@app.command("export")
def export(
    file: Annotated[Path, typer.Argument(help="A new file, or an existing store to add the games to.")],
    keys: Keys = None,
    store: Kept = DEFAULT_PATH,
    as_json: Json = False,
) -> None:
    """Copy games of the store to a file for `store merge`."""
    with errors_in_one_line():
        with open_store(store) as kept:
            copied = kept.export(file, whole_keys(kept.keys(), keys, store) if keys else None)
        _tell(copied, file, as_json)


@app.command("merge")
def merge(
    file: Annotated[Path, typer.Argument(help="A store, such as one written by `store export`.")],
    store: Store = DEFAULT_PATH,
    as_json: Json = False,
) -> None:
    """Copy the games of a file to the store. Existing games are not replaced; damaged games are skipped."""
    with errors_in_one_line():
        with GameStore(store) as kept:
            copied = kept.merge(file)
        _tell(copied, store, as_json)


def _tell(copied: Copied, target: Path, as_json: bool) -> None:
    """Print how many games were copied; exit with status 1 if games were damaged."""
    if as_json:
        print_json(asdict(copied))
    else:
        print(f"{target}: games added: {len(copied.added)}, already there: {len(copied.present)}")
    for key in copied.differing:
        print(f"not copied: {key[:SHOWN_KEY]}: the store has a different record of this game", file=sys.stderr)
    for error in list(copied.damaged.values())[:SHOWN]:
        print(f"skipped: {error}", file=sys.stderr)
    if len(copied.damaged) > SHOWN:
        print(f"skipped: {len(copied.damaged) - SHOWN:,} more; --json lists all", file=sys.stderr)
    if copied.damaged:
        raise typer.Exit(1)
