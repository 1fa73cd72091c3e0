"""Replies cached on disk, so that an interrupted run can go on without paying again.

A reply is looked up by the model, its settings and the whole request. One SQLite file, which any number of threads and
processes may write; nothing in it is unpickled. It contains no prompts and no API keys. Reads never wait; writes wait
for other processes, so they have their own thread and connection, and games go on meanwhile.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from threading import Lock, RLock
from typing import Any, TypeVar, get_args

from agents.lm.errors import FAULT_KINDS, PASSING_KINDS, AccessError, CacheError, LMError, ModelError, StoppedError
from agents.lm.models.limits import LOOP
from agents.lm.models.protocol import Finish, Model, Reply, Request, Usage
from agents.runtime.files import parse_json
from agents.runtime.storage import FileLayout

_T = TypeVar("_T")

_log = logging.getLogger(__name__)

KEY_VERSION = 1
"""Part of every key: raise it when old replies no longer fit equal requests."""

_CREATE = """
CREATE TABLE replies (
    key TEXT PRIMARY KEY,  -- of model, settings and request, see reply_key
    model TEXT NOT NULL,   -- name and settings, canonical JSON
    reply TEXT NOT NULL,   -- JSON; of a call that failed for good, how it failed
    checksum TEXT NOT NULL -- SHA-256 of key and reply
) WITHOUT ROWID
"""
_CURE = (
    "Restore the file from a copy; or delete the row with that key from its table `replies`, or the whole file: what "
    "is missing is asked again"
)

_LAYOUT = FileLayout(
    application=0x574C4D52,  # "WLMR"
    version=1,
    create=_CREATE,
    error=CacheError,
    damaged="The file is damaged or has no replies: move it away or restore it from a copy, and run this again",
    safe="the replies kept so far",
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
    begin = json.dumps([KEY_VERSION, _model_text(model), blocks, {"schema": None}]).removesuffix("null}]")
    rest = json.dumps({name: value for name, value in asked.items() if name != "schema"}).removeprefix("{")
    head = f"{begin}{request.schema_text}, {rest}]"  # the JSON of a list of all, as in files of earlier versions
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
        self._reading, self._writing = _Connection(self.path), _Connection(self.path)
        self._lock = RLock()
        self._asked: dict[str, Future[Reply]] = {}
        self._writer: ThreadPoolExecutor | None = None

    def __enter__(self) -> ResponseCache:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file. The next use opens it again."""
        with self._lock:
            writer, self._writer = self._writer, None
        if writer is not None:
            writer.shutdown()
        self._reading.close()
        self._writing.close()

    def write(self, write: Callable[..., _T], *arguments: Any) -> Future[_T]:
        """Calls a function that writes to the file, in the writing thread."""
        with self._lock:
            if self._writer is None:
                self._writer = ThreadPoolExecutor(1, "replies")
            return self._writer.submit(write, *arguments)

    def get(self, key: str) -> Reply | ModelError | None:
        """The reply for a key, or the error of a failed call, or None.

        Raises:
            CacheError: the file cannot be read, or the reply does not match its checksum.
        """
        rows = self._reading.run("SELECT reply, checksum FROM replies WHERE key = ?", key)
        return self._unpacked(key, *rows[0]) if rows else None

    def put(self, key: str, model: Model, outcome: Reply | ModelError) -> Reply | ModelError:
        """Stores a reply or a failed call, unless the key is there already. Returns the stored one.

        Raises:
            CacheError: the file cannot be written or read.
        """
        text = json.dumps(outcome_dict(outcome))
        row = (key, _model_text(model), text, _checksum(key, text))
        is_new = self._writing.run("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?) RETURNING key", *row)
        return outcome if is_new else self.get(key) or outcome

    def count(self) -> int:
        """Number of replies, including failed calls.

        Raises:
            CacheError: the file cannot be read.
        """
        return int(self._reading.run("SELECT count(*) FROM replies")[0][0])

    def models(self) -> list[dict[str, Any]]:
        """The models with replies in the file: "name" and "settings" of each.

        Raises:
            CacheError: the file cannot be read, or is damaged.
        """
        rows = self._reading.run("SELECT DISTINCT model FROM replies ORDER BY model")
        try:
            found = [parse_json(text) for (text,) in rows]
            return [{"name": _text(model["name"]), "settings": dict(model["settings"])} for model in found]
        except (ValueError, KeyError, TypeError) as error:
            raise CacheError(f"{self.path}: the name of a model cannot be read. {_LAYOUT.damaged}") from error

    def forget_passing(self) -> None:
        """Deletes transient failures (see `CachedModel`); called at the end of a run, when its games are stored.

        Raises:
            CacheError: the file cannot be written.
        """
        for kind in sorted(PASSING_KINDS):
            self._writing.run("DELETE FROM replies WHERE reply LIKE ?", f'{{"failed": "{kind}"%')

    def forget(self, *keys: str) -> None:
        """Deletes the entries of these keys, if any.

        Raises:
            CacheError: the file cannot be written.
        """
        if keys:
            self._writing.run(f"DELETE FROM replies WHERE key IN ({', '.join('?' * len(keys))})", *keys)  # noqa: S608

    def promise(self, key: str, own: Future[Reply]) -> Future[Reply]:
        """The stored reply, another caller's pending future, or `own`, pending: then the caller has to ask.

        Afterwards the caller calls `keep`, or `give_up` if anything fails, including this method.

        Raises:
            CacheError: the file cannot be read.
        """
        with self._lock:
            if key in self._asked:
                return self._asked[key]
            kept = self.get(key)
            if kept is not None:
                _settle(own, kept)
                return own
            own.set_running_or_notify_cancel()  # so that no waiter can cancel it for the others
            self._asked[key] = own
            return own

    def keep(self, key: str, own: Future[Reply], model: Model, outcome: Reply | ModelError) -> Reply:
        """Stores the outcome of a promise, and passes it to the waiters.

        Raises:
            ModelError: the call failed.
            CacheError: the file cannot be written or read.
        """
        self._end(key, own, self.put(key, model, outcome))
        return own.result()

    def give_up(self, key: str, own: Future[Reply], error: BaseException) -> None:
        """Passes an error to the waiters of a promise; does nothing if it is done, or was never made."""
        if isinstance(error, LMError) and not isinstance(error, StoppedError):
            self._end(key, own, error)
        else:  # the waiters may belong to games that go on, so they ask themselves
            self._end(key, own, _Abandoned())

    def _end(self, key: str, own: Future[Reply], outcome: Reply | Exception) -> None:
        """May be interrupted at any point and called again."""
        with self._lock:
            if self._asked.get(key) is own:
                if not own.done():
                    _settle(own, outcome)
                del self._asked[key]

    def _unpacked(self, key: str, text: Any, checksum: Any) -> Reply | ModelError:
        if not isinstance(text, str) or _checksum(key, text) != checksum:
            raise CacheError(f"{self.path}: the reply {key} does not match its checksum. {_CURE}")
        try:
            return read_outcome(parse_json(text))
        except (ValueError, KeyError, TypeError) as error:
            raise CacheError(f"{self.path}: {key} is not a reply, though its checksum is right. {_CURE}") from error


