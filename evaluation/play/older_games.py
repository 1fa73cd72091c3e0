"""Stored games that an older version of the code played, for `use_older_games`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from evaluation.play.store import GameStore, specification_key

Key = TypeVar("Key")

CODE = ("code", "versions")
"""The keys of a game's specification that describe the code and libraries."""


def older_keys(store: GameStore, specifications: Mapping[Key, Mapping[str, Any]]) -> dict[Key, str]:
    """For each game that an older version stored, the key of the most recent one.

    Raises:
        StoreError: the file cannot be read, or a specification is damaged.
    """
    stored = {_without_code(game.specification): game.key for game in store.games()}
    keys = {name: stored.get(_without_code(each)) for name, each in specifications.items()}
    return {name: key for name, key in keys.items() if key is not None}


def _without_code(specification: Mapping[str, Any]) -> str:
    return specification_key({name: value for name, value in specification.items() if name not in CODE})
