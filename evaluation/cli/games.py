"""The commands about games that were played: games, messages, replay, transcript, import and store."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from agents.runtime.command_options import with_options
from agents.runtime.files import reason, shown
from agents.runtime.progress import Meter, metered
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import print_tables
from evaluation.checks import EvaluationError
from evaluation.cli.console import RESTARTS, errors_in_one_line, print_json
from evaluation.cli.options import Keys, Store
from evaluation.play.store import DEFAULT_PATH, Copied, GameStore
from evaluation.play.stored_games import (
    SHOWN_KEY,
    choose,
    conditions,
    game_facts,
    latest,
    numbered,
    open_store,
    save,
    saved_games,
    whole_keys,
)
from evaluation.report.data_set import export_games
from evaluation.report.replays import write_replay
from evaluation.report.transcripts import as_lines, as_text, transcript_of
from evaluation.tables.game_tables import stored_table
from evaluation.tables.message_tables import ConditionMessages, talk_tables, talks
from modal_env.console import plain
from welfare_env import import_game
from welfare_env.game.record import save_record
from welfare_env.imports.foreign import ImportedGame
from welfare_env.writing import replaced

SHOWN_CONDITIONS = 20  # rows of the table of stored games
PAGE = Path("game.html")

Kept = Annotated[Path, typer.Option("--store", help="The store of finished games.")]
SavedGame = Annotated[str, typer.Argument(help="A saved game (a file), or the key of a stored game (see `games`).")]

store_app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, help="Copy games between stores.")


def games(
    keys: Keys = None,
    store: Kept = DEFAULT_PATH,
    out: Annotated[
        Path | None,
        typer.Option(help="Save the games to this folder, as files for `welfare_env.Game.load`.", show_default="none"),
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Also save the prompts and raw replies of language models.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(help="Write the games to this new folder as Parquet, with a data card (needs the extra tables)."),
    ] = None,
    last: Annotated[
        int, typer.Option(min=0, help="Show only this many conditions, most recent last; 0 for all.")
    ] = SHOWN_CONDITIONS,
    as_json: Json = False,
) -> None:
    """List the games of the store: players, rules, seeds, dates and keys."""
    with errors_in_one_line(RESTARTS), open_store(store) as kept:
        stored = kept.games()
        chosen = choose(stored, keys or [], store)
        groups, numbers = conditions(chosen), numbered(stored)
        if out is not None:
            save(kept, chosen, out, private)
            print(f"games saved to {out}: {len(chosen):,}", file=sys.stderr)
        if export is not None:
            export_games(kept, chosen, export)
            print(f"games exported to {export}: {len(chosen):,}", file=sys.stderr)
        if as_json:
            print_json([game_facts(game, numbers) for game in chosen])
        elif groups:
            shown = groups if keys else latest(groups, last)
            print_tables(stored_table(shown, numbers))
            if len(shown) < len(groups):
                print(
                    f"the last {len(shown)} of {len(groups)} conditions, with "
                    f"{sum(map(len, shown.values()))} of {len(chosen)} games; for all: --last 0, or --json"
                )
        else:
            print(f"{store} contains no games yet")


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
    as_json: Json = False,
) -> None:
    """Analyze messages: the public share, who wrote to whom, and kept promises."""
    with errors_in_one_line(RESTARTS):
        if chosen and last:
            raise EvaluationError("--last: only for all stored games: leave it out, or name no GAME")
        tables.check()
        rows = _named(chosen, store) if chosen else _stored(store, last)
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


def _stored(path: Path, last: int) -> list[ConditionMessages]:
    """The messages of the most recent games."""
    with open_store(path) as store:
        listed = store.games()[-last:]
        with metered("reading messages", len(listed), "games") as meter:
            return talks(_counted(((game.key, store.record(game.key)) for game in listed), meter))


def _counted(records: Iterable[tuple[str, Any]], meter: Meter) -> Iterator[tuple[str, Any]]:
    for each in records:
        yield each
        meter.advance(1)


def replay(
    game: SavedGame,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML page.")] = PAGE,
    store: Kept = DEFAULT_PATH,
    map_name: Annotated[
        Path | None,
        typer.Option("--map", help="The .map file, if the game was played on one.", show_default="the game's"),
    ] = None,
    allow_edited: Annotated[
        bool, typer.Option("--allow-edited", help="Replay the game even if its record was edited.")
    ] = False,
) -> None:
    """Write a game as one HTML file for any browser: map, orders, messages, promises and charts."""
    with errors_in_one_line(RESTARTS):
        (record,) = saved_games([game], store).values()
        chosen_map = None if map_name is None else str(map_name)
        write_replay(record, out, chosen_map, allow_edited)
    print(out)


def transcript(
    game: SavedGame,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The file, readable only by you: text, or JSON lines in FILE.jsonl.",
            show_default="standard output",
        ),
    ] = None,
    player: Annotated[
        list[str] | None,
        typer.Option(help="Only this player's prompts; repeat for several.", show_default="all"),
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Include private reasoning, notes and raw replies.")
    ] = False,
    store: Kept = DEFAULT_PATH,
) -> None:
    """Prompts, replies and costs of the language models in a game, as text or JSON lines."""
    with errors_in_one_line(RESTARTS):
        ((name, record),) = saved_games([game], store).items()
        found = transcript_of(record, private, [each.upper() for each in player or ()])
        lines = as_lines(found, name) if out is not None and out.suffix.lower() == ".jsonl" else as_text(found)
        written = "".join(f"{line}\n" for line in lines)
        if out is None:
            sys.stdout.write(plain(written))
        else:
            _write(out, written)
            print(out)


def _write(out: Path, text: str) -> None:
    """Write a file that only its owner may read, like the store.

    Raises:
        EvaluationError: the file cannot be written.
    """
    try:
        with replaced(out) as draft:
            draft.touch(mode=0o600)
            draft.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise EvaluationError(f"{shown(out)}: cannot be written: {reason(error)}") from error


def import_command(
    file: Annotated[
        Path,
        typer.Argument(
            help="A game of the diplomacy package, dipcc, AI_Diplomacy (lmvsgame.json) or webDiplomacy (history.json)."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The saved game.", show_default="FILE-imported.json, in this folder"),
    ] = None,
    number: Annotated[
        int | None, typer.Option("--game", min=1, help="Number of the game, for a file with one game per line.")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="PHASE", help="Stop in this phase, such as F1903M.", show_default="the end of the game"),
    ] = None,
    messages: Annotated[
        Path | None,
        typer.Option(help="For webDiplomacy: messages.json, the public messages.", show_default="none"),
    ] = None,
) -> None:
    """Convert a game of another program to a saved game, for `replay` and for Python.

    The orders are replayed under the standard rules; it is an error if the positions differ from the file's.
    """
    with errors_in_one_line(RESTARTS):
        target = out or Path(f"{file.stem}-imported.json")
        if target.exists() and file.exists() and target.samefile(file):
            raise EvaluationError(f"--out {shown(target)} is the input file: give another name")
        found = import_game(file, number=number, until=until, messages=messages)
        _check_same_game(target, found)
        save_record(found.record(), target)
        phases = [record.phase for record in found.game.history]
        played = f"{phases[0]} to {phases[-1]}" if phases else "no phase played"
        counted = f"{len(phases)} phase{'s' * (len(phases) != 1)}"
        print(f"{found.program}: {found.game.board.name} map, standard rules, {played}, {counted}")
        for power, player in found.players.items():
            print(plain(f"{power}: {player}"))
        for note in (*found.notes, *([f"outcome according to the file: {found.outcome}"] if found.outcome else [])):
            print(plain(f"note: {note}"))
        print(target)


def _check_same_game(target: Path, found: ImportedGame) -> None:
    """Check that an existing file is an earlier import of the same game, so that it may be replaced.

    Raises:
        EvaluationError: the file contains something else.
    """
    if not target.exists():
        return
    try:
        earlier = json.loads(target.read_text(encoding="utf-8"))["welfare_env"]["imported"]
        is_same = (earlier["program"], earlier["id"]) == (found.program, found.id)
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        is_same = False
    if not is_same:
        raise EvaluationError(f"{shown(target)} exists and is not this game: give another name with --out")


@store_app.command("export")
def export(
    file: Annotated[Path, typer.Argument(help="A new file, or an existing store to add the games to.")],
    keys: Keys = None,
    store: Kept = DEFAULT_PATH,
    as_json: Json = False,
) -> None:
    """Copy games of the store to a file for `store merge`."""
    with errors_in_one_line():
        with open_store(store) as kept:
            chosen = whole_keys(kept.keys(), keys, store) if keys else None
        with GameStore(file) as target:
            copied = target.merge(store, chosen)
        _tell(copied, file, as_json)


@store_app.command("merge")
def merge(
    file: Annotated[Path, typer.Argument(help="A store, such as one written by `store export`.")],
    store: Store = DEFAULT_PATH,
    as_json: Json = False,
) -> None:
    """Copy the games of a file to the store, all or none. Existing games are not replaced."""
    with errors_in_one_line():
        with GameStore(store) as kept:
            copied = kept.merge(file)
        _tell(copied, store, as_json)


def _tell(copied: Copied, target: Path, as_json: bool) -> None:
    """Print how many games were copied."""
    if as_json:
        print_json(asdict(copied))
    else:
        print(f"{target}: games added: {len(copied.added)}, already there: {len(copied.present)}")
    for key in copied.differing:
        print(f"not copied: {key[:SHOWN_KEY]}: the store has a different record of this game", file=sys.stderr)
