"""The command ``messages``: statistics of the messages in stored games, and of kept promises."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from agents.runtime.command_options import with_options
from agents.runtime.progress import Meter, metered
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import print_tables
from evaluation.checks import EvaluationError
from evaluation.cli.console import RESTARTS, errors_in_one_line, print_json
from evaluation.cli.options import Kept
from evaluation.play.store import DEFAULT_PATH
from evaluation.play.stored_games import conditions, latest, open_store, saved_games
from evaluation.tables.message_tables import ConditionMessages, talk_tables, talks

SHOWN_CONDITIONS = 20


@with_options
def messages(
    tables: TableOptions,
    chosen: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GAME]...",
            help="Saved games (files), or keys of stored games (see `games`).",
            show_default="all stored games",
        ),
    ] = None,
    store: Kept = DEFAULT_PATH,
    last: Annotated[int, typer.Option(min=0, help="Only this many most recent stored games; 0 for all.")] = 0,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Show only this many most recent conditions (games that differ only by seed); 0 for all.",
            show_default=f"{SHOWN_CONDITIONS}; with --json all",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Analyze messages: the public share, who wrote to whom, similarity, and kept promises."""
    with errors_in_one_line(RESTARTS):
        if chosen and (last or limit):
            raise EvaluationError(
                f"--{'last' if last else 'limit'}: only for all stored games: leave it out, or name no GAME"
            )
        tables.check()
        most = (0 if as_json else SHOWN_CONDITIONS) if limit is None else limit
        rows = _named(chosen, store) if chosen else _stored(store, last, most)
        tables.write([line for row in rows for line in row.rows()])
        if as_json:
            print_json([row.to_dict() for row in rows])
        elif rows:
            print_tables(*talk_tables(rows))
        else:
            print(f"{store} contains no games yet")


def _named(names: list[str], store: Path) -> list[ConditionMessages]:
    records = saved_games(names, store)
    with metered("reading messages", len(records), "games") as meter:
        return talks(_counted(records.items(), meter))


def _stored(path: Path, last: int, most: int) -> list[ConditionMessages]:
    """Analyses of the most recent games and conditions; omissions are reported on stderr."""
    with open_store(path) as store:
        listed = store.games()
        with metered("listing games", len(listed), "games") as meter:
            groups = conditions(listed[-last:])
            shown = latest(groups, most)
            games = [game for group in shown.values() for game in group]
            meter.stage("reading messages", len(games), "games")
            rows = talks(_counted(((game.key, store.record(game.key)) for game in games), meter))
    if len(shown) < len(groups):
        print(
            f"the last {len(shown)} of {len(groups)} conditions, with {len(games)} of {len(listed[-last:])} games; "
            "for all: --limit 0",
            file=sys.stderr,
        )
    return rows


def _counted(records: Iterable[tuple[str, Any]], meter: Meter) -> Iterator[tuple[str, Any]]:
    for each in records:
        yield each
        meter.advance(1)
