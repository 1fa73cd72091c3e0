"""Recognizes the program that wrote a file, and calls the matching reader."""

from __future__ import annotations

import json
import os
from typing import Any

from welfare_env.errors import RecordError
from welfare_env.game.record import OURS, read_content
from welfare_env.imports import diplomacy_games, webdiplomacy
from welfare_env.imports.foreign import DAMAGE, ForeignGame, ImportedGame, replayed

READ = "a game of the diplomacy package, of AI_Diplomacy (lmvsgame.json), or of webDiplomacy (history.json)"


def read_file(
    path: str | os.PathLike[str], number: int | None, until: str | None, messages: str | os.PathLike[str] | None
) -> ImportedGame:
    """See `welfare_env.import_game`."""
    saved = _only(_values(path), number, f"{str(path)!r:.300}")
    spoken = None if messages is None else _only(_values(messages), None, f"{str(messages)!r:.300}")
    try:
        return replayed(_read(saved, spoken), until)
    except RecordError as error:
        raise RecordError(f"{str(path)!r:.300}: {error}") from error
    except DAMAGE as error:
        raise RecordError(f"{str(path)!r:.300} is damaged: {type(error).__name__}: {error!s:.200}") from error


def _values(path: str | os.PathLike[str]) -> list[Any]:
    """The JSON values of a file: one, or one per line."""
    text = read_content(path)
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError) as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            if len(lines) > 1:
                return [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            pass
        raise RecordError(f"{str(path)!r:.300} is damaged or not JSON: {error!s:.200}") from error


def _only(values: list[Any], number: int | None, name: str) -> Any:
    if number is None and len(values) > 1:
        raise RecordError(f"{name} has {len(values)} games: give number=1 to {len(values)}")
    chosen = 1 if number is None else number
    if type(chosen) is not int or not 1 <= chosen <= len(values):
        raise RecordError(f"{name}: number={number!r:.40}, but it has games 1 to {len(values)}")
    return values[chosen - 1]


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
