"""Replies kept on disk, so that a run that was broken off goes on without paying again.

A reply is found again by the model, its settings and the whole request. One SQLite file, written by any number of
threads and processes; nothing in it is unpickled. It holds no prompts, and no keys.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from threading import RLock
from typing import Any

from agents.lm.errors import CacheError, LMError
from agents.lm.protocol import Model, Reply, Request, Usage
from agents.sqlite import advice, use_write_ahead_log

KEY_VERSION = 1
"""Part of every key: raise it when an equal request no longer means the same reply."""

_LAYOUT_VERSION = 1  # of the table; kept in the file's user_version
_APPLICATION_ID = 0x574C4D52  # "WLMR": tells our files from other programs' databases
_BUSY_SECONDS = 60.0
_SMALLEST = 512  # bytes of an SQLite database that holds anything
_DAMAGED = "The file is damaged or keeps no replies: move it away or restore it from a copy, and run this again"

_CREATE = """
CREATE TABLE replies (
    key TEXT PRIMARY KEY,  -- of model, settings and request, see reply_key
    model TEXT NOT NULL,   -- name and settings, canonical JSON
    reply TEXT NOT NULL,   -- JSON
    checksum TEXT NOT NULL -- SHA-256 of key and reply
) WITHOUT ROWID
"""


def reply_key(model: Model, request: Request) -> str:
    """The key of a reply: 64 hexadecimal digits, the same on every machine.

    The sequence of a schema's properties is part of it, since a reply follows it.
    """
    asked = {field.name: getattr(request, field.name) for field in fields(request)}
    texts = [block.text.encode() for block in (*request.system, *request.user)]
    blocks = [[(len(block.text), block.cache) for block in asked.pop(part)] for part in ("system", "user")]
    rest = json.dumps([KEY_VERSION, _model_text(model), blocks, asked])
    return hashlib.sha256(b"".join([rest.encode("ascii"), *texts])).hexdigest()


class ResponseCache:
    """A file of kept replies.

    It is made with its folder when first used. A write-ahead log lies beside it and needs a local disk. A reply is
    there in full or not at all, whenever a process is killed; a power cut may lose the last ones.

    Args:
        path: of the SQLite file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()  # the process may go to another folder before the file is opened
        self._open_connection: sqlite3.Connection | None = None
        self._lock = RLock()
        self._asked: dict[str, Future[Reply]] = {}

    def __enter__(self) -> ResponseCache:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the file. The next use opens it again."""
        with self._lock:
            if self._open_connection is not None:
                self._open_connection.close()
                self._open_connection = None

    def get(self, key: str) -> Reply | None:
        """The reply with a key, or None.

        Raises:
            CacheError: the file cannot be read, or the reply does not match its checksum.
        """
        with self._connection() as connection:
            row = connection.execute("SELECT reply, checksum FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._unpacked(key, *row)

    def put(self, key: str, model: Model, reply: Reply) -> Reply:
        """Keeps a reply, unless there is one with its key. Returns the one that is there now, which all shall use.

        Raises:
            CacheError: the file cannot be written or read.
        """
        text = json.dumps(asdict(reply))
        row = (key, _model_text(model), text, _checksum(key, text))
        with self._connection() as connection:
            if connection.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?)", row).rowcount:
                return reply
        return self.get(key) or reply

    def count(self) -> int:
        """How many replies there are.

        Raises:
            CacheError: the file cannot be read.
        """
        with self._connection() as connection:
            return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])

    def models(self) -> list[dict[str, Any]]:
        """Whose replies there are: "name" and "settings" of each.

        Raises:
            CacheError: the file cannot be read.
        """
        with self._connection() as connection:
            rows = connection.execute("SELECT DISTINCT model FROM replies ORDER BY model").fetchall()
        return [json.loads(text) for (text,) in rows]

    def ticket(self, key: str) -> Ticket:
        """Either the reply, or the promise of one that is being asked for, or the task to ask for it.

        Raises:
            CacheError: the file cannot be read.
        """
        with self._lock:
            if key in self._asked:
                return Ticket(self._asked[key], is_ours=False)
            future: Future[Reply] = Future()
            kept = self.get(key)
            if kept is not None:
                future.set_result(kept)
                return Ticket(future, is_ours=False)
            future.set_running_or_notify_cancel()  # nobody who waits for it can cancel it for the others
            self._asked[key] = future
            return Ticket(future, is_ours=True)

    def redeem(self, key: str, outcome: Reply | BaseException) -> None:
        """Tells those who wait what the task came to."""
        with self._lock:
            future = self._asked.pop(key)
        if isinstance(outcome, Reply):
            future.set_result(outcome)
        else:
            future.set_exception(outcome if isinstance(outcome, LMError) else _Abandoned())

    def _unpacked(self, key: str, text: str, checksum: str) -> Reply:
        if not isinstance(text, str) or _checksum(key, text) != checksum:
            raise CacheError(
                f"{self.path}: the reply {key} does not match its checksum. Restore the file from a copy; or delete "
                f"the row with that key from its table `replies`, or the whole file: what is missing is asked again"
            )
        reply = json.loads(text)
        return Reply(**reply | {"usage": Usage(**reply["usage"]), "faults": tuple(reply["faults"])})

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._open_connection is None:
                    self._open_connection = self._connect()
                yield self._open_connection
            except sqlite3.Error as error:
                raise CacheError(
                    f"{self.path}: {error}. {advice(error, _BUSY_SECONDS, _DAMAGED, 'the replies kept so far')}"
                ) from error

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CacheError(f"{self.path}: its folder cannot be made ({error}); choose another path") from error
        if self.path.is_file() and 0 < self.path.stat().st_size < _SMALLEST:  # SQLite would begin it anew
            raise CacheError(f"{self.path}: no SQLite database. {_DAMAGED}")
        # Autocommit: each statement of ours is a transaction. Threads take turns by our lock.
        connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Checks that the file is ours before anything is written to it; lays out a new one."""
        if self._is_new(connection):
            connection.execute("BEGIN IMMEDIATE")
            if self._is_new(connection):  # still, now that no other process can write to it
                connection.execute(_CREATE)
                connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {_LAYOUT_VERSION}")
            connection.execute("COMMIT")
        use_write_ahead_log(connection, _BUSY_SECONDS)
        # A killed process loses nothing by it, a power cut the last replies; waiting for the disk would cost more.
        connection.execute("PRAGMA synchronous = NORMAL")

    def _is_new(self, connection: sqlite3.Connection) -> bool:
        """Whether the file is still empty.

        Raises:
            CacheError: it is another program's, or of another version.
        """
        # One statement: another process could lay the file out between two.
        application, version, tables = connection.execute(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
            " FROM pragma_application_id, pragma_user_version"
        ).fetchone()
        if (application, version) == (_APPLICATION_ID, _LAYOUT_VERSION):
            return False
        if application == _APPLICATION_ID:
            raise CacheError(f"{self.path}: the file has layout {version}, not {_LAYOUT_VERSION}; choose another path")
        if application or version or tables:
            raise CacheError(f"{self.path}: the file is another program's SQLite database; choose another path")
        return True


