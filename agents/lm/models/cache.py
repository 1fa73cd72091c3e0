"""Replies cached on disk, so that an interrupted run can go on without paying again.

A reply is looked up by the model, its settings and the whole request. One SQLite file, which any number of threads and
processes may write; nothing in it is unpickled. It contains no prompts and no API keys.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
from dataclasses import asdict, fields
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

from pydantic import TypeAdapter

from agents.lm.errors import FAULT_KINDS, CacheError, ModelError
from agents.lm.models.protocol import Model, Reply, Request, Usage
from agents.runtime.files import parse_json
from agents.runtime.storage import FileLayout

Outcome = Reply | ModelError

_CREATE = """
CREATE TABLE replies (
    key TEXT PRIMARY KEY,  -- of model, settings and request, see reply_key
    reply TEXT NOT NULL  -- JSON; of a call that failed for good, how it failed
) WITHOUT ROWID
"""
_REPLY, _USAGE = TypeAdapter(Reply), TypeAdapter(Usage | None)

_LAYOUT = FileLayout(
    application=0x574C4D52,  # "WLMR"
    version=3,
    create=_CREATE,
    error=CacheError,
    damaged="The file is damaged or has no replies: move it away or restore it from a copy, and run this again",
    seconds=60.0,
    is_durable=False,  # a killed process loses nothing, a power cut the last replies; syncing would cost more time
)


def reply_key(model: Model, request: Request) -> str:
    """The cache key of a request: 64 hexadecimal digits, the same on every machine.

    The sequence of a schema's properties is part of the key, since replies follow it.
    """
    asked = {field.name: getattr(request, field.name) for field in fields(request)}
    blocks = [[(block.text, block.cache) for block in asked.pop(part)] for part in ("system", "user")]
    settings = json.dumps(dict(model.settings), sort_keys=True)
    return hashlib.sha256(json.dumps([model.name, settings, blocks, asked]).encode("ascii")).hexdigest()


class ResponseCache:
    """A file of cached replies, made with its folder on first use.

    It has a write-ahead log beside it and needs a local disk. Writes are atomic, even if a process is killed; a power
    cut may lose the last replies. All methods raise CacheError if the file cannot be used.

    Args:
        path: path of the SQLite file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()  # the working directory may change before the file is opened
        self._connection: sqlite3.Connection | None = None
        self._turns: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()
        self._lock = Lock()

    def __enter__(self) -> ResponseCache:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file. The next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def get(self, key: str) -> Outcome | None:
        """The reply for a key, or the error of a failed call, or None."""
        rows = self._run("SELECT reply FROM replies WHERE key = ?", key)
        try:
            return read_outcome(parse_json(rows[0][0])) if rows else None
        except (ValueError, KeyError, TypeError) as error:
            raise CacheError(f"{self.path}: {key} is not a reply. {_LAYOUT.damaged}") from error

    def put(self, key: str, outcome: Outcome) -> Outcome:
        """Stores a reply or a failed call, unless the key is there already. Returns the stored one."""
        kept = json.dumps(outcome_dict(outcome))
        is_new = self._run("INSERT OR IGNORE INTO replies VALUES (?, ?) RETURNING key", key, kept)
        return outcome if is_new else self.get(key) or outcome

    def count(self) -> int:
        """Number of replies, including failed calls."""
        return int(self._run("SELECT count(*) FROM replies")[0][0])

    def turn(self, key: str) -> asyncio.Lock:
        """A lock for those in the current event loop who ask the same question, so that one asks and all get it."""
        with self._lock:
            return self._turns.setdefault((id(asyncio.get_running_loop()), key), asyncio.Lock())

    def _run(self, statement: str, *values: str) -> list[Any]:
        """The rows returned by a statement; threads take turns."""
        with self._lock, _LAYOUT.guard(self.path):
            if self._connection is None:
                self._connection = _LAYOUT.connect(self.path, same_thread=False)
            return self._connection.execute(statement, values).fetchall()


class CachedModel(Model):
    """A model with a cache: never asks a question twice, and its replies are those that were paid for.

    Equal questions asked at the same time, in one event loop and with one `ResponseCache`, are sent once.

    A call that failed for good (`ModelError`) is cached, too, so that a resumed game takes the same course; but not one
    that may be answered later (`ModelError.is_passing`), nor those before the model's first answer: its server may be
    wrong. Errors that end a run (no such server, a wrong key, an exhausted budget) are never cached.

    Args:
        model: the model to ask.
        cache: the cache, shared by all players of a process.
    """

    def __init__(self, model: Model, cache: ResponseCache) -> None:
        self.model, self.cache = model, cache
        self.name, self.settings = model.name, model.settings
        self._has_answered = False

    async def acomplete(self, request: Request) -> Reply:
        """Looks the reply up, or asks and waits; see `Model.acomplete`."""
        key = reply_key(self.model, request)
        async with self.cache.turn(key):
            outcome = self.cache.get(key) or await self._asked(key, request)
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome

    async def _asked(self, key: str, request: Request) -> Outcome:
        try:
            reply = await self.model.acomplete(request)
        except ModelError as error:
            if error.is_passing or not self._has_answered:
                raise
            return self.cache.put(key, error)
        self._has_answered = True
        return self.cache.put(key, reply)


def outcome_dict(outcome: Outcome) -> dict[str, Any]:
    """A reply or a failed call as plain JSON."""
    if isinstance(outcome, Reply):
        return asdict(outcome) | {"faults": list(outcome.faults), "left_out": list(outcome.left_out)}
    usage = None if outcome.usage is None else asdict(outcome.usage)
    return {"failed": outcome.kind, "text": str(outcome), "faults": list(outcome.faults), "usage": usage}


def read_outcome(kept: Any) -> Outcome:
    """A reply or a failed call from its JSON: the inverse of `outcome_dict`.

    Raises:
        ValueError, KeyError, TypeError: not a reply or a failed call.
    """
    if "failed" not in kept:
        return _REPLY.validate_python(kept)
    if kept["failed"] not in FAULT_KINDS or not isinstance(kept["text"], str):
        raise ValueError("not a failed call")
    usage = _USAGE.validate_python(kept["usage"])
    return ModelError(kept["failed"], kept["text"], tuple(map(str, kept["faults"])), usage)
