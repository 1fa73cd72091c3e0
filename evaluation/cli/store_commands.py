"""The commands ``store export``, ``store merge`` and ``store repair``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from agents.runtime.files import shown
from agents.runtime.table_options import Json
from evaluation.cli.console import errors_in_one_line, print_json
from evaluation.cli.options import Kept, Keys, Store
from evaluation.play.store import DEFAULT_PATH, Copied, DamagedStoreError, GameStore
from evaluation.play.stored_games import SHOWN_KEY, open_store, whole_keys

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
    """Copy games of the store to a file, which `store merge` reads."""
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
    """Copy the games of a file to the store. Existing games are kept, damaged ones skipped."""
    with errors_in_one_line():
        with GameStore(store) as kept:
            copied = kept.merge(file)
        _tell(copied, store, as_json)


@app.command("repair")
def repair(store: Kept = DEFAULT_PATH, as_json: Json = False) -> None:
    """Check every game, and move damaged ones to the table `damaged` of the same file; they will be played again.

    Of a truncated or otherwise damaged file, all games that are whole are copied to NAME-saved.sqlite beside it; the
    file itself stays as it is.
    """
    with errors_in_one_line():
        try:
            with open_store(store) as kept:
                damaged, sound = kept.repair(), kept.count()
        except DamagedStoreError:
            saved = store.with_name(f"{store.stem}-saved.sqlite")
            with GameStore(saved) as target:
                copied = target.merge(store)
            print(f"{shown(store)}: the file is damaged: games that are whole are copied from it", file=sys.stderr)
            if saved.exists():
                print(f"to go on with them: --store {shown(saved)}", file=sys.stderr)
            _tell(copied, saved, as_json)
            return
        if as_json:
            print_json({"sound": sound, "damaged": damaged})
            return
        print(f"{store}: sound games: {sound}, damaged ones moved to the table `damaged`: {len(damaged)}")
        for key, fault in damaged.items():
            print(f"{key[:SHOWN_KEY]}: {fault}", file=sys.stderr)


def _tell(copied: Copied, target: Path, as_json: bool) -> None:
    """Print what was copied; fail if games were damaged."""
    if as_json:
        print_json(asdict(copied))
    else:
        print(f"{target}: games added: {len(copied.added)}, already there: {len(copied.present)}")
    for key in copied.differing:
        print(f"the store has a different record of {key[:SHOWN_KEY]}; it is kept", file=sys.stderr)
    for error in copied.damaged.values():
        print(f"skipped: {error}", file=sys.stderr)
    if copied.missing:
        lost = "the games on them are lost; the same commands play them again"
        print(f"{copied.missing} pages of the damaged file are missing: {lost}", file=sys.stderr)
    if copied.damaged or copied.missing:
        raise typer.Exit(1)
