"""The command ``replay``: a game as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from evaluation.cli.console import errors_told
from evaluation.cli.options import Kept
from evaluation.play.store import DEFAULT_PATH
from evaluation.play.stored_games import saved_games
from evaluation.report.replays import annotations_of
from welfare_env import Game


def replay(
    game: Annotated[str, typer.Argument(help="A saved game (a file), or the key of a stored one as `games` lists it.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("game.html"),
    store: Kept = DEFAULT_PATH,
    map_file: Annotated[
        Optional[Path],  # noqa: UP045 (typer reads it)
        typer.Option("--map", help="The map, where the game was played on a .map file.", show_default="the game's"),
    ] = None,
) -> None:
    """Write a game as one HTML page: map, orders, messages, promises, charts. Any browser opens it from the disk."""
    with errors_told():
        print(write_replay(game, out, store, map_file))


def write_replay(game: str, out: Path, store: Path, map_file: Path | None = None) -> Path:
    """Write the page of a game, and say where.

    Raises:
        EvaluationError: no such game.
        RecordError, StoreError: the game cannot be read, or the page cannot be written.
    """
    (record,) = saved_games([game], store).values()
    map_name = None if map_file is None else str(map_file)
    played = Game.from_record(record, map_name=map_name)
    facts = record.get("welfare_env", {})
    played.replay(out, annotations_of(played, facts, map_name))
    return out
