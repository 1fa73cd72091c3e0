"""Stored games that an older version of the code played (`use_older_games`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.play.store import GameStore, specification_key

CODE = ("code", "versions")
"""The keys of a game's specification that describe the code and libraries."""


def without_code(specification: Mapping[str, Any]) -> str:
    """The key of a specification without its code."""
    return specification_key({name: value for name, value in specification.items() if name not in CODE})


def older_games(store: GameStore) -> dict[str, str]:
    """`without_code` of a specification -> key of the game stored last.

    Raises:
        StoreError: the file cannot be read, or a specification is damaged.
    """
    return {without_code(game.specification): game.key for game in store.games()}


def older_record(store: GameStore, key: str) -> dict[str, Any]:
    """The record of such a game, with "older_code": true in its section "welfare_env".

    Raises:
        StoreError: as `GameStore.record`.
    """
    record = store.record(key)
    record.setdefault("welfare_env", {}).update(key=key, older_code=True)
    return record
