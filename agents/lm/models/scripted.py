"""Models without a network: scripted replies, and replies cached in an earlier run."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import Lock
from typing import Any

from agents.lm.errors import ConfigError, LMError, ModelError
from agents.lm.models.cache import ResponseCache, reply_key
from agents.lm.models.protocol import Reply, Request

Line = str | Reply | LMError
"""A scripted reply: a text, a whole reply, or an error to raise."""


class ScriptedModel:
    """Gives scripted replies.

    Args:
        replies: one for each request in sequence, or a function of the request. Errors are raised.
        latency: seconds that every reply takes.
        name: after "scripted/"; give different functions different names if replies are cached.

    Attributes:
        requests: all requests so far, in sequence.
    """

    def __init__(
        self, replies: Iterable[Line] | Callable[[Request], Line], latency: float = 0.0, name: str = "script"
    ) -> None:
        self._answer = replies if callable(replies) else _one_by_one(iter(replies))
        self._latency = latency
        self.name = f"scripted/{name}"
        self.requests: list[Request] = []
        self.faults: Counter[str] = Counter()
        self._lock = Lock()

    @property
    def settings(self) -> Mapping[str, Any]:
        """No settings."""
        return {}

    def complete(self, request: Request) -> Reply:
        """The next reply.

        Raises:
            LMError: the script contains it, or is at its end.
        """
        if self._latency:
            time.sleep(self._latency)
        return self._next(request)

    async def acomplete(self, request: Request) -> Reply:
        """As `complete`, for event loops."""
        if self._latency:
            await asyncio.sleep(self._latency)
        return self._next(request)

    def _next(self, request: Request) -> Reply:
        self.requests.append(request)
        line = self._answer(request)
        if isinstance(line, ModelError):
            with self._lock:
                self.faults.update(line.faults)
        if isinstance(line, LMError):
            raise line
        return line if isinstance(line, Reply) else Reply(line, model=self.name)


class ReplayModel:
    """Repeats another model's replies from an earlier run, from a cache file.

    Args:
        path: path of the file, as written by `agents.lm.models.cache.ResponseCache`.
        name: name of the model; may be left out if the file has replies of only one.

    Raises:
        ConfigError: no such file, or the model is ambiguous.
        CacheError: the file cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        if not os.path.exists(path):
            raise ConfigError(f"{path}: there is no such file of cached replies")
        self._cache = ResponseCache(path)
        kept = [model for model in self._cache.models() if name in (None, model["name"])]
        if len(kept) != 1:
            said = ", ".join(sorted(model["name"] for model in self._cache.models())) or "none"
            raise ConfigError(f"{path}: give the name of the model whose replies to use; it holds replies of: {said}")
        self.name: str = kept[0]["name"]
        self.settings: Mapping[str, Any] = kept[0]["settings"]
        self.faults: Counter[str] = Counter()

    def complete(self, request: Request) -> Reply:
        """The reply to an equal request.

        Raises:
            ModelError: the original call failed.
            LMError: there was no equal request.
        """
        reply = self._cache.get(reply_key(self, request))
        if reply is None:
            raise LMError(f"{self._cache.path}: {self.name} was never asked this: {request.prompt[-80:]!r}")
        if isinstance(reply, ModelError):
            raise reply
        return reply

    async def acomplete(self, request: Request) -> Reply:
        """As `complete`."""
        return self.complete(request)


def _one_by_one(lines: Iterator[Line]) -> Callable[[Request], Line]:
    used, lock = 0, Lock()

    def answer(request: Request) -> Line:
        nonlocal used
        with lock:
            for line in lines:
                used += 1
                return line
        return LMError(f"the script is at its end after {used} replies")

    return answer
