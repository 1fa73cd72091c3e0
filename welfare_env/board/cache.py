"""Boards kept on disk, so that a later start neither reads the map again nor imports what reads it.

A file per board in the user's cache folder: its arrays and, as JSON, its names, behind a checksum of it all; and one of
the arrays that the compiled engine makes from it. A file's name is a digest of all that goes into it: the map, the
version of the `diplomacy` package and our own code, so a stale file is never read. What is damaged counts as missing,
and is written anew; where nothing can be kept, boards are built at every start.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import tempfile
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from welfare_env.board.board import Board

BUILT_BY = (  # below our package's folder
    *("board/board.py", "board/cache.py", "board/convoys.py", "board/geography.py", "board/loading.py"),
    *("board/map_text.py", "board/order_text.py", "board/orders.py", "board/toy_boards.py", "engine/__init__.py"),
    "engine/tables.py",
)
MOST_FILES = 128  # two a board; the oldest go
CHECKSUM = hashlib.sha256().digest_size


def load(name: str, text: str) -> Board | None:
    """The board of map `name`, whose file has this text, if it has been kept."""
    arrays = _read(_file("board", (name, text)))
    return None if arrays is None else _unpacked(arrays)


def keep(board: Board, text: str) -> None:
    """Keep a board, if the folder can be written to. Writes are atomic."""
    _write(_file("board", (board.name, text)), _packed(board))


def load_arrays(board: Board, what: str) -> dict[str, np.ndarray] | None:
    """Arrays that were made from a board, by name, if they have been kept."""
    return _read(_file(what, _content(board)))


def keep_arrays(board: Board, what: str, arrays: dict[str, np.ndarray]) -> None:
    """Keep arrays that were made from a board, if the folder can be written to. Writes are atomic."""
    _write(_file(what, _content(board)), arrays)


def _content(board: Board) -> tuple[bytes, ...]:
    return tuple(name.encode() + b"=" + array.tobytes() for name, array in sorted(_packed(board).items()))


def _read(file: Path | None) -> dict[str, np.ndarray] | None:
    """The arrays of a file; None if it is missing or damaged."""
    if file is None:
        return None
    try:
        data = file.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data[CHECKSUM:]).digest() != data[:CHECKSUM]:
        return None
    with np.load(io.BytesIO(data[CHECKSUM:]), allow_pickle=False) as kept:
        return {key: kept[key] for key in kept.files}


def _write(file: Path | None, arrays: dict[str, Any]) -> None:
    if file is None:
        return
    data = io.BytesIO()
    np.savez(data, **arrays)
    payload = data.getvalue()
    with contextlib.suppress(OSError):  # a read-only home, or a full disk
        file.parent.mkdir(parents=True, exist_ok=True)
        number, draft = tempfile.mkstemp(dir=file.parent, suffix=".draft")
        with os.fdopen(number, "wb") as new:
            new.write(hashlib.sha256(payload).digest() + payload)
        os.replace(draft, file)
        for old in sorted(file.parent.iterdir(), key=lambda path: path.stat().st_mtime)[:-MOST_FILES]:
            old.unlink()


def _file(what: str, made_from: tuple[Any, ...]) -> Path | None:
    """Where what was made from this is kept; None where there is no place for it."""
    try:
        folder = _folder()
        key = repr((*made_from, _code_digest()))
    except (RuntimeError, OSError, PackageNotFoundError):  # no home, no sources, no metadata
        return None
    return folder / f"{what}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.npz"


def _folder() -> Path:
    """The user's cache folder, by the habits of the system."""
    given = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", "")
    root = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
    return root / "welfare_env"


@functools.cache
def _code_digest() -> str:
    here = Path(__file__).parents[1]
    texts = [(here / name).read_bytes() for name in BUILT_BY]
    return hashlib.sha256(b"\0".join([version("diplomacy").encode(), *texts])).hexdigest()


def _packed(board: Board) -> dict[str, Any]:
    values = {field.name: getattr(board, field.name) for field in fields(Board)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    names = {name: _plain(value) for name, value in values.items() if name not in arrays}
    text = np.frombuffer(json.dumps(names).encode(), np.uint8)
    return arrays | {"names": text}


def _plain(value: Any) -> Any:
    """What JSON can hold; sets sorted."""
    if isinstance(value, MappingProxyType):
        return dict(value)
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return [(start, sorted(fleets), sorted(reached)) for start, fleets, reached in value]
    return value


def _unpacked(arrays: dict[str, Any]) -> Board:
    names = json.loads(arrays.pop("names").tobytes())
    for name, value in names.items():
        if isinstance(value, dict):
            held = {key: tuple(v) if isinstance(v, list) else v for key, v in value.items()}
            names[name] = MappingProxyType(held)
        elif isinstance(value, list):
            names[name] = tuple(value)
    names["convoys"] = tuple((start, frozenset(seas), frozenset(ends)) for start, seas, ends in names["convoys"])
    return Board(**names, **arrays)