class _Connection:
    """A connection to a file, opened by the first statement; threads take turns.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._lock = Lock()

    def run(self, statement: str, *values: str) -> list[Any]:
        """The rows returned by a statement.

        Raises:
            CacheError: the file cannot be used.
        """
        with self._lock, _LAYOUT.guard(self._path):
            if self._connection is None:
                self._connection = _LAYOUT.connect(self._path, same_thread=False)
            return self._connection.execute(statement, values).fetchall()

    def close(self) -> None:
        """Closes it; the next statement opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


class _Abandoned(Exception):
    """The caller that was asking was interrupted; another one has to ask."""


class CachedModel:
    """A model with a cache: behaves like the model itself, but never asks a question twice.

    A cached reply is the same as when it was paid for, including usage, attempts and faults. If equal questions are
    asked at the same time, in one process and with one `ResponseCache`, one is sent, and the others wait for its reply.

    A call that failed for good (`ModelError`) is cached, too, so that a resumed game takes the same course. Transient
    failures (`PASSING_KINDS`) are deleted by `ResponseCache.forget_passing` at the end of evaluations; errors that end
    a run (no such server, a wrong key, an exhausted budget) are never cached. Nor are the failures of a model that was
    given up (`AccessError`) before it had answered anything.

    Args:
        model: the model to ask.
        cache: the cache, shared by all players of a process.
    """

    def __init__(self, model: Model, cache: ResponseCache) -> None:
        self.model, self.cache = model, cache
        self._count: Counter[str] = Counter()
        self._failed: list[str] = []  # keys of the calls that failed before the first answer
        self._has_answered = self._is_given_up = False
        self._lock = RLock()

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

    @property
    def hits(self) -> int:
        """Number of replies that were cached, or already asked for."""
        return self._count["hits"]

    @property
    def misses(self) -> int:
        """Number of replies that had to be asked for."""
        return self._count["misses"]

    def complete(self, request: Request) -> Reply:
        """As `acomplete`, for code without an event loop."""
        return LOOP.run(self.acomplete(request))

    async def acomplete(self, request: Request) -> Reply:
        """Looks the reply up, or asks and waits.

        Raises:
            CacheError: the file of cached replies cannot be used.
            ModelError, AccessError, BudgetError: as the model does.
        """
        key = reply_key(self.model, request)
        while True:
            own: Future[Reply] = Future()
            try:  # from here on no cancellation may leave others waiting
                promised = self.cache.promise(key, own)
                if promised.done():
                    return self._hit(promised.result())
                if promised is not own:
                    return self._hit(await asyncio.wrap_future(promised))
                try:
                    outcome: Reply | ModelError = await self.model.acomplete(request)
                except ModelError as error:
                    outcome = error
                written = self.cache.write(self._paid, key, own, outcome)
            except _Abandoned:
                continue
            except BaseException as error:
                self.cache.give_up(key, own, error)
                if isinstance(error, AccessError):
                    await self._forget_failures()
                raise
            return await asyncio.shield(asyncio.wrap_future(written))  # paid for, so it is written in any case

    def _hit(self, reply: Reply) -> Reply:
        with self._lock:
            self._count["hits"] += 1
        return reply

    def _paid(self, key: str, own: Future[Reply], outcome: Reply | ModelError) -> Reply:
        if isinstance(outcome, ModelError) and self._is_given_up:  # never stored, or others could read it meanwhile
            self.cache.give_up(key, own, outcome)
            raise outcome
        try:
            reply = self.cache.keep(key, own, self.model, outcome)
        except ModelError:
            self._note_failure(key)
            raise
        except BaseException as error:
            self.cache.give_up(key, own, error)
            raise
        with self._lock:
            self._count["misses"] += 1
            self._has_answered, self._is_given_up = True, False
            self._failed.clear()
        return reply

    def _note_failure(self, key: str) -> None:
        """Records a failure before the first answer; if the model was given up meanwhile, deletes it at once."""
        with self._lock:
            is_given_up = self._is_given_up
            if not is_given_up and not self._has_answered:
                self._failed.append(key)
        if is_given_up:
            self.cache.forget(key)

    async def _forget_failures(self) -> None:
        """After the model was given up: deletes its failures before the first answer.

        Every caller that gets the error waits for this, and for all pending writes before it.
        """
        with self._lock:
            if self._has_answered:
                return
            self._is_given_up = True
        deleted = self.cache.write(self._delete_failures)
        try:
            await asyncio.shield(asyncio.wrap_future(deleted))
        except CacheError as error:  # only a warning: the error that ended the run matters more
            _log.warning("failures of %s stay in the cache: %s", self.name, error)

    def _delete_failures(self) -> None:
        with self._lock:
            failed, self._failed = self._failed, []
        self.cache.forget(*failed)


