"""Boards cached on disk, so that later starts neither read the map again nor import the `diplomacy` package.

Each board has two files in the user's cache folder: its arrays and names (as JSON) with a checksum of both; and the
arrays that the compiled engine derives from it. File names are digests of the map, the version of the `diplomacy`
package and our own code, so a stale file is never read. Damaged files count as missing and are rewritten; if the folder
is not writable, boards are built at every start.
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

BUILT_BY = (  # paths relative to the package's folder
    *("board/board.py", "board/cache.py", "board/convoys.py", "board/geography.py", "board/loading.py"),
    *("board/map_text.py", "board/order_text.py", "board/orders.py", "board/toy_boards.py", "engine/__init__.py"),
    "engine/tables.py",
)
MOST_FILES = 128  # two per board; the oldest are deleted
CHECKSUM = hashlib.sha256().digest_size


def load(name: str, text: str) -> Board | None:
    """The cached board of map `name` with this file content, or None."""
    arrays = _read(_file("board", (name, text)))
    return None if arrays is None else _unpacked(arrays)


def keep(board: Board, text: str) -> None:
    """Cache a board if the folder is writable. Writes are atomic."""
    _write(_file("board", (board.name, text)), _packed(board))


def load_arrays(board: Board, what: str) -> dict[str, np.ndarray] | None:
    """The cached arrays derived from a board, by name, or None."""
    return _read(_file(what, _content(board)))


def keep_arrays(board: Board, what: str, arrays: dict[str, np.ndarray]) -> None:
    """Cache arrays derived from a board if the folder is writable. Writes are atomic."""
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
    """The cache file for these inputs; None if there is no cache folder."""
    try:
        place = folder()
        key = repr((*made_from, _code_digest()))
    except (RuntimeError, OSError, PackageNotFoundError):  # no home, no sources, no metadata
        return None
    return place / f"{what}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.npz"


def folder() -> Path:
    """The user's cache folder, following the system's conventions."""
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
    """The value as JSON types; sets become sorted lists."""
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
