"""Games in a store that were played by code that has changed since, for who would rather have them than play anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.play.store import GameStore, specification_key

CODE = ("code", "versions")
"""What in a game's specification is about the code and the libraries that played it."""


def without_code(specification: Mapping[str, Any]) -> str:
    """The key of what was to be played, whatever the code."""
    return specification_key({name: value for name, value in specification.items() if name not in CODE})


def older_games(store: GameStore) -> dict[str, str]:
    """What was to be played, as `without_code`, -> the key of the game that was stored last.

    Raises:
        StoreError: the file cannot be read, or a specification is damaged.
    """
    return {without_code(game.specification): game.key for game in store.games()}


def older_record(store: GameStore, key: str) -> dict[str, Any]:
    """The record of such a game, marked as such: "older_code" is true in its section "welfare_env".

    Raises:
        StoreError: as `GameStore.record`.
    """
    record = store.record(key)
    record.setdefault("welfare_env", {}).update(key=key, older_code=True)
    return record
