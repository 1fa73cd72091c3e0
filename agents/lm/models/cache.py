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
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import fields
from pathlib import Path
from threading import RLock
from typing import Any

from pydantic import TypeAdapter

from agents.lm.errors import FAULT_KINDS, CacheError, ModelError
from agents.lm.models.limits import MODELS
from agents.lm.models.protocol import Model, Reply, Request, Usage
from agents.runtime.files import parse_json
from agents.runtime.storage import FileLayout

KEY_VERSION = 1
"""Part of every key: raise it when old replies no longer fit equal requests."""

_CREATE = """
CREATE TABLE replies (
    key TEXT PRIMARY KEY,  -- of model, settings and request, see reply_key
    model TEXT NOT NULL,   -- name and settings, canonical JSON
    reply TEXT NOT NULL    -- JSON; of a call that failed for good, how it failed
) WITHOUT ROWID
"""
_REPLY, _USAGE = TypeAdapter(Reply), TypeAdapter(Usage)
_CURE = "Restore the file from a copy, or delete it: what is missing is asked again"

_LAYOUT = FileLayout(
    application=0x574C4D52,  # "WLMR"
    version=2,
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
    texts = [block.text.encode() for block in (*request.system, *request.user)]
    blocks = [[(len(block.text), block.cache) for block in asked.pop(part)] for part in ("system", "user")]
    head = json.dumps([KEY_VERSION, _model_text(model), blocks, asked])
    return hashlib.sha256(b"".join([head.encode("ascii"), *texts])).hexdigest()


class ResponseCache:
    """A file of cached replies.

    The file and its folder are made on first use. It has a write-ahead log beside it and needs a local disk. Writes are
    atomic, even if a process is killed; a power cut may lose the last replies.

    Args:
        path: path of the SQLite file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()  # the working directory may change before the file is opened
        self._connection: sqlite3.Connection | None = None
        self._asked: dict[str, Future[Reply]] = {}
        self._lock = RLock()

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

    def get(self, key: str) -> Reply | ModelError | None:
        """The reply for a key, or the error of a failed call, or None.

        Raises:
            CacheError: the file cannot be read.
        """
        rows = self._run("SELECT reply FROM replies WHERE key = ?", key)
        try:
            return read_outcome(parse_json(rows[0][0])) if rows else None
        except (ValueError, KeyError, TypeError) as error:
            raise CacheError(f"{self.path}: {key} is not a reply. {_CURE}") from error

    def put(self, key: str, model: Model, outcome: Reply | ModelError) -> Reply | ModelError:
        """Stores a reply or a failed call, unless the key is there already. Returns the stored one.

        Raises:
            CacheError: the file cannot be written or read.
        """
        row = (key, _model_text(model), json.dumps(outcome_dict(outcome)))
        is_new = self._run("INSERT OR IGNORE INTO replies VALUES (?, ?, ?) RETURNING key", *row)
        return outcome if is_new else self.get(key) or outcome

    def count(self) -> int:
        """Number of replies, including failed calls.

        Raises:
            CacheError: the file cannot be read.
        """
        return int(self._run("SELECT count(*) FROM replies")[0][0])

    def models(self) -> list[dict[str, Any]]:
        """The models with replies in the file: "name" and "settings" of each.

        Raises:
            CacheError: the file cannot be read, or is damaged.
        """
        rows = self._run("SELECT DISTINCT model FROM replies ORDER BY model")
        try:
            found = [parse_json(text) for (text,) in rows]
            return [{"name": model["name"] + "", "settings": dict(model["settings"])} for model in found]
        except (ValueError, KeyError, TypeError) as error:
            raise CacheError(f"{self.path}: the name of a model cannot be read. {_CURE}") from error

    def promise(self, key: str, own: Future[Reply]) -> Future[Reply]:
        """A future of the stored reply, or of a reply that is being asked for; or `own`, and the caller has to ask.

        Raises:
            CacheError: the file cannot be read.
        """
        with self._lock:
            if key in self._asked:
                return self._asked[key]
            kept = self.get(key)
            if kept is None:
                self._asked[key] = own
            else:
                _settle(own, kept)
            return own

    def settle(self, key: str, own: Future[Reply], outcome: Reply | ModelError | None) -> None:
        """Passes the outcome of a promise to those who wait for it; None, if there is none, lets them ask again."""
        with self._lock:
            self._asked.pop(key, None)
        if outcome is None:
            own.cancel()
        else:
            _settle(own, outcome)

    def _run(self, statement: str, *values: str) -> list[Any]:
        """The rows returned by a statement; threads take turns."""
        with self._lock, _LAYOUT.guard(self.path):
            if self._connection is None:
                self._connection = _LAYOUT.connect(self.path, same_thread=False)
            return self._connection.execute(statement, values).fetchall()


class CachedModel:
    """A model with a cache: behaves like the model itself, but never asks a question twice.

    A cached reply is the same as when it was paid for, including usage, attempts and faults. If equal questions are
    asked at the same time, in one process and with one `ResponseCache`, one is sent, and the others wait for its reply.

    A call that failed for good (`ModelError`) is cached, too, so that a resumed game takes the same course; but not one
    that may be answered later (`ModelError.is_passing`), nor those before the model's first answer: its server may be
    wrong. Errors that end a run (no such server, a wrong key, an exhausted budget) are never cached.

    Args:
        model: the model to ask.
        cache: the cache, shared by all players of a process.

    Attributes:
        hits: number of replies that were cached, or already asked for.
        misses: number of replies that had to be asked for.
    """

    def __init__(self, model: Model, cache: ResponseCache) -> None:
        self.model, self.cache = model, cache
        self.hits = self.misses = 0

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """The model's settings."""
        return self.model.settings

    @property
    def faults(self) -> Counter[str]:
        """The model's faults."""
        return self.model.faults

    def complete(self, request: Request) -> Reply:
        """As `acomplete`, for code without an event loop."""
        return MODELS.run(self.acomplete(request))

    async def acomplete(self, request: Request) -> Reply:
        """Looks the reply up, or asks and waits.

        Raises:
            CacheError: the file of cached replies cannot be used.
            ModelError, AccessError, BudgetError: as the model does.
        """
        key = reply_key(self.model, request)
        while True:
            own: Future[Reply] = Future()
            promised = self.cache.promise(key, own)
            if promised is own and not own.done():
                return await self._asked(key, own, request)
            try:
                reply = await asyncio.shield(asyncio.wrap_future(promised))
            except asyncio.CancelledError:
                if not promised.cancelled():
                    raise
                continue  # the caller that was asking has no reply, so this one asks
            self.hits += 1
            return reply

    async def _asked(self, key: str, own: Future[Reply], request: Request) -> Reply:
        outcome: Reply | ModelError | None = None
        try:
            try:
                outcome = self.cache.put(key, self.model, await self.model.acomplete(request))
                self.misses += 1
            except ModelError as error:
                if not error.is_passing:
                    outcome = self.cache.put(key, self.model, error) if self.misses else error
                raise
        finally:
            self.cache.settle(key, own, outcome)
        return own.result()


def _model_text(model: Model) -> str:
    return json.dumps({"name": model.name, "settings": dict(model.settings)}, sort_keys=True)


def outcome_dict(outcome: Reply | ModelError) -> dict[str, Any]:
    """A reply or a failed call as plain JSON."""
    if isinstance(outcome, Reply):
        kept = vars(outcome) | {"usage": dict(vars(outcome.usage)), "faults": list(outcome.faults)}
        return kept | {"left_out": list(outcome.left_out)}
    usage = None if outcome.usage is None else dict(vars(outcome.usage))
    return {"failed": outcome.kind, "text": str(outcome), "faults": list(outcome.faults), "usage": usage}


def read_outcome(kept: Any) -> Reply | ModelError:
    """A reply or a failed call from its JSON: the inverse of `outcome_dict`.

    Raises:
        ValueError, KeyError, TypeError: not a reply or a failed call.
    """
    if "failed" not in kept:
        return _REPLY.validate_python(kept)
    usage = None if kept["usage"] is None else _USAGE.validate_python(kept["usage"])
    if kept["failed"] not in FAULT_KINDS or not isinstance(kept["text"], str):
        raise ValueError("not a failed call")
    return ModelError(kept["failed"], kept["text"], tuple(map(str, kept["faults"])), usage)


def _settle(future: Future[Reply], outcome: Reply | ModelError) -> None:
    if isinstance(outcome, Reply):
        future.set_result(outcome)
    else:
        future.set_exception(outcome)
