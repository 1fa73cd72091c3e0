"""The command ``replay``: a game as an HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from evaluation.cli.console import errors_told
from evaluation.cli.options import Kept
from evaluation.play.store import DEFAULT_PATH
from evaluation.play.stored_games import saved_games
from evaluation.report.replays import annotations_of
from welfare_env import Game


def replay(
    game: Annotated[str, typer.Argument(help="A saved game (a file), or the key of a stored game (see `games`).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file.")] = Path("game.html"),
    store: Kept = DEFAULT_PATH,
    map_name: Annotated[
        Optional[Path],  # noqa: UP045 (typer reads it)
        typer.Option("--map", help="The .map file, if the game was played on one.", show_default="the game's"),
    ] = None,
    allow_edited: Annotated[
        bool, typer.Option("--allow-edited", help="Also a game that was edited on purpose: replay what it says.")
    ] = False,
) -> None:
    """Write a game as one HTML file for any browser: map, orders, messages, promises and charts."""
    with errors_told():
        (record,) = saved_games([game], store).values()
        write_replay(record, out, None if map_name is None else str(map_name), allow_edited)
    print(out)


def write_replay(record: Mapping[str, Any], out: Path, map_name: str | None = None, allow_edited: bool = False) -> None:
    """Write the page of a game.

    Raises:
        RecordError: the record is damaged, or the page cannot be written.
    """
    played = Game.from_record(dict(record), map_name=map_name, allow_edited=allow_edited)
    played.replay(out, annotations_of(played, record.get("welfare_env", {}), map_name))
