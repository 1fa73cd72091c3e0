"""Stored games that an older version of the code played, for `use_older_games`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from evaluation.play.store import GameStore, specification_key

Key = TypeVar("Key")

CODE = ("code", "versions")
"""The keys of a game's specification that describe the code and libraries."""


def older_games(
    store: GameStore, specifications: Mapping[Key, Mapping[str, Any]]
) -> dict[Key, Callable[[], dict[str, Any]]]:
    """Those of some games that the store has from an older version, the last stored of each, and what loads them.

    Raises:
        StoreError: the file cannot be read, or a specification is damaged.
    """
    stored = {_without_code(game.specification): game.key for game in store.games()}
    keys = {name: stored.get(_without_code(each)) for name, each in specifications.items()}
    return {name: partial(_load, store, key) for name, key in keys.items() if key is not None}


def _load(store: GameStore, key: str) -> dict[str, Any]:
    """The record, with "older_code": true in its section "welfare_env"; errors as `GameStore.record`."""
    record = store.record(key)
    record.setdefault("welfare_env", {}).update(key=key, older_code=True)
    return record


def _without_code(specification: Mapping[str, Any]) -> str:
    return specification_key({name: value for name, value in specification.items() if name not in CODE})
