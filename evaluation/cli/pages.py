"""The commands `replay`, `transcript` and `import`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from agents.runtime.files import reason, shown
from evaluation.checks import EvaluationError
from evaluation.cli.console import RESTARTS, errors_in_one_line
from evaluation.cli.options import Kept, SavedGame
from evaluation.play.store import DEFAULT_PATH
from evaluation.play.stored_games import saved_games
from evaluation.report.replays import write_replay
from evaluation.report.transcripts import as_lines, as_text, transcript_of
from welfare_env import import_game
from welfare_env.errors import did_you_mean
from welfare_env.game.record import save_record
from welfare_env.imports.foreign import ImportedGame
from welfare_env.writing import replaced


def replay(
    game: SavedGame,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file.")] = Path("game.html"),
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
        write_replay(record, out, None if map_name is None else str(map_name), allow_edited)
    print(out)


FORMATS = ("text", "jsonl")


def transcript(
    game: SavedGame,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file; readable only by you.", show_default="standard output"),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="|".join(FORMATS), show_default="by the file's extension, else text"),
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
    """Prompts, replies and costs of the language models in a game: as text or JSON lines."""
    with errors_in_one_line(RESTARTS):
        chosen = form or ("jsonl" if out and out.suffix.lower() == ".jsonl" else "text")
        if chosen not in FORMATS:
            raise EvaluationError(
                f"--format {chosen!r:.40}{did_you_mean(chosen, FORMATS)}: choose one of {', '.join(FORMATS)}"
            )
        ((name, record),) = saved_games([game], store).items()
        written = _written(record, name, chosen, private, [each.upper() for each in player or ()])
        if out is None:
            sys.stdout.write(written)
        else:
            _write(out, written)
            print(out)


def _written(record: Mapping[str, Any], name: str, form: str, private: bool, players: list[str]) -> str:
    found = transcript_of(record, private, players)
    return "".join(f"{line}\n" for line in (as_lines(found, name) if form == "jsonl" else as_text(found)))


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
            help="A game of the diplomacy package, AI_Diplomacy (lmvsgame.json) or webDiplomacy (history.json)."
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
            print(f"{power}: {player}")
        for note in (*found.notes, *([f"outcome according to the file: {found.outcome}"] if found.outcome else [])):
            print(f"note: {note}")
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