@dataclass(frozen=True)
class Ticket:
    """A reply to come: `is_ours` when the holder has to ask for it, and then to `redeem` it."""

    reply: Future[Reply]
    is_ours: bool


class _Abandoned(Exception):
    """Whoever was asking has been interrupted; somebody else has to."""


class CachedModel:
    """A model that asks no question twice: as the model itself, but for what it costs.

    A kept reply is the same as when it was paid for, usage, attempts and faults included. Of equal questions at the
    same time, in one process and with one `ResponseCache`, one is sent, and the others wait for its reply. What failed
    is not kept.

    Args:
        model: to ask.
        cache: where replies are kept; the same one for all players of a process.
    """

    def __init__(self, model: Model, cache: ResponseCache) -> None:
        self.model, self.cache = model, cache
        self._count: Counter[str] = Counter()
        self._lock = RLock()

    @property
    def name(self) -> str:
        """The model's."""
        return self.model.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """The model's."""
        return self.model.settings

    @property
    def faults(self) -> Counter[str]:
        """The model's."""
        return self.model.faults

    @property
    def hits(self) -> int:
        """Replies that were there already, or on their way."""
        return self._count["hits"]

    @property
    def misses(self) -> int:
        """Replies that were asked for."""
        return self._count["misses"]

    def complete(self, request: Request) -> Reply:
        """Looks, or asks and waits.

        Raises:
            CacheError: the file of replies cannot be used.
            ModelError, BudgetError: as the model does.
        """
        key = reply_key(self.model, request)
        while True:
            ticket = self.cache.ticket(key)
            if ticket.is_ours:
                with self._redeeming(key) as keep:
                    reply = keep(self.model.complete(request))
                return self._paid(key, reply)
            try:
                return self._hit(ticket.reply.result())
            except _Abandoned:
                continue

    async def acomplete(self, request: Request) -> Reply:
        """As `complete`, for event loops."""
        key = reply_key(self.model, request)
        while True:
            ticket = self.cache.ticket(key)
            if ticket.is_ours:
                with self._redeeming(key) as keep:
                    reply = keep(await self.model.acomplete(request))
                return self._paid(key, reply)
            try:
                return self._hit(await asyncio.wrap_future(ticket.reply))
            except _Abandoned:
                continue

    def _hit(self, reply: Reply) -> Reply:
        with self._lock:
            self._count["hits"] += 1
        return reply

    def _paid(self, key: str, reply: Reply) -> Reply:
        self.cache.redeem(key, reply)
        with self._lock:
            self._count["misses"] += 1
        return reply

    @contextmanager
    def _redeeming(self, key: str) -> Iterator[Callable[[Reply], Reply]]:
        """Gives what keeps a reply; should there be none, tells those who wait for it."""
        try:
            yield lambda reply: self.cache.put(key, self.model, reply)
        except BaseException as error:
            self.cache.redeem(key, error)
            raise


def _model_text(model: Model) -> str:
    return json.dumps({"name": model.name, "settings": dict(model.settings)}, sort_keys=True)


def _checksum(key: str, text: str) -> str:
    """Of the key too: a reply under another one's key is found out."""
    return hashlib.sha256(f"{key}\n{text}".encode()).hexdigest()
