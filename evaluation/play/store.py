"""Finished games on disk, looked up by specification: one SQLite file for any number of processes.

A game is stored under the hash of its full specification (board, rules, players, seed, ... everything that determines
it), so an interrupted experiment resumes from the games already played. Specifications and records are JSON; nothing is
unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from agents.runtime.files import parse_json, reason, shown
from agents.runtime.storage import FileLayout
from welfare_env import checks
from welfare_env.errors import WelfareEnvError
from welfare_env.game.record import LARGEST_FILE

DEFAULT_PATH = Path("runs", "evaluation.sqlite")
LATEST = 253_402_300_800  # seconds from 1970 to the year 10000

_CURE = "Restore the file from a backup, or move it away"
_CREATE = """
CREATE TABLE games (
    key TEXT PRIMARY KEY,        -- of the specification, see specification_key
    specification TEXT NOT NULL, -- canonical JSON, human-readable
    record BLOB NOT NULL,        -- JSON, compressed with zlib
    checksum TEXT NOT NULL,      -- SHA-256 of key and record
    created REAL NOT NULL        -- seconds since 1970; for listings only
) WITHOUT ROWID
"""
_INSERT = "INSERT INTO games (key, specification, record, checksum, created) VALUES (?, ?, ?, ?, ?) ON CONFLICT "
_REPLACE = "(key) DO UPDATE SET record = excluded.record, checksum = excluded.checksum, created = excluded.created"


class StoreError(WelfareEnvError):
    """A store operation failed. The message names the file and a remedy."""


_LAYOUT = FileLayout(
    application=0x57454C46,  # "WELF"
    version=1,
    create=_CREATE,
    error=StoreError,
    damaged="The file is damaged or not a store: move it away or restore it from a backup, and run this again",
    seconds=60.0,
    is_durable=True,  # games may have cost money: once put has returned, they survive a power cut
)


def specification_key(specification: Mapping[str, Any]) -> str:
    """The key of a game: 64 hexadecimal digits, the same for equal specifications on every machine.

    Args:
        specification: plain JSON values; the order of keys does not matter, and a tuple equals a list.

    Raises:
        StoreError: the specification is not JSON, for example because of nan or a numpy array.
    """
    return hashlib.sha256(_written(specification, "specification")).hexdigest()


@dataclass(frozen=True)
class StoredGame:
    """A game in a store.

    Attributes:
        key: the `specification_key`.
        specification: as given to `GameStore.put`.
        created: time of storing, in seconds since 1970.
    """

    key: str
    specification: dict[str, Any]
    created: float


@dataclass(frozen=True)
class Copied:
    """The result of copying games between stores. Games are listed by key.

    Attributes:
        added: copied games.
        present: games that the target already had, with the same record.
        differing: games that the target already had with a different record (two runs with a language model may
            differ); the target's record is unchanged.
    """

    added: list[str] = field(default_factory=list)
    present: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)


class GameStore:
    """A store of finished games.

    The file and its folder are created on first use. Any number of processes may use one file, each with its own
    `GameStore`; an object may be used only in the thread that first uses it. The write-ahead log needs a local disk,
    since network file systems lack the shared memory it relies on.

    Writes are atomic and durable once `put` has returned. All methods raise StoreError if the file cannot be used.

    Args:
        path: the SQLite file.

    Attributes:
        added, reused: keys of games stored by this object, and of games that evaluations found in it.

    Example:
        with GameStore("runs/evaluation.sqlite") as store:
            if store.get(specification) is None:
                store.put(specification, game.record())
    """

    def __init__(self, path: str | os.PathLike[str] = DEFAULT_PATH) -> None:
        self.path = _path(path).absolute()  # the process may change its folder before the file is opened
        self._open_connection: sqlite3.Connection | None = None
        self.added, self.reused = set[str](), set[str]()

    def __repr__(self) -> str:
        return f"<GameStore {self.path}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. The next use opens it again."""
        if self._open_connection is not None:
            self._open_connection.close()
            self._open_connection = None

    def check_writable(self) -> None:
        """Raise StoreError if games cannot be stored, before they are played."""
        with self._connection() as connection:
            connection.execute("DELETE FROM games WHERE false")

    def get(self, specification: Mapping[str, Any]) -> dict[str, Any] | None:
        """The record of a game, or None if it is not stored."""
        key = specification_key(specification)
        return self.record(key) if self.holds([key]) else None

    def put(self, specification: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        """Store the record of a game, replacing any with the same specification; both must be plain JSON."""
        canonical, text = _written(specification, "specification"), _written(record, "record", sort_keys=False)
        if len(text) > LARGEST_FILE:
            raise StoreError(f"the record of a game has {len(text):,} bytes: at most {LARGEST_FILE:,} are allowed")
        key = hashlib.sha256(canonical).hexdigest()
        row = (key, canonical.decode(), zlib.compress(text), _checksum(key, text), time.time())
        with self._connection() as connection:
            connection.execute(_INSERT + _REPLACE, row)
        self.added.add(key)

    def holds(self, keys: Iterable[str]) -> set[str]:
        """The subset of keys with a stored game."""
        with self._connection() as connection:
            query = "SELECT 1 FROM games WHERE key = ?"
            return {key for key in keys if connection.execute(query, (key,)).fetchone()}

    def count(self) -> int:
        """The number of games."""
        with self._connection() as connection:
            (count,) = connection.execute("SELECT count(*) FROM games").fetchone()
        return int(count)

    def games(self) -> list[StoredGame]:
        """All games, oldest first."""
        with self._connection() as connection:
            rows = connection.execute("SELECT key, specification, created FROM games ORDER BY created, key").fetchall()
        return [self._stored_game(*row) for row in rows]

    def keys(self) -> list[str]:
        """The keys of all games, oldest first."""
        with self._connection() as connection:
            return [str(key) for (key,) in connection.execute("SELECT key FROM games ORDER BY created, key")]

    def record(self, key: str) -> dict[str, Any]:
        """The record of a game, by its key; StoreError if it is not stored, or does not match its checksum."""
        row = None
        if isinstance(key, str) and key.isascii():
            with self._connection() as connection:
                row = connection.execute("SELECT record, checksum FROM games WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise StoreError(f"{self.path}: there is no game {checks.quoted(key)}")
        return self._unpack(key, *row)

    def merge(self, path: str | os.PathLike[str], keys: Sequence[str] | None = None) -> Copied:
        """Copy games from another store into this one. Games in both stores stay unchanged.

        All are copied in one transaction, or none: not if a game of the other store is damaged.

        Args:
            path: the other store's file.
            keys: keys of the games to copy; None for all.

        Raises:
            StoreError: an unknown store or game, the same store, or a file or game that cannot be used.
        """
        with GameStore(_existing(path)) as source:
            if self.path.exists() and self.path.samefile(source.path):
                raise StoreError(f"{shown(source.path)}: source and target are the same store: give another file")
            missing = set(keys or ()) - set(source.keys())
            if missing:
                raise StoreError(f"{shown(source.path)}: there is no game {min(missing)!r:.80}")
            return self._insert(row for row in source._checked_rows() if keys is None or row[0] in keys)

    def _checked_rows(self) -> Iterator[tuple[Any, ...]]:
        """All rows as they are, oldest first; raises StoreError at the first that is damaged."""
        with self._connection() as connection:
            columns = "key, specification, record, checksum, created"
            for row in connection.execute(f"SELECT {columns} FROM games ORDER BY created, key"):  # noqa: S608 (constant)
                self._stored_game(row[0], row[1], row[4])
                self._unpack(row[0], row[2], row[3])
                yield row

    def _insert(self, rows: Iterable[tuple[Any, ...]]) -> Copied:
        """Insert rows in one transaction; existing games are not replaced."""
        copied = Copied()
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:  # commits, or rolls back after any error
                for row in rows:
                    if connection.execute(f"{_INSERT} DO NOTHING", row).rowcount:
                        copied.added.append(row[0])
                        continue
                    (checksum,) = connection.execute("SELECT checksum FROM games WHERE key = ?", row[:1]).fetchone()
                    (copied.present if checksum == row[3] else copied.differing).append(row[0])
        return copied

    def _stored_game(self, key: Any, text: Any, created: Any) -> StoredGame:
        """A row without its record; its key is a digest of its specification."""
        try:
            if hashlib.sha256(text.encode()).hexdigest() == key and 0 <= created < LATEST:
                return StoredGame(key, dict(parse_json(text)), created)
        except (AttributeError, TypeError, ValueError):
            pass
        raise StoreError(f"{self.path}: the specification of game {key!s:.80} does not match its key. {_CURE}")

    def _unpack(self, key: str, packed: Any, checksum: Any) -> dict[str, Any]:
        """The record of a row."""
        try:
            unfolding = zlib.decompressobj()
            text = unfolding.decompress(packed, LARGEST_FILE)  # no more, since a few bytes may unfold to gigabytes
            record = parse_json(text)
            is_whole = unfolding.eof and not unfolding.unused_data
            if is_whole and _checksum(key, text) == checksum and isinstance(record, dict):
                return record
        except (zlib.error, TypeError, ValueError):
            pass
        raise StoreError(f"{self.path}: the record of game {key!s:.80} does not match its checksum. {_CURE}")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with _LAYOUT.guard(self.path):
            if self._open_connection is None:
                self._open_connection = _LAYOUT.connect(self.path)
            yield self._open_connection


def _path(path: object) -> Path:
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if isinstance(name, str):
        return Path(name)
    raise StoreError(f"path={checks.quoted(path)}: give the path of a store's file")


def _existing(path: str | os.PathLike[str]) -> Path:
    """Check that there is a file, which a store would make otherwise, and that it is not empty."""
    found = _path(path)
    try:
        if found.stat().st_size:
            return found
        problem = "the file is empty and not a store"
    except (OSError, ValueError) as error:
        problem = f"there is no store ({reason(error)})"
    raise StoreError(f"{shown(path)}: {problem}")


def _written(value: Mapping[str, Any], what: str, sort_keys: bool = True) -> bytes:
    """Canonical JSON."""
    try:
        return json.dumps(value, sort_keys=sort_keys, separators=(",", ":"), allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"the {what} of a game must be plain JSON, without nan and infinity: {error}") from error


def _checksum(key: str, text: bytes) -> str:
    """SHA-256 of key and record; the key is included to detect a record under another game's key."""
    return hashlib.sha256(key.encode("ascii") + b"\n" + text).hexdigest()
