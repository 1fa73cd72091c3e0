"""Boards, read once and shared. Boards are pickled by name, not by content."""

from __future__ import annotations

import copyreg
import functools
import json
from types import MappingProxyType
from typing import Any

import numpy as np

from welfare_env.board.board import Board
from welfare_env.board.cache import Arrays, cached
from welfare_env.board.maps import check_unchanged, map_text


def load_board(name: str | Board = "standard") -> Board:
    """The board of a map: the name of a map of the `diplomacy` package, a toy board, or the path of a `.map` file.

    A `Board` is returned unchanged. The same content gives the same object. Boards are kept in the user's cache folder;
    loading a large map for the first time takes up to a minute.

    Raises:
        UnknownMapError: neither a known name nor a file.
        MapFormatError: the file has faults, or its phases are not Spring, Fall, Winter.
    """
    return name if isinstance(name, Board) else _load_board(name, map_text(name))


@functools.lru_cache(maxsize=32)
def _load_board(name: str, text: str) -> Board:
    def read() -> Arrays:
        from welfare_env.board.map_file import read_map

        return _packed(read_map(name, text))

    return _unpacked(cached("board", (name, text), read))


def reload_board(name: str, digest: str) -> Board:
    """The board of a map, checked to have this digest (`Board.digest`).

    Raises:
        UnknownMapError: neither a known name nor a file.
        MapFormatError: the file has changed since, or has faults.
    """
    check_unchanged(name, digest)
    return load_board(name)


def _as_reload(board: Board) -> tuple[Any, ...]:
    return reload_board, (board.name, board.digest)


copyreg.pickle(Board, _as_reload)


def _packed(values: dict[str, Any]) -> Arrays:
    """The fields of a board as arrays; one of them is all that is not an array, as JSON."""
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    rest = {name: value for name, value in values.items() if name not in arrays}
    text = json.dumps(rest, default=sorted)  # sets
    return arrays | {"rest": np.frombuffer(text.encode(), np.uint8)}


def _unpacked(arrays: Arrays) -> Board:
    values: dict[str, Any] = {name: array for name, array in arrays.items() if name != "rest"}
    values |= {name: _frozen(value) for name, value in json.loads(arrays["rest"].tobytes()).items()}
    values["convoys"] = tuple((start, frozenset(seas), frozenset(ends)) for start, seas, ends in values["convoys"])
    return Board(**values)


def _frozen(value: Any) -> Any:
    """A value of JSON with tuples in place of lists, and read-only mappings in place of dicts."""
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return MappingProxyType({key: _frozen(each) for key, each in value.items()}) if isinstance(value, dict) else value
