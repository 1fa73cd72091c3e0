"""The command ``transcript``: what language models were asked in a game, and what they replied."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from agents.runtime.files import reason, shown
from evaluation.checks import EvaluationError
from evaluation.cli.console import RESTARTS, errors_told
from evaluation.cli.options import Kept, SavedGame
from evaluation.play.store import DEFAULT_PATH
from evaluation.play.stored_games import saved_games
from evaluation.report.transcript_page import transcript_page
from evaluation.report.transcripts import as_lines, as_text, transcript_of
from welfare_env.errors import did_you_mean
from welfare_env.writing import replaced

FORMATS = ("text", "jsonl", "html")
ENDINGS = {".jsonl": "jsonl", ".html": "html", ".htm": "html"}


def transcript(
    game: SavedGame,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file; only its owner may read it.", show_default="standard output"),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="|".join(FORMATS), show_default="by the ending of the file, else text"),
    ] = None,
    player: Annotated[
        list[str] | None,
        typer.Option(help="Only this player's questions; may be given several times.", show_default="all"),
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Also private reasoning and notes, and replies as they came.")
    ] = False,
    replay: Annotated[
        str, typer.Option(help="For HTML: the replay of the game beside the page, to link to.", show_default="none")
    ] = "",
    store: Kept = DEFAULT_PATH,
) -> None:
    """What language models were asked in a game, and what they replied and cost: text, JSON lines or a page."""
    with errors_told(RESTARTS):
        chosen = form or ENDINGS.get(out.suffix.lower() if out else "", "text")
        if chosen not in FORMATS:
            raise EvaluationError(
                f"--format {chosen!r:.40}{did_you_mean(chosen, FORMATS)}: choose of {', '.join(FORMATS)}"
            )
        ((name, record),) = saved_games([game], store).items()
        written = _written(record, name, chosen, private, [each.upper() for each in player or ()], replay)
        if out is None:
            sys.stdout.write(written)
        else:
            _write(out, written)
            print(out)


def _written(record: Mapping[str, Any], name: str, form: str, private: bool, players: list[str], replay: str) -> str:
    found = transcript_of(record, private, players)
    if form == "html":
        return transcript_page(found, replay)
    return "".join(f"{line}\n" for line in (as_lines(found, name) if form == "jsonl" else as_text(found)))


def _write(out: Path, text: str) -> None:
    """Write a file that only its owner may read, as the store.

    Raises:
        EvaluationError: it cannot be written.
    """
    try:
        with replaced(out) as draft:
            draft.touch(mode=0o600)
            draft.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise EvaluationError(f"{shown(out)}: cannot be written: {reason(error)}") from error
