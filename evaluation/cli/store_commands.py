"""The commands ``store export``, ``store merge`` and ``store repair``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from agents.runtime.files import shown
from agents.runtime.table_options import Json
from evaluation.cli.console import errors_in_one_line, print_json
from evaluation.cli.options import Kept, Keys, Store
from evaluation.play.store import DAMAGED, DEFAULT_PATH, Copied, DamagedStoreError, GameStore, StoreError
from evaluation.play.stored_games import SHOWN_KEY, open_store, whole_keys

SHOWN = 5  # damaged games that are named

app = typer.Typer(
    no_args_is_help=True, pretty_exceptions_enable=False, help="Copy games between stores, or repair a store."
)


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


@app.command("repair")
def repair(store: Kept = DEFAULT_PATH, as_json: Json = False) -> None:
    """Check every game, and move damaged games to the table `damaged` of the same file; they will be played again.

    If the file itself is damaged, its intact games are copied to NAME-saved.sqlite in the same folder, and the file
    is not changed.
    """
    with errors_in_one_line(), _no_advice_to_repair():
        try:
            with open_store(store) as kept:
                damaged, sound = kept.repair(), kept.count()
        except DamagedStoreError:
            saved = store.with_name(f"{store.stem}-saved.sqlite")
            with GameStore(saved) as target:
                copied = target.merge(store)
            is_saved = bool(copied.added or copied.present)
            what = "its intact games were copied" if is_saved else "no intact game was found, and nothing was written"
            print(f"{shown(store)}: the file is damaged; {what}", file=sys.stderr)
            if is_saved:
                print(f"to continue with them: --store {shown(saved)}", file=sys.stderr)
            _tell(copied, saved, as_json)
            return
        if as_json:
            print_json({"sound": sound, "damaged": damaged})
            return
        print(f"{store}: intact games: {sound}, damaged games moved to the table `damaged`: {len(damaged)}")
        for key, fault in damaged.items():
            print(f"{key[:SHOWN_KEY]}: {fault}", file=sys.stderr)


@contextmanager
def _no_advice_to_repair() -> Iterator[None]:
    """Replace the advice to run the command that is running."""
    try:
        yield
    except StoreError as error:
        hopeless = "It is not a store, or too damaged to read any game: restore it from a backup, or move it away"
        raise StoreError(str(error).replace(DAMAGED, hopeless)) from error


def _tell(copied: Copied, target: Path, as_json: bool) -> None:
    """Print how many games were copied; exit with status 1 if games were damaged or lost."""
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
    if copied.missing:
        lost = "the games on them are lost; rerun the commands that played them"
        print(f"{copied.missing} pages of the damaged file are missing: {lost}", file=sys.stderr)
    if copied.damaged or copied.missing:
        raise typer.Exit(1)
