"""Recognizes the program that wrote a file, and calls the matching reader."""

from __future__ import annotations

import json
import os
from typing import Any

from welfare_env.checks import quoted
from welfare_env.errors import RecordError
from welfare_env.game.record import LARGEST_FILE, OURS, file_path, opened, read_content
from welfare_env.imports import diplomacy_games, webdiplomacy
from welfare_env.imports.foreign import DAMAGE, ForeignGame, ImportedGame
from welfare_env.imports.replaying import replayed

READ = "a game of the diplomacy package, dipcc, AI_Diplomacy (lmvsgame.json) or webDiplomacy (history.json)"


def read_file(
    path: str | os.PathLike[str], number: int | None, until: str | None, messages: str | os.PathLike[str] | None
) -> ImportedGame:
    """See `welfare_env.import_game`."""
    saved = _value(path, number)
    spoken = None if messages is None else _value(messages, None)
    try:
        return replayed(_read(saved, spoken), until)
    except RecordError as error:
        raise RecordError(f"{str(path)!r:.300}: {error}") from error
    except DAMAGE as error:
        raise RecordError(f"{str(path)!r:.300} is damaged: {type(error).__name__}: {error!s:.200}") from error


def _value(path: str | os.PathLike[str], number: int | None) -> Any:
    """The JSON value of a file, or of the line with a number, from 1, of JSON Lines.

    Files of lines may have any size, since datasets have gigabytes; a game may not.
    """
    name, wanted = f"{str(file_path(path))!r:.300}", 1 if number is None else number
    if type(wanted) is not int or wanted < 1:
        raise RecordError(f"{name}: number={quoted(number)}: give the number of a game, from 1")
    count, text = 0, b""
    with opened(path) as file:
        while (line := file.readline(LARGEST_FILE + 1)) and (number is None or count < wanted):
            if len(line) > LARGEST_FILE:
                raise RecordError(f"{name} has more than {LARGEST_FILE} bytes in a line: no saved game is that large")
            count += bool(line.strip())
            text = text or (line if count == wanted else b"")
    if count < wanted and number is not None:
        raise RecordError(f"{name}: number={wanted}, but it has games 1 to {count}")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        if wanted == 1:
            return _whole(path, name)
        raise RecordError(f"{name}, game {wanted}: damaged or not JSON: {error!s:.200}") from error
    if number is None and count > 1:
        raise RecordError(f"{name} has {count} games: give number=1 to {count}")
    return value


def _whole(path: str | os.PathLike[str], name: str) -> Any:
    """The value of a file with one JSON value over several lines."""
    try:
        return json.loads(read_content(path))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{name} is damaged or not JSON: {error!s:.200}") from error


def _read(saved: Any, spoken: Any) -> ForeignGame:
    if "welfare_env" in saved or saved.get("id") == OURS:
        raise RecordError("this is a saved game of welfare_env: use Game.load or welfare-env replay")
    first = saved["phases"][0]
    if "turn" in first:
        return webdiplomacy.read(saved, spoken)
    if spoken is not None:
        raise RecordError("messages: only for games of webDiplomacy; other programs store messages in the game's file")
    if "state" in first:
        return diplomacy_games.read(saved)
    raise RecordError(f"phases[0] has neither 'turn' nor 'state': give {READ}")
