"""Boards kept on disk, so that a later start neither reads the map again nor imports what reads it.

A file per board in the user's cache folder (`XDG_CACHE_HOME`, else ``~/.cache``): its arrays, the compiled engine's
tables and, as JSON, its names. Its name is a digest of all that goes into a board: the map, the `diplomacy` package's
version and our own code, so a stale file is never read. A file that is damaged is written anew; where nothing can be
written, boards are built at every start.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import zipfile
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from welfare_env.board import Board
from welfare_env.engine.tables import Tables

BUILT_BY = ("board.py", "boardcache.py", "mapfile.py", "orders.py", "toy.py", "engine/__init__.py", "engine/tables.py")


def load(name: str, digest: str) -> Board | None:
    """The board of map `name`, whose file has this digest, if it has been kept."""
    try:
        with np.load(_file(name, digest), allow_pickle=False) as kept:
            return _unpacked({key: kept[key] for key in kept.files})
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        return None


def keep(board: Board, digest: str) -> None:
    """Keep a board, if the folder can be written to. Whoever reads meanwhile finds a whole file or none."""
    data = io.BytesIO()
    np.savez(data, **_packed(board))
    file = _file(board.name, digest)
    new = file.with_suffix(f".{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(data.getvalue())
        new.replace(file)
    except OSError:  # a read-only home, or a full disk
        with contextlib.suppress(OSError):
            new.unlink()


def _file(name: str, digest: str) -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "welfare_env")
    key = repr((name, digest, _code_digest()))
    return folder / f"board-{hashlib.sha256(key.encode()).hexdigest()[:24]}.npz"


@functools.cache
def _code_digest() -> str:
    here = Path(__file__).parent
    texts = [(here / name).read_bytes() for name in BUILT_BY]
    return hashlib.sha256(b"\0".join([version("diplomacy").encode(), *texts])).hexdigest()


def _packed(board: Board) -> dict[str, Any]:
    values = {field.name: getattr(board, field.name) for field in fields(Board)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    names = {name: _plain(value) for name, value in values.items() if name not in arrays}
    text = np.frombuffer(json.dumps(names).encode(), np.uint8)
    return arrays | {"names": text, "tables_numbers": board.tables.numbers, "tables_masks": board.tables.masks}


def _plain(value: Any) -> Any:
    """What JSON can hold; sets sorted."""
    if isinstance(value, MappingProxyType):
        return dict(value)
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return [(start, sorted(fleets), sorted(reached)) for start, fleets, reached in value]
    return value


def _unpacked(arrays: dict[str, Any]) -> Board:
    tables = Tables(arrays.pop("tables_numbers"), arrays.pop("tables_masks"))
    names = json.loads(arrays.pop("names").tobytes())
    for name, value in names.items():
        if isinstance(value, dict):
            held = {key: tuple(v) if isinstance(v, list) else v for key, v in value.items()}
            names[name] = MappingProxyType(held)
        elif isinstance(value, list):
            names[name] = tuple(value)
    names["convoys"] = tuple((start, frozenset(seas), frozenset(ends)) for start, seas, ends in names["convoys"])
    board = Board(**names, **arrays)
    vars(board)["tables"] = tables  # the cached property's place
    return board