def _model_text(model: Model) -> str:
    return json.dumps({"name": model.name, "settings": dict(model.settings)}, sort_keys=True)


def _checksum(key: str, text: str) -> str:
    """Includes the key, to detect replies stored under a wrong key."""
    return hashlib.sha256(f"{key}\n{text}".encode()).hexdigest()


def outcome_dict(outcome: Reply | ModelError) -> dict[str, Any]:
    """A reply or a failed call as plain JSON; a failure begins with its kind, for `forget_passing`."""
    if isinstance(outcome, Reply):
        return vars(outcome) | {"usage": dict(vars(outcome.usage)), "faults": list(outcome.faults)}
    usage = None if outcome.usage is None else dict(vars(outcome.usage))
    return {"failed": outcome.kind, "text": str(outcome), "faults": list(outcome.faults), "usage": usage}


def read_outcome(kept: Any) -> Reply | ModelError:
    """A reply or a failed call from its JSON: the inverse of `outcome_dict`.

    Raises:
        ValueError, KeyError, TypeError: not a reply or a failed call.
    """
    usage, faults = _usage(kept["usage"]), tuple(_text(fault) for fault in kept["faults"])
    if "failed" in kept:
        if kept["failed"] not in FAULT_KINDS:
            raise ValueError(kept["failed"])
        return ModelError(kept["failed"], _text(kept["text"]), faults, usage)
    reply = Reply(**kept | {"usage": usage, "faults": faults})
    if usage is None or reply.finish not in get_args(Finish) or type(reply.attempts) is not int:
        raise ValueError("usage, finish or attempts")
    _text(reply.text + reply.model + reply.reasoning)
    return reply


def _usage(kept: Any) -> Usage | None:
    usage = None if kept is None else Usage(**kept)
    if usage is not None:
        counts = (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens)
        if not all(type(count) is int for count in counts) or not isinstance(usage.dollars, int | float | None):
            raise TypeError("usage")
    return usage


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in place of text")
    return value


def _settle(future: Future[Reply], outcome: Reply | Exception) -> None:
    if isinstance(outcome, Reply):
        future.set_result(outcome)
    else:
        future.set_exception(outcome)
