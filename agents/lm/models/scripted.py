"""Models without a network: scripted replies, and replies cached in an earlier run."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from threading import Lock

from agents.lm.errors import ConfigError, LMError, ModelError
from agents.lm.models.cache import ResponseCache, reply_key
from agents.lm.models.protocol import Model, Reply, Request

Line = str | Reply | LMError
"""A scripted reply: a text, a whole reply, or an error to raise."""


class ScriptedModel(Model):
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
        self._answer = replies if callable(replies) else _one_by_one(replies)
        self._latency = latency
        self.name = f"scripted/{name}"
        self.settings = {}
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Reply:
        """The next reply; raises LMError if the script contains it, or is at its end."""
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
        if isinstance(line, LMError):
            raise line
        return line if isinstance(line, Reply) else Reply(line, model=self.name)


class ReplayModel(Model):
    """Repeats another model's replies from an earlier run, from a cache file.

    Args:
        path: path of the file, as written by `agents.lm.models.cache.ResponseCache`.

    Raises:
        ConfigError: no such file, or not of one model.
        CacheError: the file cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not os.path.exists(path):
            raise ConfigError(f"{path}: there is no such file of cached replies")
        self._cache = ResponseCache(path)
        models = self._cache.models()
        if len(models) != 1:
            said = ", ".join(model["name"] for model in models) or "none"
            raise ConfigError(f"{path}: give a file with the replies of one model; it holds replies of: {said}")
        self.name, self.settings = models[0]["name"], models[0]["settings"]

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


def _one_by_one(replies: Iterable[Line]) -> Callable[[Request], Line]:
    lines, lock = enumerate(replies), Lock()
    used = 0

    def answer(request: Request) -> Line:
        nonlocal used
        with lock:
            used, line = next(((number + 1, line) for number, line in lines), (used, None))
        return LMError(f"the script is at its end after {used} replies") if line is None else line

    return answer
