"""Models without a network: their replies are scripted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from threading import Lock

from agents.lm.errors import LMError
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
        self._function = replies if callable(replies) else None
        self._replies: Iterator[Line] = iter(()) if callable(replies) else iter(replies)
        self._latency = latency
        self._lock = Lock()
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
        with self._lock:
            self.requests.append(request)
            scripted = None if self._function else next(self._replies, LMError("the script is at its end"))
        line = self._function(request) if self._function else scripted
        if isinstance(line, LMError):
            raise line
        return line if isinstance(line, Reply) else Reply(str(line), model=self.name)
