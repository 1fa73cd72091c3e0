"""The command ``replay``: a game as an HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from agents.runtime.progress import metered
from evaluation.cli.console import RESTARTS, errors_told
from evaluation.cli.options import Kept, SavedGame
from evaluation.play.store import DEFAULT_PATH
from evaluation.play.stored_games import saved_games
from evaluation.report.replays import write_replay
from welfare_env import Game
from welfare_env.render.pixels import LONGEST, NARROWEST, PHASE, SHORTEST, WIDEST, WIDTH

PAGE = Path("game.html")


def replay(
    game: SavedGame,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The HTML file.", show_default="game.html")] = None,
    store: Kept = DEFAULT_PATH,
    map_name: Annotated[
        Path | None,
        typer.Option("--map", help="The .map file, if the game was played on one.", show_default="the game's"),
    ] = None,
    gif: Annotated[
        Path | None,
        typer.Option(help="Write an animated GIF, a frame a phase (needs the extra plot).", show_default="none"),
    ] = None,
    gif_width: Annotated[int, typer.Option(min=NARROWEST, max=WIDEST, help="Width of the GIF in pixels.")] = WIDTH,
    gif_milliseconds: Annotated[
        int, typer.Option(min=SHORTEST, max=LONGEST, help="How long the GIF shows a phase; the last, three times.")
    ] = PHASE,
    allow_edited: Annotated[
        bool, typer.Option("--allow-edited", help="Also a game that was edited on purpose: replay what it says.")
    ] = False,
) -> None:
    """Write a game as one HTML file for any browser: map, orders, messages, promises and charts.

    The option --gif writes the map and its orders as an animated picture instead; give --out as well for both.
    """
    with errors_told(RESTARTS):
        (record,) = saved_games([game], store).values()
        chosen_map = None if map_name is None else str(map_name)
        if gif is not None:
            write_animation(record, gif, gif_width, gif_milliseconds, chosen_map, allow_edited)
        if gif is None or out is not None:
            write_replay(record, out or PAGE, chosen_map, allow_edited)
    for written in (gif, out or (PAGE if gif is None else None)):
        if written is not None:
            print(written)


def write_animation(
    record: Mapping[str, Any],
    out: Path,
    width: int,
    milliseconds: int,
    map_name: str | None = None,
    allow_edited: bool = False,
) -> None:
    """Write a game as an animated GIF, with a progress bar on stderr.

    Raises:
        PictureError: it is too long for this width, or the extra `plot` is not installed.
        RecordError: the record is damaged, or the file cannot be written.
    """
    played = Game.from_record(dict(record), map_name=map_name, allow_edited=allow_edited)
    with metered("drawing", len(played.history) + 1, "phases") as meter:
        played.animate(out, width, milliseconds, meter.reach)
